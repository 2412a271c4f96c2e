"""Where and why a replay left its tape, in words."""

from __future__ import annotations

from dataclasses import dataclass

from tracer_hooks.frameworks import ModelRequest, ToolRequest
from tracer_hooks.replay._tape import Tape, TapedModelCall, TapedToolCall, timeless
from tracer_hooks.telemetry import Message, message_text

_SHOWN = 60


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """One place where a run asked for something else than its tape holds."""

    step: int | None
    """The step at which it did."""
    agent: str
    """Who asked."""
    reason: str
    """What differs."""

    def __str__(self) -> str:
        return f"step {self.step}, agent {self.agent!r}: {self.reason}"


def model_divergence(tape: Tape, expected: TapedModelCall | None, request: ModelRequest) -> Divergence:
    """How ``request`` differs from the call that the tape holds at its place."""
    if expected is None:
        reason = f"the tape holds no further model call of {request.agent!r}"
    else:
        reason = _difference(tape.messages_of(expected), list(request.messages))
    step = expected.step if expected is not None else request.step
    return Divergence(step=step, agent=request.agent, reason=reason)


def tool_divergence(expected: TapedToolCall | None, request: ToolRequest) -> Divergence:
    """How a tool call differs from the call that the tape holds at its place."""
    if expected is None:
        reason = f"the tape holds no call of the tool {request.name!r} here"
    elif expected.name != request.name:
        reason = f"it calls the tool {request.name!r} where the tape has {expected.name!r}"
    else:
        reason = f"it calls {request.name!r} with {request.arguments!r} where the tape has {expected.arguments!r}"
    return Divergence(step=request.step, agent=request.agent, reason=reason)


def _difference(recorded: list[Message], asked: list[Message]) -> str:
    for position, (old, new) in enumerate(zip(recorded, asked, strict=False)):
        if timeless(old) != timeless(new):
            return f"message {position} ({new.get('role')}) differs: {_texts(message_text(old), message_text(new))}"
    return f"it shows {len(asked)} messages where the tape has {len(recorded)}"


def _texts(old: str, new: str) -> str:
    if old == new:
        return "the texts are equal, its tool calls or other parts are not"
    at = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    start = max(0, at - _SHOWN // 3)
    return f"recorded {old[start : start + _SHOWN]!r}, now {new[start : start + _SHOWN]!r}"
