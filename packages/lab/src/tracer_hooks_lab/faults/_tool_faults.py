"""Tool calls that go wrong: what the agent gets in place of the result."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from tracer_hooks.frameworks import ToolReply
from tracer_hooks_lab.faults._entities import names_in, swap_names
from tracer_hooks_lab.faults._numbers import near, numbers_in, replace_value, values_in
from tracer_hooks_lab.faults._opposites import turn_direction, turn_verdict
from tracer_hooks_lab.faults._spec import ToolFault

_TIME_OUTS = (
    "Request timed out after {seconds} seconds.",
    "TimeoutError: no response from {tool} within {seconds} s",
    "The call to {tool} timed out ({seconds} s).",
    "Read timed out. (read timeout={seconds})",
)
_ERRORS = (
    "HTTP 503: Service Unavailable",
    "ConnectionError: {tool} could not be reached",
    "HTTP 500: Internal Server Error",
    "{tool}: the service is temporarily unavailable, please try again later",
    "RuntimeError: {tool} returned an unexpected response",
)
_DATE = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")


def faulty_tool_reply(
    kind: ToolFault, tool: str, reply: ToolReply, *, earlier: Sequence[str], known: Sequence[str], rng: Random
) -> ToolReply | None:
    """What the agent gets from a tool call with a fault of this kind; None when the result cannot be changed so.

    The tool itself has run, or its recorded result was supplied: only what comes back is changed. A *time-out* and an
    *error* lose the result, and the agent gets the error's text. A *wrong result* has a number, a name or a verdict
    changed. A *stale result* is the latest different result of the same tool; where there is none, dates go back a
    year or, without dates, every number is a near one. *Truncated* cuts the result off in the second quarter or third;
    *empty* is a result without any text.

    Args:
        kind: What goes wrong.
        tool: The tool's name.
        reply: What it gave.
        earlier: Results of the same tool so far in the run, oldest first.
        known: Texts of the run, for names that may stand in for others.
        rng: Source of all choices.
    """
    if kind in (ToolFault.TIME_OUT, ToolFault.ERROR):
        texts = _TIME_OUTS if kind is ToolFault.TIME_OUT else _ERRORS
        text = rng.choice(texts).format(tool=tool, seconds=rng.choice((10, 15, 20, 30, 60)))
        return ToolReply(content=text, is_error=True)
    if reply.is_error:
        return None
    if kind is ToolFault.EMPTY:
        changed: str | None = ""
    elif kind is ToolFault.TRUNCATED:
        changed = cut_off(reply.content, rng)
    elif kind is ToolFault.STALE_RESULT:
        changed = _stale(reply.content, earlier, rng)
    else:
        changed = _wrong(reply.content, known, rng)
    return None if changed is None or changed == reply.content else ToolReply(content=changed)


def cut_off(text: str, rng: Random) -> str | None:
    """``text`` cut somewhere between 30 and 60 %; None when it is shorter than 16 characters."""
    if len(text.strip()) < 16:
        return None
    return text[: int(len(text) * rng.uniform(0.3, 0.6))].rstrip()


def _wrong(text: str, known: Sequence[str], rng: Random) -> str | None:
    numbers = numbers_in(text)
    if numbers:
        number = rng.choice(numbers)
        return replace_value(text, number.value, near(number.text, rng, avoid=values_in([text])))
    if names_in(f"x {text}"):
        swapped = swap_names(f"x {text}", known, rng)
        if swapped is not None:
            return swapped.removeprefix("x ")
    return turn_verdict(text) or turn_direction(text, rng)


def _stale(text: str, earlier: Sequence[str], rng: Random) -> str | None:
    old = [result for result in earlier if result.strip() and result != text]
    if old:
        return old[-1]
    if _DATE.search(text):
        return _DATE.sub(
            lambda m: f"{int(m.group(1)) - 1:04d}-{m.group(2)}-{'28' if m.group(3) == '29' else m.group(3)}", text
        )
    changed = text
    for value in sorted(values_in([text]), reverse=True):
        written = next(n.text for n in numbers_in(text) if n.value == value)
        changed = replace_value(changed, value, near(written, rng, avoid=values_in([text, changed])))
    return changed
