"""Faults around the agents: tool calls that go wrong, and messages between agents that do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tracer_hooks.frameworks import ToolReply
from tracer_hooks.telemetry import Message, message_text, text_message
from tracer_hooks_lab.faults._context import Utterance
from tracer_hooks_lab.faults._spec import ChannelFault, ToolFault
from tracer_hooks_lab.faults._text_parts import near, numbers_in, replace_value, values_in
from tracer_hooks_lab.faults._words import names_in, swap_names, turn_direction, turn_verdict

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
    """Return a tool's reply with a fault of this kind; None when the result cannot be changed so.

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


_LONG_ENOUGH = 12
"""Characters from which on an output is taken for itself wherever it stands; a bare number stands in many texts."""


@dataclass(frozen=True)
class Delivered:
    """Place of another agent's message in a request."""

    place: int
    """Position in the request's messages."""
    start: int
    """Where it begins in that message's text."""
    text: str
    """The message as it was sent."""

    @property
    def end(self) -> int:
        """Position after its last character."""
        return self.start + len(self.text)


def faulty_messages(
    kind: ChannelFault, messages: Sequence[Message], others: Sequence[Utterance], rng: Random
) -> tuple[Message, ...] | None:
    """The messages of a request with a fault of this kind, as many as before; None when they offer no such change.

    Only what other agents wrote is touched; it is found by its text, as a message of its own or inside a longer one.
    The newest such message is the one that suffers:

    - *dropped*: inside a longer text it is cut out. As a message of its own it holds the text of the one delivered
      before it, or else of the request's message before it (the number of messages cannot change), so the agent sees
      an old message twice and never the new one. The request's first message is never dropped.
    - *duplicated*: its text stands twice in its place.
    - *reordered*: it changes places with the one delivered before it.
    - *truncated*: it is cut off between 30 and 60 %.
    """
    delivered = delivered_messages(messages, others)
    if not delivered:
        return None
    last = delivered[-1]
    if kind is ChannelFault.DROPPED:
        return _dropped(messages, delivered)
    if kind is ChannelFault.DUPLICATED:
        return _with_texts(messages, [(last, f"{last.text}\n\n{last.text}")])
    if kind is ChannelFault.TRUNCATED:
        shorter = cut_off(last.text, rng)
        return None if shorter is None else _with_texts(messages, [(last, shorter)])
    before = next((d for d in reversed(delivered[:-1]) if d.text != last.text), None)
    return None if before is None else _with_texts(messages, [(before, last.text), (last, before.text)])


def delivered_messages(messages: Sequence[Message], others: Sequence[Utterance]) -> list[Delivered]:
    """Find the other agents' outputs in a request, in the order in which they are shown."""
    sent = sorted({u.text.strip() for u in others if len(u.text.strip()) > 1}, key=len, reverse=True)
    found: list[Delivered] = []
    for place, message in enumerate(messages):
        if message.get("role") not in ("user", "assistant") or not _is_text(message):
            continue
        text = message_text(message)
        for output in sent:
            start = _place_of(output, text, inside=message.get("role") == "user")
            if start is None:
                continue
            one = Delivered(place, start, output)
            if not any(o.place == place and o.start < one.end and one.start < o.end for o in found):
                found.append(one)
    return sorted(found, key=lambda d: (d.place, d.start))


def _place_of(output: str, text: str, *, inside: bool) -> int | None:
    """Find an output in a message: as the whole of it, or inside it; a short one ends a line."""
    if text.strip() == output:
        return text.index(output)
    if not inside:
        return None
    if len(output) >= _LONG_ENOUGH:
        return text.index(output) if output in text else None
    match = re.search(rf"(?m)(?:^|: ?){re.escape(output)}$", text)
    return None if match is None else match.end() - len(output)


def _dropped(messages: Sequence[Message], delivered: Sequence[Delivered]) -> tuple[Message, ...] | None:
    last = delivered[-1]
    whole = message_text(messages[last.place])
    if whole.replace(last.text, "").strip():
        return _with_texts(messages, [(last, "")])
    previous = [d.text for d in delivered[:-1] if d.text != last.text]
    earlier = [message_text(m) for m in messages[: last.place] if m.get("role") != "system" and _is_text(m)]
    substitute = previous[-1] if previous else next((text for text in reversed(earlier) if text.strip()), None)
    return None if substitute in (None, last.text) else _with_texts(messages, [(last, substitute or "")])


def _with_texts(messages: Sequence[Message], changes: Sequence[tuple[Delivered, str]]) -> tuple[Message, ...]:
    changed = list(messages)
    for one, new in sorted(changes, key=lambda change: change[0].start, reverse=True):
        message = changed[one.place]
        text = message_text(message)
        name = message.get("name")
        changed[one.place] = text_message(
            str(message["role"]),
            text[: one.start] + new + text[one.end :],
            name=name if isinstance(name, str) else None,
        )
    return tuple(changed)


def _is_text(message: Message) -> bool:
    parts = message.get("parts") or ()
    return bool(parts) and all(part.get("type") == "text" for part in parts)
