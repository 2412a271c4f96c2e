"""``constraint_lost``: a condition of the task that the answer breaks, or that is left out where the task is handed on.

Conditions are limits ("at most 600 EUR", "in at most six words"), times ("not before 11:00"), formats ("in JSON") and
exclusions ("without nuts"). Blamed is whoever broke it first, or who delegated without it to an agent that was not
shown the task, or while telling others. Silent of runs that passed, and where the answer may be read in a way that
keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tracer_hooks.diagnosis._reading._roles import fold
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis.findings._constraints import Constraint, constraints_of
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.diagnosis.findings._rows import OddRow, rows_of_others
from tracer_hooks.schema import ErrorMode, Finding, FindingKind, RunOutcome

_KIND = FindingKind.CONSTRAINT_LOST
BROKEN, DELEGATED, LEFT_OUT, OF_OTHERS = "broken", "delegated_without", "left_out", "of_others"
_READ = 4_000
_TASK_BEGINS = 60
_ADDRESSED = re.compile(r"(?:^|[.!?\n]\s*)@?([\w -]{2,40}?)[:,]\s")
_PART = re.compile(r",|;|\b(?:and|that|which|with|but)\b")
_KEPT_SHARE = 0.6


class _Delegation(NamedTuple):
    step: int
    to: str
    text: str


def find(run: RunReading) -> Iterator[Finding]:
    """Conditions that the answer breaks; else those that a delegation leaves out while it repeats the rest."""
    if run.trajectory.outcome is RunOutcome.SUCCEEDED or run.last_speaker is None or not run.trajectory.task:
        return
    constraints = constraints_of(run.trajectory.task)
    delegations = _delegations(run) if constraints or run.trajectory.outcome is RunOutcome.FAILED else []
    broken = [told for each in constraints if (told := _broken(run, each, delegations)) is not None]
    yield from broken
    if not broken:
        yield from _left_out(run, delegations)
    for asked, odd in rows_of_others(run):
        yield _taken_from_others(run, asked, odd)


def _broken(run: RunReading, constraint: Constraint, delegations: list[_Delegation]) -> Finding | None:
    text = run.answer.whole if constraint.is_of_form and not run.answer.is_marked else run.answer.text
    claimed, author = constraint.breaks(text), run.last_speaker
    has_answer = run.trajectory.final_output is not None or not constraint.is_of_form
    if claimed is None or author is None or not has_answer:
        return None
    first = author
    if not constraint.is_of_form:
        told = ((at, constraint.breaks(run.steps[at].content[:_READ]) or "") for at in run.acts)
        first = next((at for at, value in told if value.casefold() == claimed.casefold()), author)
    agent, leads = run.steps[first].agent, run.trajectory.outcome is RunOutcome.FAILED
    asked = next((each for each in reversed(delegations) if each.step < first and each.to == agent), None)
    if asked is not None and _is_kept_from(run, constraint, asked, delegations):
        lead = run.steps[asked.step].agent
        return finding(
            run,
            _KIND,
            f"{lead!r} asks {agent!r} in step {asked.step} without {constraint.words!r}; the answer has {claimed!r}",
            step=asked.step,
            detail=DELEGATED,
            quote=run.first_words(asked.step),
            claimed=claimed,
            right=constraint.words,
            leads_to_answer=leads,
        )
    return finding(
        run,
        _KIND,
        f"The task says {constraint.words!r}; {agent!r} gives {claimed!r}, and so does the answer",
        step=first,
        detail=BROKEN,
        quote=run.locate(first, claimed, "content") or run.first_words(first),
        claimed=claimed,
        right=constraint.words,
        leads_to_answer=leads,
    )


def _taken_from_others(run: RunReading, asked: str, odd: OddRow) -> Finding:
    assert odd.source is not None
    agent, other = run.steps[odd.step].agent, next(iter(odd.source.subjects))
    listed = ", ".join(f"{row.label!r} ({row.number})" for row in odd.all[:3]) + (" and more" if odd.others > 2 else "")
    whose = f"of {other!r}" if not odd.others else "of others"
    return finding(
        run,
        _KIND,
        f"The task asks for {asked!r}; {agent!r} lists rows {whose} too: {listed}"
        if odd.others
        else f"The task asks for {asked!r}; {agent!r} lists {listed} {whose} too",
        step=odd.step,
        detail=OF_OTHERS,
        quote=odd.row.line,
        claimed=odd.row.number,
        right=asked,
        source=odd.source.step,
        leads_to_answer=odd.leads_to_answer,
    )


def _is_kept_from(run: RunReading, constraint: Constraint, asked: _Delegation, delegations: list[_Delegation]) -> bool:
    """Tell whether a delegation leaves out what its agent was not shown, or what the same lead tells others."""
    if constraint.is_in(asked.text):
        return False
    lead = run.steps[asked.step].agent
    others = (each for each in delegations if run.steps[each.step].agent == lead and each.to != asked.to)
    return any(constraint.is_in(each.text) for each in others) or not _saw_task(run, asked.to)


def _delegations(run: RunReading) -> list[_Delegation]:
    """Hand-overs, calls that delegate, and messages that speak to another agent by name."""
    names = {fold(run.steps[index].agent): run.steps[index].agent for index in run.acts}
    found: list[_Delegation] = []
    for index in run.acts:
        step = run.steps[index]
        text = step.content[:_READ]
        arguments = "\n".join(passage.raw[:_READ] for passage in run.passages(index, "arguments"))
        addressed = {fold(match.group(1)) for match in _ADDRESSED.finditer(text)}
        addressed |= {fold(passage.raw) for passage in run.passages(index, "arguments") if len(passage.raw) <= 60}
        if step.recipient is not None:
            addressed.add(fold(step.recipient))
        to = [names[name] for name in names if name in addressed and names[name] != step.agent]
        if len(to) == 1 and (text.strip() or arguments):
            found.append(_Delegation(index, to[0], f"{text}\n{arguments}"))
    return found


def _saw_task(run: RunReading, agent: str) -> bool:
    """Tell whether the recorded inputs of an agent have the task."""
    begins = " ".join(run.trajectory.task.split())[:_TASK_BEGINS]
    return any(
        begins in " ".join((shown.text or "")[:_READ].split())
        for step in run.steps
        if step.agent == agent
        for shown in step.inputs
    )


def _left_out(run: RunReading, delegations: list[_Delegation]) -> Iterator[Finding]:
    """A delegation that repeats a sentence of the task but for one of its conditions, which its agent never says."""
    if run.trajectory.outcome is not RunOutcome.FAILED:
        return
    task = [
        [(part.strip(), words) for part in _PART.split(sentence) if (words := _content_words(part))]
        for sentence in re.split(r"[.!?]\s", run.trajectory.task[:_READ])
    ]
    for delegation in delegations:
        lead, handed = run.steps[delegation.step].agent, _content_words(delegation.text)
        for parts in task:
            kept = [part for part, words in parts if len(words & handed) >= _KEPT_SHARE * len(words)]
            if len(kept) < 2 or len(kept) + 1 != len(parts):
                continue
            said = " ".join(run.steps[index].content[:_READ] for index in run.acts if run.steps[index].agent == lead)
            known = _content_words(f"{said} {run.final_text}") | handed
            lost = [(part, words) for part, words in parts if not words & known]
            if len(lost) != 1 or len(lost[0][1]) < 2:
                continue
            part = lost[0][0]
            yield finding(
                run,
                _KIND,
                f"The task says {part!r}; what {lead!r} asks {delegation.to!r} in step {delegation.step} does not",
                step=delegation.step,
                detail=LEFT_OUT,
                quote=run.first_words(delegation.step),
                right=part,
            )
            return


def _content_words(text: str) -> frozenset[str]:
    """Words of four letters or more and numbers, without case and plural."""
    return frozenset(
        word.removesuffix("s") for word in re.findall(r"\w+", text.casefold()) if len(word) > 3 or word.isdecimal()
    )


def _advice(found: Finding) -> str:
    right = found.values.right if found.values is not None else None
    if found.detail == OF_OTHERS:
        return f"Have {found.agent!r} write down of whom each row is, and keep those of {right!r} alone."
    if found.detail == BROKEN:
        return f"Have an agent check the answer against {right!r} before it is given."
    return f"Have {found.agent!r} hand on the task word for word, with {right!r}."


KIND = KindOfFinding(
    kind=_KIND,
    definition="A stated limit, time, format or exclusion that the answer breaks, or that a delegation leaves out.",
    find=find,
    mode=ErrorMode.FM_1_1,
    blame={BROKEN: 0.7, DELEGATED: 0.8, OF_OTHERS: 0.8},
    advice=_advice,
)
