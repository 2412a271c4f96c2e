"""``tracer-hooks label``: runs in the terminal, the questions that label them, and labels from a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tracer_hooks.cli._options import (
    Expected,
    Failed,
    FileFormat,
    Format,
    Json,
    Outcome,
    Reason,
    Store,
    Targets,
    records_of,
    stated_by,
)
from tracer_hooks.cli.console import FAILED, err, print_json
from tracer_hooks.cli.console import out as out_console
from tracer_hooks.errors import TracerHooksError

if TYPE_CHECKING:  # at run time with the work: help and usage errors need no records
    from tracer_hooks.datasets import LoadedRecord, OutcomeOverride
    from tracer_hooks.datasets._label_file import LabelFile
    from tracer_hooks.diagnosis import Attributor
    from tracer_hooks.schema import Candidate, ErrorMode, Step, Trajectory

_MOST_CANDIDATES = 3
_FOLDED = 400
"""Characters of a step that are shown; the rest at ``v STEP``."""
_HELP = "s skip, b back, q quit"


@dataclass(frozen=True)
class _Item:
    """One run to label."""

    source: str
    place: str
    """As ``file#record``, counted from 0."""
    trajectory: Trajectory
    question_id: str | None


@dataclass
class _Counts:
    """Counts of what became of the runs."""

    labelled: int = 0
    skipped: int = 0
    there: int = 0
    bad: list[str] = field(default_factory=list)


class _Move(Enum):
    """Answers of a person that are no label."""

    SKIP = "s"
    BACK = "b"
    QUIT = "q"


_Label = tuple[str, int, "ErrorMode | None"]
_Candidates = Callable[["Trajectory"], "Sequence[Candidate]"]


def label_command(
    targets: Targets,
    out: Annotated[Path, typer.Option("--out", "-o", help="The labelled file, JSON lines; it is added to.")],
    from_csv: Annotated[
        Path | None,
        typer.Option("--from-csv", help="Take labels from a table: run, agent, step, mode.", metavar="FILE"),
    ] = None,
    failed: Failed = False,
    outcome: Outcome = None,
    reason: Reason = None,
    expected: Expected = None,
    attributor: Annotated[str, typer.Option(help="Whose candidates are shown.")] = "auto",
    file_format: FileFormat = Format.AUTO,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Say which agent, at which step, made runs fail, for tracer-hooks fit and eval to read.

    Shows each run with the first candidates of the diagnosis and asks. Runs that are in the labelled file are not
    asked again, so that the same command goes on where it stopped.
    """
    from tracer_hooks.datasets._label_file import LabelFile
    from tracer_hooks.diagnosis import get_attributor

    stated = stated_by(failed=failed, outcome=outcome, reason=reason, expected=expected)
    counts = _Counts()
    chosen = get_attributor(attributor)  # a wrong name ends the call before any work
    file = LabelFile(out)
    items: list[_Item] = []
    for target in targets:
        for number, record in enumerate(records_of(target, file_format=file_format, store=store)):
            item = _item(record, f"{target}#{number}", stated, counts)
            items += [] if item is None else [item]
    if from_csv is not None:
        _label_from_table(from_csv, items, file, counts)
    else:
        _label_by_asking(items, file, counts, lambda run: _candidates(chosen, run, stated.expected))
    _show_counts(counts, out, len(file.labels), as_json=as_json)
    if counts.bad:
        raise typer.Exit(FAILED)


def _item(record: LoadedRecord, place: str, stated: OutcomeOverride, counts: _Counts) -> _Item | None:
    from tracer_hooks.schema import RunOutcome

    trajectory = None if record.trajectory is None else stated.of(record.trajectory).trajectory
    if record.error is not None or trajectory is None:
        why = str(record.error)
    elif not trajectory.steps:
        why = f"{record.source!r} has no step that could be labelled"
    elif trajectory.outcome is RunOutcome.SUCCEEDED:
        why = f"{record.source!r} succeeded, so that no step made it fail. Else: --failed"
    else:
        failed = trajectory.model_copy(update={"outcome": RunOutcome.FAILED})  # which is what a label says
        return _Item(record.source, place, failed, record.question_id)
    counts.bad.append(f"left out: {why}")
    return None


def _label_from_table(path: Path, items: Sequence[_Item], file: LabelFile, counts: _Counts) -> None:
    from tracer_hooks.datasets._label_file import read_table

    by_name: dict[str, list[Trajectory]] = {}
    item_of = {id(item.trajectory): item for item in items}
    for item in items:
        for name in {item.trajectory.run_id, item.source, item.place}:
            by_name.setdefault(name, []).append(item.trajectory)
    rows, problems = read_table(path, by_name)
    counts.bad += problems
    for row in rows:
        item, label = item_of[id(row.trajectory)], (row.agent, row.step, row.mode)
        counts.labelled += _is_added(file, item, label, counts, place=f"line {row.line}")


def _label_by_asking(items: Sequence[_Item], file: LabelFile, counts: _Counts, candidates: _Candidates) -> None:
    from tracer_hooks.datasets._label_file import key_of

    open_items = [item for item in items if key_of(item.trajectory) not in file.labels]
    counts.there = len(items) - len(open_items)
    position = 0
    skipped: set[int] = set()
    given: dict[int, str] = {}
    while position < len(open_items):
        item = open_items[position]
        file.look()
        if key_of(item.trajectory) in file.labels:  # another session was here
            counts.there += 1
            open_items.pop(position)
            continue
        named = candidates(item.trajectory)
        _show_run(item.source, item.trajectory, named, number=position + 1, of=len(open_items))
        answer = _ask_label(item.trajectory, named)
        if answer is _Move.QUIT:
            break
        if answer is _Move.BACK:
            position = max(0, position - 1)
            skipped.discard(position)
            if position in given:
                file.remove(given.pop(position))
            continue
        if isinstance(answer, _Move):
            skipped.add(position)
        elif not _is_added(file, item, answer, counts, place=item.place):
            open_items.pop(position)
            continue
        else:
            given[position] = key_of(item.trajectory)
        position += 1
    counts.labelled, counts.skipped = len(given), len(skipped)


def _is_added(file: LabelFile, item: _Item, answer: _Label, counts: _Counts, *, place: str) -> bool:
    """Tell whether the answer is in the file now, and not one that stood there or that another session has given."""
    from tracer_hooks.datasets._label_file import key_of, labelled, labelled_place

    new = labelled(item.trajectory, *answer, question_id=item.question_id)
    standing = file.labels.get(key_of(item.trajectory)) or file.add(new)
    if standing is None:
        return True
    if labelled_place(standing) == labelled_place(new):
        counts.there += 1
    else:
        agent, step = labelled_place(standing) or ("nobody", 0)
        counts.bad.append(f"{place}: the run is labelled otherwise already, {agent!r} at step {step}; left as it is")
    return False


def _show_counts(counts: _Counts, path: Path, total: int, *, as_json: bool) -> None:
    for line in counts.bad:
        err().print(line, style="yellow", soft_wrap=True)
    if as_json:
        document = {"out": str(path), "labelled": counts.labelled, "already_there": counts.there}
        print_json({**document, "skipped": counts.skipped, "left_out": counts.bad, "labels": total})
        return
    numbers = f"{counts.labelled} labelled, {counts.there} already there, {counts.skipped} skipped"
    out_console().print(f"{numbers}, {len(counts.bad)} left out; {total} in {path}", soft_wrap=True)
    if total:
        out_console().print(f"use them: tracer-hooks fit --labels {path} --out FOLDER", soft_wrap=True)


def _candidates(attributor: Attributor, trajectory: Trajectory, expected: str | None) -> Sequence[Candidate]:
    try:
        return attributor.attribute(trajectory, reference=expected).candidates[:_MOST_CANDIDATES]
    except TracerHooksError as error:  # a label can be given without them
        err().print(f"no candidates: {error}", style="yellow", soft_wrap=True)
        return ()


def _show_run(source: str, trajectory: Trajectory, candidates: Sequence[Candidate], *, number: int, of: int) -> None:
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


def _ask_label(trajectory: Trajectory, candidates: Sequence[Candidate]) -> _Label | _Move:
    """Agent, step and error mode; back from a later question asks the one before it again."""
    names = dict.fromkeys([*(candidate.agent for candidate in candidates), *(step.agent for step in trajectory.steps)])
    while True:
        agent = _agent(list(names), trajectory)
        if isinstance(agent, _Move):
            return agent
        while True:
            step = _step(agent, trajectory, candidates)
            if step is _Move.BACK:
                break
            if isinstance(step, _Move):
                return step
            mode = _mode()
            if mode is _Move.BACK:
                continue
            return mode if isinstance(mode, _Move) else (agent, step, mode)


def _agent(names: Sequence[str], trajectory: Trajectory) -> str | _Move:
    listed = ", ".join(f"{number} {name}" for number, name in enumerate(names, start=1))
    while True:
        answer = _answer(f"which agent? {listed}; v STEP shows a step whole; {_HELP}", "1")
        if isinstance(answer, _Move):
            return answer
        if answer.isdecimal() and 1 <= int(answer) <= len(names):
            return names[int(answer) - 1]
        if answer in names:
            return answer
        if shown := re.fullmatch(r"v\s*(\d{1,9})", answer):
            _show_whole(int(shown.group(1)), trajectory)
        else:
            _print_again(f"{answer!r} is no agent of the run, expected its number or name")


def _step(agent: str, trajectory: Trajectory, candidates: Sequence[Candidate]) -> int | _Move:
    likely = [candidate.step for candidate in candidates if candidate.agent == agent]
    indices = list(dict.fromkeys([*likely, *(step.index for step in trajectory.steps if step.agent == agent)]))
    listed = ", ".join(map(str, indices))
    while True:
        answer = _answer(f"which step of {agent}? {listed}; {_HELP}", str(indices[0]))
        if isinstance(answer, _Move):
            return answer
        if answer.isascii() and answer.isdecimal() and int(answer) in indices:
            return int(answer)
        _print_again(f"{answer!r} is no step of {agent!r}, expected one of {listed}")


def _mode() -> ErrorMode | _Move | None:
    from tracer_hooks.datasets._label_file import mode_named
    from tracer_hooks.schema import ErrorMode

    while True:
        answer = _answer(f"which error mode? a code such as FM-2.6, ? lists them, - for none; {_HELP}", "-")
        if isinstance(answer, _Move):
            return answer
        if answer == "-":
            return None
        if answer == "?":
            for mode in ErrorMode:
                err().print(Text(f"  {mode.value} {mode.title}: {mode.definition}"))
            continue
        if (found := mode_named(answer)) is not None:
            return found
        _print_again(f"{answer!r} is no error mode, expected a code such as FM-2.6, or -")


def _answer(question: str, default: str) -> str | _Move:
    from rich.prompt import Prompt

    try:
        given = Prompt.ask(Text(question), console=err(), default=default).strip()
    except EOFError:  # nobody is there to answer
        return _Move.QUIT
    return next((move for move in _Move if move.value == given), given)


def _print_again(why: str) -> None:
    err().print(Text(why, style="yellow"), soft_wrap=True)


def _show_whole(index: int, trajectory: Trajectory) -> None:
    if index < len(trajectory.steps):
        err().print(_step_text(trajectory.steps[index], folded=False))
    else:
        _print_again(f"there is no step {index}, expected one from 0 to {len(trajectory.steps) - 1}")


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
