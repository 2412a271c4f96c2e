"""Player of a tape: what answers from the record, which tools run, and where a run leaves the record."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from tracer_hooks.errors import ConfigError, ReplayError, TapeMismatchError
from tracer_hooks.frameworks import Intervention, ModelRequest, ToolReply, ToolRequest
from tracer_hooks.replay._tape import Tape, TapedModelCall, TapedToolCall, model_digest, timeless, tool_digest
from tracer_hooks.schema import Usage
from tracer_hooks.telemetry import ChatReply, Message, message_text

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
    """Return how ``request`` differs from the call that the tape holds at its place."""
    if expected is None:
        reason = f"the tape holds no further model call of {request.agent!r}"
    else:
        reason = _difference(tape.messages_of(expected), list(request.messages))
    step = expected.step if expected is not None else request.step
    return Divergence(step=step, agent=request.agent, reason=reason)


def tool_divergence(expected: TapedToolCall | None, request: ToolRequest) -> Divergence:
    """Return how a tool call differs from the call that the tape holds at its place."""
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


class ToolUse(StrEnum):
    """Handling of a tool's calls in a replay.

    Up to the step where the replay leaves the tape every result comes from the tape; these words are about the calls
    after it, except for the last.
    """

    LIVE = "live"
    """It runs."""
    REPLAYABLE = "replayable"
    """It only reads: a call that is on the tape is answered from there, another one runs."""
    BLOCKED = "blocked"
    """It never runs: a call that is on the tape is answered from there, another one gets an error."""
    REBUILT = "rebuilt"
    """Its state lives in the team's own process and is built anew with the team: taped calls run as well, for their
    effect on that state, and have to give what the tape holds; later ones run."""

    @classmethod
    def _missing_(cls, value: object) -> None:
        expected = ", ".join(repr(str(use)) for use in cls)
        raise ConfigError(f"the tool rule {value!r} is unknown, expected one of: {expected}")


@dataclass(frozen=True, kw_only=True)
class ToolRules:
    """Rules for what each tool may do.

    Args:
        default: For tools that are not named; None stops a replay at the first new call of such a tool, since nobody
            has said whether it may be made a second time.
        named: By the tool's name.
    """

    default: ToolUse | None = None
    named: Mapping[str, ToolUse] = field(default_factory=dict)

    @classmethod
    def of(cls, rules: ToolRules | str | Mapping[str, str] | None) -> ToolRules:
        """Rules from what a user writes: one word for all tools, or a word for each; ``"*"`` names the others."""
        if isinstance(rules, ToolRules):
            return rules
        if rules is None:
            return cls()
        if isinstance(rules, str):
            return cls(default=ToolUse(rules))
        named = {name: ToolUse(word) for name, word in rules.items()}
        return cls(default=named.pop("*", None), named=named)

    def use(self, tool: str) -> ToolUse:
        """Return what ``tool`` may do."""
        found = self.named.get(tool, self.default)
        if found is None:
            raise ReplayError(
                f"the replay wants to call the tool {tool!r}, and nobody has said whether that may happen again. "
                f"Declare it: tools={{{tool!r}: 'replayable'}} (it only reads), 'live', 'blocked' or 'rebuilt'; "
                f"on the command line --tool {tool}=replayable"
            )
        return found

    def rebuilds(self, tool: str) -> bool:
        """Tell whether taped calls of ``tool`` run for their effect."""
        return self.named.get(tool, self.default) is ToolUse.REBUILT

    def first_undeclared(self, tape: Tape) -> TapedToolCall | None:
        """The first call behind whose step no run can be resumed; None without one.

        What became of a call's effect is known where the tool only reads, is called again into the new team, or must
        not be called twice.
        """
        known = (ToolUse.REPLAYABLE, ToolUse.REBUILT, ToolUse.BLOCKED)
        calls = (call for call in tape.tool_calls if not call.is_routing)
        unknown = (call for call in calls if self.named.get(call.name, self.default) not in known)
        return min(unknown, key=lambda call: call.step, default=None)


Call = TypeVar("Call", TapedModelCall, TapedToolCall)


class TapeMode(StrEnum):
    """Behaviour when a run asks for something else than its tape holds."""

    STRICT = "strict"
    """The run stops with a :class:`~tracer_hooks.errors.TapeMismatchError`."""
    LENIENT = "lenient"
    """The agent's next taped reply is served all the same, and the divergence is noted; without one the run goes on
    live."""
    RELEASE = "release"
    """The tape ends there: the divergence is noted, and from then on the run is live."""

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise ConfigError(f"mode is {value!r}, expected 'strict' or 'lenient'")


class TapePlayer(Intervention):
    """Answers model and tool calls from a tape.

    Calls are found by what they ask, not by their number, so branches of a team that run at the same time may come in
    any order; equal requests are served in the order of the tape. A hand-off, and a tool that other agents act in, is
    never served: it runs, and what those agents ask for is on the tape.

    Args:
        tape: What was recorded.
        until: The first step that is not served; default none, the whole run comes from the tape.
        mode: What happens when the run asks for something else.
        tools: What tools may do from ``until`` on, or where a lenient replay left the tape.

    Attributes:
        served: How many model calls were answered from the tape.
        served_usage: Tokens that these calls had taken when they were recorded.
        live: How many model calls were not.
        divergences: Where the run left the tape.
        failure: Why the replay is worthless; None while it is not.
    """

    def __init__(
        self,
        tape: Tape,
        *,
        until: int | None = None,
        mode: TapeMode | str = TapeMode.STRICT,
        tools: ToolRules | None = None,
    ) -> None:
        self.tape = tape
        self.until = until
        self.served = self.live = 0
        self.served_usage = Usage()
        self.divergences: list[Divergence] = []
        self.failure: ReplayError | None = None
        self._mode = TapeMode(mode)
        self._is_released = False
        self._tools = tools or ToolRules()
        self._models = list(tape.model_calls)
        self._calls = list(tape.tool_calls)
        self._rebuilding: dict[str, list[TapedToolCall]] = defaultdict(list)
        self._lock = threading.RLock()

    # --- models ----------------------------------------------------------------------------------------------------
    def before_model(self, request: ModelRequest) -> ChatReply | None:
        with self._lock:
            digest = model_digest(request.agent, request.messages)
            found = _take_call(self._models, [call for call in self._models if call.digest == digest])
            if found is None:
                found = self._instead_of_model(request)
            if found is None or not self._is_fixed(found.step):
                self.live += 1
                return None
            self.served += 1
            self.served_usage += found.usage or Usage()
        return found.reply()

    def _instead_of_model(self, request: ModelRequest) -> TapedModelCall | None:
        """The taped call for a request that is not on the tape; None where the run is free to go on live."""
        due = [call for call in self._models if self._is_fixed(call.step)]
        own = [call for call in due if call.agent == request.agent]
        if self.until is not None and not due:
            return None  # past the fork
        if self.until is not None and not own and request.step is not None and request.step >= self.until:
            return None  # another branch has still to reach the fork
        self._diverge(model_divergence(self.tape, own[0] if own else None, request))
        return None if self._is_released else _take_call(self._models, own)

    # --- tools -----------------------------------------------------------------------------------------------------
    def before_tool(self, request: ToolRequest) -> ToolReply | None:
        with self._lock:
            digest = tool_digest(request.name, request.arguments)
            found = _take_call(self._calls, [call for call in self._calls if call.digest == digest])
            if found is None and self._must_be_taped(request):
                due = [c for c in self._calls if self._is_fixed(c.step) and c.agent == request.agent]
                self._diverge(tool_divergence(due[0] if due else None, request))
                same = [call for call in due if call.name == request.name]
                found = None if self._is_released else _take_call(self._calls, same)
            if found is not None and found.is_routing:
                return None
            if found is not None and self._is_fixed(found.step):
                if not self._tools.rebuilds(request.name):
                    return found.reply()
                self._rebuilding[digest].append(found)
                return None
            return self._beyond(request, digest)

    def after_tool(self, request: ToolRequest, reply: ToolReply) -> ToolReply | None:
        with self._lock:
            waiting = self._rebuilding.get(tool_digest(request.name, request.arguments))
            if not waiting:
                return None
            taped = waiting.pop(0)
            if taped.error is not None and reply.is_error:
                return None  # it failed again; how its error is worded is up to the framework
            if taped.content != reply.content:
                reason = f"the tool {request.name!r} gave {reply.content!r} where the tape has {taped.content!r}"
                self._diverge(Divergence(step=taped.step, agent=taped.agent, reason=reason))
            return taped.reply() if taped.error is None else None

    def _must_be_taped(self, request: ToolRequest) -> bool:
        if self._is_released:
            return False
        return self.until is None or (request.step is not None and request.step < self.until)

    def _beyond(self, request: ToolRequest, digest: str) -> ToolReply | None:
        """The answer to a call after the fork; None lets it run."""
        if any(call.digest == digest and call.is_routing for call in self.tape.tool_calls):
            return None
        try:
            use = self._tools.use(request.name)
        except ReplayError as error:
            self.failure = self.failure or error
            raise
        if use in (ToolUse.LIVE, ToolUse.REBUILT):
            return None
        taped = next((call for call in self.tape.tool_calls if call.digest == digest), None)
        if taped is not None:
            return taped.reply()
        if use is ToolUse.BLOCKED:
            return ToolReply(content=f"the tool {request.name} cannot be used now", is_error=True)
        return None

    # --- the end ---------------------------------------------------------------------------------------------------
    def finish(self) -> None:
        """Say that the run has ended.

        Raises:
            ReplayError: What made the replay worthless, also where the framework swallowed it.
            TapeMismatchError: In strict mode: the run ended before it had asked for everything on the tape.
        """
        if self.failure is not None:
            raise self.failure
        left = [call for call in self._models if self._is_fixed(call.step)]
        if left and self._mode is TapeMode.STRICT:
            raise TapeMismatchError(
                f"the run ended before step {left[0].step}, where the tape has a model call of {left[0].agent!r}. "
                "The team, its task or its limits have changed since the recording; mode='lenient' goes on all the same"
            )

    def _is_fixed(self, step: int) -> bool:
        return not self._is_released and (self.until is None or step < self.until)

    def _diverge(self, divergence: Divergence) -> None:
        self.divergences.append(divergence)
        self._is_released = self._mode is TapeMode.RELEASE
        if self._mode is TapeMode.STRICT:
            error = TapeMismatchError(
                f"the replay differs from the recording at {divergence}. Build the team as it was recorded, or use "
                "mode='lenient'"
            )
            self.failure = self.failure or error
            raise error


def _take_call(calls: list[Call], fitting: Sequence[Call]) -> Call | None:
    """Remove the first of ``fitting`` from ``calls`` and give it."""
    if not fitting:
        return None
    return calls.pop(next(position for position, call in enumerate(calls) if call is fitting[0]))
