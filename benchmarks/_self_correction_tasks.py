"""The tasks and the teams: checking an answer, where a run really broke, recorded runs and cheap retries."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from _real_teams import INSTRUCTIONS
from _self_correction_chains import CHAINS, REASONS, chain, is_right, wrong_steps

from tracer_hooks.answers import final_answer, number_in
from tracer_hooks.endpoint import Endpoint
from tracer_hooks.frameworks.plain import agent
from tracer_hooks.tasks import SuiteTask, load_tasks
from tracer_hooks_lab.suites import AssertOutcome, SandboxLimits, check_of, get_suite, run_python
from tracer_hooks_lab.suites._code import code_in
from tracer_hooks_lab.teams import plain
from tracer_hooks_lab.teams._architectures import Blueprint, TeamArchitecture, TeamUtterance, blueprint
from tracer_hooks_lab.teams.plain import ChatClient, Member

Ask = Callable[[list[dict[str, Any]]], Mapping[str, Any]]
"""Gives the assistant's message for a conversation, with ``usage``."""

_TIMEOUT_S: Final = 7_200.0
WORD_SUMS: Final = "word_sums"
CODE: Final = "code"
HUMAN_EVAL: Final = Path(__file__).parent / "data" / "human_eval" / "tasks.jsonl"

_CODE_ROLES: Final = {
    "solver": (
        "You are the solver. Write the Python function that the task asks for, in one block that begins with ```python "
        "and ends with ```. Write nothing else."
    ),
    "checker": (
        "You are the checker. Check the solver's function against the task, correct it where it is wrong, and give the "
        "whole function in one block that begins with ```python and ends with ```. Write nothing else."
    ),
}
_CODE_CUES: Final = {
    "solver": "Write the function.",
    "checker": "Give the whole function, corrected where it is wrong.",
}


def _after_solver(said: Sequence[TeamUtterance], rounds: int) -> str | None:
    return ("solver", "checker", None)[len(said)]


SOLVER_CHECKER: Final = TeamArchitecture(
    name="solver_checker", roles=_CODE_ROLES, cues=_CODE_CUES, tool_users=frozenset(), next_agent=_after_solver
)


@dataclass(frozen=True)
class Turn:
    """One agent's turn in a retry.

    Attributes:
        prompt: The user message that it was shown.
        tokens_in: Of the prompt; zero for a turn that was taken from the record, and ``tokens_out`` likewise.
    """

    agent: str
    text: str
    prompt: str = ""
    tokens_in: int = 0
    tokens_out: int = 0


Known = Mapping[tuple[str, str], Turn]
"""Turns by agent and prompt."""


@dataclass(frozen=True)
class Changes:
    """What a retry does otherwise than the failed run.

    Attributes:
        kept: Turns of the failed run that are not asked for again, from the first on.
        task_note: Added to the task.
        notes: Added to the user message, by agent.
    """

    kept: Sequence[TeamUtterance] = ()
    task_note: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)


def plan_for(suite: str, endpoint: Endpoint) -> Blueprint:
    """The team that works on a suite."""
    if suite == WORD_SUMS:
        name = "planner_solver_checker"
        return blueprint(name, endpoint, prompts=INSTRUCTIONS[name], rounds=0)
    if suite in CHAINS:
        return chain(suite, endpoint)
    return Blueprint(architecture=SOLVER_CHECKER, endpoint=endpoint, instructions=_CODE_ROLES)


def recorded_team(plan: Blueprint) -> Callable[[str], str]:
    """The team as a function whose agents and models tracer_hooks sees."""
    members = {name: Member(plan, name) for name in plan.instructions}

    def team(task: str) -> str:
        said: list[TeamUtterance] = []
        while (name := plan.next_agent(said)) is not None:
            turn = agent(name=name, instructions=members[name].told)(members[name].answer)
            said.append(TeamUtterance(name, turn(plan.prompt(name, task, said))))
        return said[-1].text

    return team


def asker(endpoint: Endpoint) -> Ask:
    """Asks the endpoint, which may serve so many runs at once that one reply takes long."""
    plain._TIMEOUT_S = _TIMEOUT_S
    return ChatClient(endpoint).complete


def play(plan: Blueprint, ask: Ask, task: str, changes: Changes, known: Known | None = None) -> list[Turn]:
    """Run the team once; only the turns after ``changes.kept`` ask the model, and not for what is ``known``.

    The requests are word for word those of :func:`recorded_team`, but for the changes.
    """
    shown = f"{task}\n\n{changes.task_note}" if changes.task_note else task
    said = list(changes.kept)
    turns = [Turn(one.agent, one.text) for one in said]
    while (name := plan.next_agent(said)) is not None:
        prompt = plan.prompt(name, shown, said)
        if changes.notes.get(name):
            prompt = f"{prompt}\n\n{changes.notes[name]}"
        turn = (known or {}).get((name, prompt)) or _asked(plan, ask, name, prompt)
        turns.append(turn)
        said.append(TeamUtterance(name, turn.text))
    return turns


def _asked(plan: Blueprint, ask: Ask, name: str, prompt: str) -> Turn:
    reply = ask([{"role": "system", "content": plan.instructions[name]}, {"role": "user", "content": prompt}])
    usage = reply.get("usage") or {}
    return Turn(name, str(reply["content"]), prompt, usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0))


LIMITS: Final = SandboxLimits(wall_s=20.0, cpu_s=3.0)
_DIFFICULTIES: Final = ("easy",)
_SIZES: Final = {"easy": 14, "medium": 12, "hard": 10}
_SHOWN: Final = 200
HIDDEN: Final = "[hidden]"


@dataclass(frozen=True)
class Judgement:
    """What the check says of one answer.

    Attributes:
        reason: What the suite's own check says.
        feedback: What the team may be told: what it did wrong, never what is right.
    """

    passed: bool
    score: float
    reason: str | None = None
    feedback: str = ""


def word_sums(count: int, seed: int, difficulties: Sequence[str] = _DIFFICULTIES) -> list[SuiteTask]:
    """Word sums in turns of each difficulty, without the line on the answer's form, which small models misread."""
    suite = get_suite(WORD_SUMS)
    each = -(-count // len(difficulties))
    drawn = [suite.tasks(each, seed=seed, difficulty=one) for one in difficulties]  # type: ignore[arg-type]
    mixed = [task for group in zip(*drawn, strict=True) for task in group]
    return [SuiteTask(id=one.id, text=one.text.partition("\n")[0], reference=one.reference) for one in mixed[:count]]


def human_eval_tasks() -> tuple[SuiteTask, ...]:
    """The tasks of HumanEval that are kept beside the benchmarks."""
    return load_tasks(HUMAN_EVAL)


def code_tasks() -> list[SuiteTask]:
    """The suite's own exercises and HumanEval's."""
    suite = get_suite(CODE)
    own = [task for level, count in _SIZES.items() for task in suite.tasks(count, difficulty=level)]  # type: ignore[arg-type]
    return [*own, *human_eval_tasks()]


def judge(suite: str, task: SuiteTask, answer: str) -> Judgement:
    """Check an answer as the suite does."""
    if suite in CHAINS:
        passed = is_right(suite, task, answer)
        return Judgement(passed, float(passed), None if passed else REASONS[suite][0], REASONS[suite][0])
    return _judge_sum(task, answer) if suite == WORD_SUMS else _judge_code(task, answer)


def _judge_sum(task: SuiteTask, text: str) -> Judgement:
    verdict = check_of(task)(_Result(text), text)  # type: ignore[arg-type]
    if verdict.passed:
        return Judgement(True, 1.0)
    shown = re.sub(rf"(?<![\d.]){re.escape(task.reference or '')}(?![\d.])", HIDDEN, final_answer(text)[:80])
    told = f"An earlier attempt gave the answer {shown!r}, which is not right."
    return Judgement(False, 0.0, verdict.reason, told)


@dataclass(frozen=True)
class _Result:
    text: str


def _judge_code(task: SuiteTask, text: str) -> Judgement:
    tests = [str(test) for test in task.data["tests"]]  # type: ignore[union-attr]
    code = code_in(text, str(task.data["function"]))
    if not code.strip():
        return Judgement(False, 0.0, "there is no code in the answer", "An earlier attempt gave no code.")
    run = run_python(code, tests=tests, limits=LIMITS)
    passed = sum(one.passed for one in run.outcomes)
    if run.passed:
        return Judgement(True, 1.0)
    first = next(one for one in run.outcomes if not one.passed)
    reason = f"{passed} of {len(tests)} tests pass; the first that fails: {first.error}"
    return Judgement(False, passed / len(tests), reason, _told(first))


def _told(outcome: AssertOutcome) -> str:
    """The failing test with the expected literal hidden, and what came out."""
    test = ast.parse(outcome.test).body[0].test  # type: ignore[attr-defined]
    asked = f"An earlier attempt failed this test: assert {ast.unparse(test.left)} == {HIDDEN}."
    if outcome.value is not None:
        return f"{asked} It gave {outcome.value[:_SHOWN]}, which is not right."
    return f"{asked} It ended with: {str(outcome.error)[:_SHOWN]}"


# --- where a run really broke -----------------------------------------------------------------------------------------
def decisive_step(suite: str, task: SuiteTask, turns: Sequence[Turn]) -> int:
    """The first step that is wrong and was not put right by the next, by arithmetic or by the tests.

    Where the plan is in words, the solver's line says whether it could be worked out: then the solver is to blame.
    """
    if suite in CHAINS:
        return wrong_steps(suite, task, [turn.text for turn in turns])[0]
    if suite == CODE:
        return 1 if _judge_code(task, turns[0].text).passed else 0
    expected = number_in(task.reference or "")
    plan, work = turns[0].text, turns[1].text
    if number_in(work.strip()) == expected:
        return 2
    planned = value_of(plan)
    return 1 if (value_of(work) if planned is None else planned) == expected else 0


_OPERATIONS: Final = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
_SIGNS: Final = str.maketrans({"\u00d7": "*", "\u00f7": "/", "\u2212": "-", "\u2013": "-", "[": "(", "]": ")"})
_UNITS: Final = re.compile(r"\([A-Za-z€$/. ]+\)|/?[A-Za-z€$]+(?:/[A-Za-z€$]+)*")
_PERCENT: Final = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_TIMES: Final = re.compile(r"(?<=[\d)])\s*[xX]\s*(?=[\d(])|(?<=[a-z])\s+x\s+(?=\d)")


def value_of(line: str) -> Fraction | None:
    """What one line of arithmetic comes to; None for words, several lines or a bare number.

    Of ``3 * 5 = 15, 15 + 2 = 17`` the last sum counts, and of a sum its first side that can be read.
    """
    lines = [one for one in line.strip().strip("`").splitlines() if one.strip()]
    if len(lines) != 1:
        return None
    text = _TIMES.sub("*", _PERCENT.sub(r"(\1/100)", lines[0].partition(":")[2] or lines[0]))
    spelled = _UNITS.sub(" ", text.translate(_SIGNS)).replace("?", " ")
    for part in reversed(spelled.split(",")):
        for side in part.split("="):
            try:
                node = ast.parse(side.strip(), mode="eval").body
                if isinstance(node, ast.BinOp):
                    return _value(node)
            except (SyntaxError, ValueError, ZeroDivisionError):
                continue
    return None


def _value(node: ast.expr) -> Fraction:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return Fraction(str(node.value))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return Fraction(_OPERATIONS[type(node.op)](_value(node.left), _value(node.right)))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    raise ValueError(ast.unparse(node))
