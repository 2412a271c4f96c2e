"""A reply changed by a mutator, and the words that would give such a change away."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import cast

from tracer_hooks.schema import ErrorMode
from tracer_hooks.telemetry import ChatReply, RequestedTool
from tracer_hooks_lab.faults._context import FaultContext
from tracer_hooks_lab.faults._mutators import (
    ArgumentsMutator,
    Mutator,
    Target,
    TextMutator,
    get_mutator,
    mutators_of,
)

LEAK_WORDS = (
    "adversar",
    "attack",
    "corrupt",
    "deliberate",
    "error mode",
    "failure mode",
    "fake",
    "fault",
    "fm-1",
    "fm-2",
    "fm-3",
    "hijack",
    "inject",
    "intentional",
    "malicious",
    "manipulat",
    "mislead",
    "misbehav",
    "mutat",
    "on purpose",
    "purposely",
    "sabotage",
    "simulat",
    "tamper",
    "wrong on purpose",
)
"""Beginnings of words, in lower case."""

_LEAK = re.compile("|".join(rf"\b{re.escape(word)}" for word in LEAK_WORDS), re.IGNORECASE)


def leaked_words(after: str, before: str = "") -> tuple[str, ...]:
    """The leak words that ``after`` holds more often than ``before``, in lower case and sorted."""
    counts = Counter(_LEAK.findall(after.lower()))
    counts.subtract(Counter(_LEAK.findall(before.lower())))
    return tuple(sorted(word for word, count in counts.items() if count > 0))


@dataclass(frozen=True, kw_only=True)
class Corruption:
    """A changed reply and what changed it."""

    reply: ChatReply
    """The reply to use."""
    kind: str
    """The mutator's name; ``"llm"`` for a reply that a model wrote."""


def corrupt(context: FaultContext, mode: ErrorMode, *, kind: str | None = None, seed: int = 0) -> Corruption | None:
    """The reply of ``context`` with a fault of ``mode``, or None when nothing in it can be changed that way.

    Args:
        context: What was known, and the reply.
        mode: How the changed reply errs.
        kind: The mutator; None tries the mode's mutators in an order that the seed gives and takes the first that fits.
        seed: Seed of every choice; equal arguments give equal replies.

    Raises:
        FaultError: The mode has no mutator ``kind``.
    """
    for mutator in _in_order(mode, kind, seed):
        reply = _mutated(mutator, context, Random(f"{seed}/{mode.value}/{mutator.kind}"))
        if reply is not None:
            return Corruption(reply=reply, kind=mutator.kind)
    return None


def fitting_kinds(context: FaultContext, mode: ErrorMode, *, seed: int = 0) -> tuple[str, ...]:
    """Names of the mode's mutators that can change the reply of ``context``, in the order that the seed gives."""
    kinds = [m.kind for m in _in_order(mode, None, seed)]
    return tuple(kind for kind in kinds if corrupt(context, mode, kind=kind, seed=seed) is not None)


def reply_text(reply: ChatReply) -> str:
    """A reply as one text: what was written, then the calls, one a line."""
    calls = [f"{call.name}({call.arguments!r})" for call in reply.tool_calls]
    return "\n".join([*([reply.content] if reply.content else []), *calls])


def with_content(reply: ChatReply, content: str, *, tool_calls: Sequence[RequestedTool] | None = None) -> ChatReply:
    """``reply`` with another text, streamed in as many pieces as before, and with other tool calls if given."""
    calls = tuple(reply.tool_calls if tool_calls is None else tool_calls)
    reason = "stop" if reply.finish_reason == "tool_calls" and not calls else reply.finish_reason
    chunks = _pieces(content, len(reply.chunks)) if reply.chunks else ()
    return replace(reply, content=content, tool_calls=calls, finish_reason=reason, chunks=chunks)


def _in_order(mode: ErrorMode, kind: str | None, seed: int) -> list[Mutator]:
    if kind is not None:
        return [get_mutator(mode, kind)]
    mutators = list(mutators_of(mode))
    Random(f"{seed}/{mode.value}").shuffle(mutators)
    return mutators


def _mutated(mutator: Mutator, context: FaultContext, rng: Random) -> ChatReply | None:
    before = context.reply
    if mutator.target is Target.ARGUMENTS:
        after = _with_arguments(mutator, context, rng)
    elif mutator.target is Target.TEXT and (before.tool_calls or not before.content.strip()):
        return None
    else:
        text = cast(TextMutator, mutator.mutate)(before.content, context, rng)
        after = None if text is None or not text.strip() else with_content(before, text, tool_calls=())
    if after is None or _same(before, after) or leaked_words(reply_text(after), _known(context)):
        return None
    return after


def _with_arguments(mutator: Mutator, context: FaultContext, rng: Random) -> ChatReply | None:
    calls = list(context.reply.tool_calls)
    if not calls:
        return None
    arguments = cast(ArgumentsMutator, mutator.mutate)(calls[-1].arguments, context, rng)
    if arguments is None:
        return None
    return replace(context.reply, tool_calls=(*calls[:-1], replace(calls[-1], arguments=arguments)))


def _same(before: ChatReply, after: ChatReply) -> bool:
    calls = [(call.name, call.arguments) for call in before.tool_calls]
    return before.content.strip() == after.content.strip() and calls == [
        (c.name, c.arguments) for c in after.tool_calls
    ]


def _known(context: FaultContext) -> str:
    """All texts that the agents' replies may quote; a leak word of the task itself is none of ours."""
    return "\n".join([context.task, *(u.text for u in context.history), reply_text(context.reply)])


def _pieces(text: str, count: int) -> tuple[str, ...]:
    size = max(1, -(-len(text) // count))
    return tuple(text[i : i + size] for i in range(0, len(text), size))
