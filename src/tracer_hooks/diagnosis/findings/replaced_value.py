"""``replaced_value``: a right value was said, and a later agent put another one in its place without ground.

Told where the expected answer is known, so that the earlier value is known to be right, also where the later step has
a tool work out another one. Silent where a result or the task has the later value: it may be of something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tracer_hooks.diagnosis._reading._answer import answer_in
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import canonical, find_value, is_number, numbers_in, sole_argument
from tracer_hooks.diagnosis._wording import one_line
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.schema import ErrorMode, Finding, FindingKind, RunOutcome

_KIND = FindingKind.REPLACED_VALUE
_LONGEST = 60
_TELLING = re.compile(r"(?<=[\w,;:] )[A-Z]\w{3,}|\d[\d.,]*\d|\d")
_AMONG_OTHERS = re.compile(r"\d[^\d.!?=:\n]{1,60}(?:,|\band|\bfor|\bof|\bor)\s+$")


def find(run: RunReading) -> Iterator[Finding]:
    """The step that replaces the expected value, which another agent had given as the answer."""
    expected = [value.strip() for value in run.known_outcome.expected if 0 < len(value.strip()) <= _LONGEST]
    if run.trajectory.outcome is not RunOutcome.FAILED or not expected:
        return
    right = expected[0]
    had = next((index for index in run.acts if _gives(run, index, right)), None)
    if had is None:
        return
    for index in run.acts:
        if index <= had or run.steps[index].agent == run.steps[had].agent:
            continue
        replaced = _replacement(run, index, right)
        if replaced is not None:
            claimed, how, quote, tool = replaced
            earlier = _first_to_say(run, had, index, claimed, right)
            if earlier is not None:
                index, how = earlier, f"says {one_line(run.steps[earlier].content)}"
                quote = run.first_words(earlier)
            first, second = run.steps[had].agent, run.steps[index].agent
            yield finding(
                run,
                _KIND,
                f"{first!r} had {right} in step {had}; {second!r} {how}",
                step=index,
                quote=quote,
                claimed=claimed,
                right=right,
                source=had,
                subject=tool,
                leads_to_answer=True,
            )
            return


def _first_to_say(run: RunReading, had: int, index: int, claimed: str, right: str) -> int | None:
    """The step before, if any, that has every name and number of the sentence in the right value's place."""
    telling = [] if is_number(claimed) else _TELLING.findall(claimed)
    telling = [each for each in telling if find_value(run.trajectory.task, each) < 0]
    for step in run.acts if telling else ():
        content = run.steps[step].content
        is_between = had < step < index and run.steps[step].agent != run.steps[had].agent
        if is_between and find_value(content, right) < 0 and all(find_value(content, each) >= 0 for each in telling):
            return step
    return None


class _Replacement(NamedTuple):
    """What a step puts in the place of the right value."""

    claimed: str
    how: str
    quote: str | None
    tool: str | None = None


def _replacement(run: RunReading, index: int, right: str) -> _Replacement | None:
    """The answer's other value, where a step says it or has a tool work it out."""
    other = _other_value(run, index, right)
    if other is None:
        return _called_instead(run, index, right)
    if find_value(run.final_text, other) < 0 or _has_ground(run, index, other):
        return None
    return _Replacement(other, f"says {other}", run.locate(index, other, "content"))


def _called_instead(run: RunReading, index: int, right: str) -> _Replacement | None:
    """A calculation that a step hands to a tool, whose result is the answer instead."""
    for call in run.steps[index].tool_calls:
        given, result = sole_argument(call.arguments), (call.result or "").strip()
        is_sum = len(given) <= _LONGEST and len(list(numbers_in(given))) > 1 and re.search(r"[-+*/]", given)
        if (
            is_sum
            and is_number(result)
            and canonical(result) != canonical(right)
            and find_value(run.final_text, result) >= 0
        ):
            how = f"has {call.name!r} work out {given!r}: {result}"
            return _Replacement(result, how, run.locate(index, given, "arguments"), call.name)
    return None


def _gives(run: RunReading, index: int, right: str) -> bool:
    """Tell whether a step gives the value as its answer, not merely among others."""
    stated = answer_in(run.steps[index].content).text
    if is_number(right):
        found = list(numbers_in(stated))
        if not found or canonical(found[-1].group()) != canonical(right):
            return False
        # "1,284 rows and 1,251 names" gives none of the two as the answer.
        return _AMONG_OTHERS.search(stated[: found[-1].start()]) is None
    return len(stated) <= 2 * _LONGEST and find_value(stated, right) >= 0


def _other_value(run: RunReading, index: int, right: str) -> str | None:
    """The value that a step gives instead; None where it has the right one too, or works with tools."""
    step = run.steps[index]
    if step.tool_calls or find_value(step.content, right) >= 0:
        return None
    stated = answer_in(step.content).text
    if is_number(right):
        numbers = [match.group() for match in numbers_in(stated)]
        return numbers[-1] if numbers else None
    return stated if 0 < len(stated) <= _LONGEST else None


def _has_ground(run: RunReading, index: int, value: str) -> bool:
    """Tell whether the task or a tool has the value: then it may be the value of something else."""
    given = find_value(run.trajectory.task, value) >= 0
    return given or any(run.locate(step, value, "result") is not None for step in range(index + 1))


KIND = KindOfFinding(
    kind=_KIND,
    definition="The expected value had been given as the answer, and a later agent put another one in its place.",
    find=find,
    mode=ErrorMode.FM_2_5,
    blame={"": 0.8},
    advice=lambda found: f"Have {found.agent!r} keep a value that it was given unless it shows what is wrong with it.",
)
