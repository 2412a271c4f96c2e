"""Replies that say something else than the tool result that they rest on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tracer_hooks.diagnosis._reading._errors import failure_text
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import canonical, find_value, number_set, numbers_in
from tracer_hooks.schema import StepKind

_GENERIC = frozenset(
    ("ok", "okay", "success", "succeeded", "done", "true", "false", "none", "null", "yes", "no", "sent", "saved")
)


class Contradiction(NamedTuple):
    """A reply that differs from the short result of the tool call that it rests on."""

    call_step: int
    step: int
    """The reply."""
    tool: str
    found: _Difference


def contradictions(run: RunReading) -> Iterator[Contradiction]:
    """Replies whose number or name differs from the short result of the agent's own tool call."""
    for index in run.acts:
        reply = _reply_on(run, index)
        if reply is None:
            continue
        for call in run.steps[index].tool_calls:
            if failure_text(call) is not None or not call.result or len(call.result) > 2_000:
                continue
            found = _difference(run, index, reply, call.result)
            if found is not None:
                yield Contradiction(index, reply, call.name, found)


def _reply_on(run: RunReading, index: int) -> int | None:
    """The message that follows a tool call, by the same agent or by the next one."""
    if not run.steps[index].tool_calls:
        return None
    following = run.next_act(index)
    if following is None or run.steps[following].kind is not StepKind.MESSAGE:
        return None
    return following if run.steps[following].content.strip() else None


class _Difference(NamedTuple):
    """What a reply has in the place of a result."""

    value: str
    expected: str
    """What the tool returned."""
    quote: str | None
    sure: bool
    """Whether the value stands in plainly the same place; else the result is only left out."""


def _difference(run: RunReading, call_step: int, reply: int, result: str) -> _Difference | None:
    """What the reply has in the place of the result."""
    passage = run.content(reply)
    if passage is None:
        return None
    result_numbers = number_set(result)
    if len(result_numbers) == 1 and len(result.strip()) <= 200:
        return _number_difference(run, call_step, reply, next(iter(result_numbers)))
    plain = result.strip().strip("\"'.")
    if (
        result_numbers
        or not 2 < len(plain) <= 40
        or "\n" in plain
        or plain.casefold() in _GENERIC
        or plain[:1] in "{[<"
    ):
        return None
    words = [word for word in re.findall(r"\w{4,}", plain.casefold()) if word not in _GENERIC]
    if not words or any(word in passage.raw.casefold() for word in words):
        return None
    return _Difference(plain, plain, None, sure=False)


def _number_difference(run: RunReading, call_step: int, reply: int, expected: str) -> _Difference | None:
    passage = run.content(reply)
    if passage is None or find_value(passage.raw, expected) >= 0:
        return None
    fresh = [match for match in numbers_in(passage.prose) if not _is_known(run, call_step, canonical(match.group()))]
    if len(fresh) != 1:
        return None  # none: not about the number; several: it calculates with it
    value = canonical(fresh[0].group())
    if _is_rounding(value, expected):
        return None
    quote = passage.quote_at(fresh[0].start(), fresh[0].end())
    return _Difference(fresh[0].group(), expected, quote, sure=True)


def _is_known(run: RunReading, step: int, number: str) -> bool:
    return number in run.task_numbers or run.said_by(step, number)


def _is_rounding(one: str, other: str) -> bool:
    try:
        first, second = float(one), float(other)
    except ValueError:
        return False
    return abs(first - second) <= 0.02 * max(abs(first), abs(second)) and not (
        first == int(first) and second == int(second)
    )
