"""One run in the terminal, and the three questions that label it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum

from rich.prompt import Prompt
from rich.text import Text

from tracer_hooks.cli._console import err
from tracer_hooks.cli._label_table import mode_named
from tracer_hooks.schema import Candidate, ErrorMode, Step, Trajectory

_FOLDED = 400
"""Characters of a step that are shown; the rest at ``v STEP``."""


class Move(Enum):
    """What a person may answer instead of a label."""

    SKIP = "s"
    BACK = "b"
    QUIT = "q"


Label = tuple[str, int, ErrorMode | None]
_HELP = "s skip, b back, q quit"


def show_run(source: str, trajectory: Trajectory, candidates: Sequence[Candidate], *, number: int, of: int) -> None:
    """Task, expected answer, reason, steps and candidates."""
    err().rule(f"{number} of {of}: {source}", align="left", style="dim")
    for title, text in (
        ("task", trajectory.task),
        ("expected", trajectory.reference),
        ("reason", trajectory.outcome_reason),
        ("answer", trajectory.final_output),
    ):
        if text:
            err().print(Text.assemble((f"{title}: ", "bold"), _folded(text)))
    for step in trajectory.steps:
        err().print(_step_text(step, folded=True))
    if candidates:
        err().print(Text("candidates of the diagnosis:", style="bold"))
    for each in candidates:
        err().print(Text(f"  step {each.step} {each.agent}, {each.score:.0%}"))


def ask(trajectory: Trajectory, candidates: Sequence[Candidate]) -> Label | Move:
    """Agent, step and error mode; back from a later question asks the one before it again."""
    names = dict.fromkeys([*(one.agent for one in candidates), *(step.agent for step in trajectory.steps)])
    while True:
        agent = _agent(list(names), trajectory)
        if isinstance(agent, Move):
            return agent
        while True:
            step = _step(agent, trajectory, candidates)
            if step is Move.BACK:
                break
            if isinstance(step, Move):
                return step
            mode = _mode()
            if mode is Move.BACK:
                continue
            return mode if isinstance(mode, Move) else (agent, step, mode)


def _agent(names: Sequence[str], trajectory: Trajectory) -> str | Move:
    listed = ", ".join(f"{number} {name}" for number, name in enumerate(names, start=1))
    while True:
        answer = _answer(f"which agent? {listed}; v STEP shows a step whole; {_HELP}", "1")
        if isinstance(answer, Move):
            return answer
        if answer.isdecimal() and 1 <= int(answer) <= len(names):
            return names[int(answer) - 1]
        if answer in names:
            return answer
        if shown := re.fullmatch(r"v\s*(\d{1,9})", answer):
            _show_whole(int(shown.group(1)), trajectory)
        else:
            _again(f"{answer!r} is no agent of the run, expected its number or name")


def _step(agent: str, trajectory: Trajectory, candidates: Sequence[Candidate]) -> int | Move:
    likely = [one.step for one in candidates if one.agent == agent]
    own = list(dict.fromkeys([*likely, *(step.index for step in trajectory.steps if step.agent == agent)]))
    listed = ", ".join(map(str, own))
    while True:
        answer = _answer(f"which step of {agent}? {listed}; {_HELP}", str(own[0]))
        if isinstance(answer, Move):
            return answer
        if answer.isascii() and answer.isdecimal() and int(answer) in own:
            return int(answer)
        _again(f"{answer!r} is no step of {agent!r}, expected one of {listed}")


def _mode() -> ErrorMode | Move | None:
    while True:
        answer = _answer(f"which error mode? a code such as FM-2.6, ? lists them, - for none; {_HELP}", "-")
        if isinstance(answer, Move):
            return answer
        if answer == "-":
            return None
        if answer == "?":
            for mode in ErrorMode:
                err().print(Text(f"  {mode.value} {mode.title}: {mode.definition}"))
            continue
        if (found := mode_named(answer)) is not None:
            return found
        _again(f"{answer!r} is no error mode, expected a code such as FM-2.6, or -")


def _answer(question: str, default: str) -> str | Move:
    try:
        given = Prompt.ask(Text(question), console=err(), default=default).strip()
    except EOFError:  # nobody is there to answer
        return Move.QUIT
    return next((move for move in Move if move.value == given), given)


def _again(why: str) -> None:
    err().print(Text(why, style="yellow"), soft_wrap=True)


def _show_whole(index: int, trajectory: Trajectory) -> None:
    if index < len(trajectory.steps):
        err().print(_step_text(trajectory.steps[index], folded=False))
    else:
        _again(f"there is no step {index}, expected one from 0 to {len(trajectory.steps) - 1}")


def _step_text(step: Step, *, folded: bool) -> Text:
    parts = [step.content, f"error: {step.error}" if step.error else ""]
    for call in step.tool_calls:
        came = f"failed: {call.error}" if call.error is not None else call.result or "(no result recorded)"
        parts.append(f"{call.name}({call.arguments}) -> {came}")
    text = "\n".join(part for part in parts if part) or "(no text)"
    head = (f"{step.index:>3} {step.agent}: ", "cyan")
    return Text.assemble(head, _folded(text) if folded else text)


def _folded(text: str) -> str:
    if len(text) <= _FOLDED:
        return text
    return f"{text[:_FOLDED].rstrip()} … ({len(text) - _FOLDED} characters more)"
