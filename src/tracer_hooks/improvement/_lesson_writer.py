"""A lesson from failures of one kind: which failures belong together, and what a language model makes of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tracer_hooks.improvement._edits import says_the_same
from tracer_hooks.improvement._judged_run import JudgedRun
from tracer_hooks.improvement._rewrite_request import shown_failure
from tracer_hooks.improvement._rewriter import DECLINED, quotes
from tracer_hooks.improvement._sentences import sentences_of
from tracer_hooks.improvement._task_kind import NEAR, TaskKind, kind_of, nearness
from tracer_hooks.improvement._task_values import is_about_a_task
from tracer_hooks.repairs import Chat, Repair, RepairTarget, ask, for_prompt, leaks, shortened
from tracer_hooks.schema import Usage

FEWEST_FAILURES = 3
_SHOWN = 5
_ANSWERS = 2
"""How often the model is asked: a second time where its first answer cannot be used."""
_MOST_SENTENCES = 2
_LONGEST = 300
_LABEL = re.compile(r"^\W*(?:lesson|advice|note)\s*\d*\s*[:.)-]+\s*", re.IGNORECASE)
_ROLE = (
    "You give short advice to one member of a team of assistants, for tasks of a kind at which it has failed. You do "
    "not know which task comes next."
)


@dataclass(frozen=True)
class FailureGroup:
    """Failures that one agent is blamed for, on tasks of one kind."""

    agent: str
    runs: tuple[JudgedRun, ...]
    kind: TaskKind


class WrittenLesson(NamedTuple):
    """What came of asking for a lesson."""

    text: str = ""
    usage: Usage = Usage()
    rejected: str = ""
    """Why there is none."""


def failure_groups(runs: Sequence[JudgedRun]) -> list[FailureGroup]:
    """Failures by blamed agent and kind of task, the largest group first; those that nobody is blamed for are left out.

    Each failure joins the nearest group of its agent that is of its kind, else it begins one.
    """
    groups: list[FailureGroup] = []
    for run in runs:
        agent, kind = run.blamed, kind_of([run.trajectory.task])
        if agent is None or not kind:
            continue
        near = [(nearness(kind, group.kind), at) for at, group in enumerate(groups) if group.agent == agent]
        best, at = max(near, default=(0.0, -1))
        if best >= NEAR:
            joined = (*groups[at].runs, run)
            groups[at] = FailureGroup(agent, joined, kind_of(one.trajectory.task for one in joined))
        else:
            groups.append(FailureGroup(agent, (run,), kind))
    return sorted(groups, key=lambda group: -len(group.runs))


def write_lesson(chat: Chat, group: FailureGroup, known: Sequence[str] = ()) -> WrittenLesson:
    """Have a language model write one lesson, and hold it to rules.

    It may not tell an expected answer of these runs, hold values of a single task of them, or say what the agent is
    told already. The model is asked once more where its first answer cannot be used. An exception of it is the
    caller's.

    Args:
        chat: Asks the model.
        group: The failures.
        known: Lessons that the agent has, or had and that did not help.
    """
    used, complaint = Usage(), ""
    for _ in range(_ANSWERS):
        said = ask(chat, _request(group, known, complaint))
        used += said.usage
        text = _lesson_in(said.text)
        complaint = "the model declined" if DECLINED.match(said.text) else _fault(text, group, known)
        if not complaint:
            return WrittenLesson(text=text, usage=used)
    return WrittenLesson(usage=used, rejected=complaint)


def _request(group: FailureGroup, known: Sequence[str], complaint: str) -> list[dict[str, str]]:
    agent, instructions = group.agent, _instructions(group)
    shown = sorted(group.runs, key=lambda run: not quotes(run))[:_SHOWN]
    parts = [f"Instructions of {agent}:\n{shortened(instructions, 2_000)}"] if instructions else []
    parts.append(f"{len(group.runs)} runs of the team failed because of {agent}, on tasks of one kind.")
    parts += [shown_failure(number, run, agent) for number, run in enumerate(shown, start=1)]
    if known:
        parts.append("It has been told before, so say something else:\n" + "\n".join(f"- {one}" for one in known))
    parts.append(
        f"What do these failures have in common, and what should {agent} do in another way at such tasks? "
        f"Write one or two short sentences to {agent}, without the numbers, names and things of these runs. They must "
        "not change the form of its reply. Write nothing but these sentences."
    )
    if complaint:
        parts.append(f"Your last answer could not be used: {complaint}. Write another one.")
    return [{"role": "system", "content": _ROLE}, {"role": "user", "content": "\n\n".join(parts)}]


def _lesson_in(answer: str) -> str:
    """The first two sentences of an answer, on one line, without a label, a fence or quotation marks."""
    lines = [line for line in answer.splitlines() if not line.lstrip().startswith("```")]
    plain = _LABEL.sub("", " ".join(" ".join(lines).split())).strip("\"'\u201c\u201d*`- ")
    kept = " ".join(sentence.text for sentence in sentences_of(plain)[:_MOST_SENTENCES])
    return for_prompt(f"{kept}." if kept and kept[-1].isalnum() else kept)


def _fault(text: str, group: FailureGroup, known: Sequence[str]) -> str:
    """Why the text cannot be used; empty if it can."""
    if sum(sign.isalpha() for sign in text) < 12:
        return "it holds no sentence"
    if len(text) > _LONGEST:
        return f"it has {len(text)} characters, and {_LONGEST} are the most"
    repair = Repair(strategy="lesson", target=RepairTarget.MESSAGE, agent=group.agent, text=text)
    if any(leaks(repair, run.secrets) for run in group.runs):
        return "it tells an expected answer"
    runs, instructions = [run.trajectory for run in group.runs], _instructions(group)
    said = ["\n".join(step.content for step in run.steps) for run in runs]
    if is_about_a_task(text, instructions, [run.task for run in runs], said):
        return "it speaks of a single task"
    told = [*known, *(sentence.text for sentence in sentences_of(instructions))]
    if any(says_the_same(text, one) for one in told):
        return "it says what the agent has been told already"
    return ""


def _instructions(group: FailureGroup) -> str:
    """What the agent is told; empty where that is not known."""
    told = (run.trajectory.instructions_of(group.agent) for run in group.runs)
    return next((text for text in told if text), "")
