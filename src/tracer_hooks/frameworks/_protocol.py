"""What a framework's adapter has to offer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from tracer_hooks.frameworks._entries import RunHost, TeamCall
from tracer_hooks.frameworks._patching import PatchSet
from tracer_hooks.schema import AgentSpec
from tracer_hooks.telemetry import Message


class Capability(StrEnum):
    """Something that an adapter can do. The contract kit tests every one that an adapter declares."""

    SYNC = "sync"
    """Runs through a plain call."""
    ASYNC = "async"
    """Runs through a coroutine."""
    STREAM = "stream"
    """Runs through a generator, plain or asynchronous."""
    INTERVENE_MODEL = "intervene_model"
    """Model replies can be recorded, replayed, replaced or prefixed."""
    INTERVENE_TOOL = "intervene_tool"
    """Tool results can be recorded, replayed, replaced or prefixed."""
    READ_INSTRUCTIONS = "read_instructions"
    """An agent's instructions can be read from the team before a run."""
    WRITE_INSTRUCTIONS = "write_instructions"
    """An agent's instructions can be changed on a team that is already built."""


@dataclass(frozen=True, kw_only=True)
class TeamInfo:
    """Description of a team before it runs."""

    name: str
    """The team's name."""
    agents: Sequence[AgentSpec] = ()
    """Its members, as far as they can be seen from outside."""
    shows_span: bool = True
    """Whether the run's own span is made OpenTelemetry's current one between the agents' turns. False for a framework
    that has no spans of its own there and pays for a current one, as AutoGen's runtime does with every message."""


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """Result of a run, in the framework's words and in ours. This is what ``check`` gets."""

    text: str
    """The answer as text; empty when there is none."""
    native: Any
    """What the framework returned; for a stream, its last item."""
    messages: Sequence[Message] = field(default=())
    """The conversation as far as the framework returned it."""
    stop_reason: str | None = None
    """Why the framework stopped, when it says so."""
    interrupted: bool = False
    """Whether the run waits for a human; its outcome is then UNKNOWN."""

    def __contains__(self, text: object) -> bool:
        """Tell whether the answer holds ``text``, so that ``"17" in result`` means what it says."""
        return isinstance(text, str) and text in self.text


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A check's judgement with its reason.

    Args:
        passed: Whether the run did what it should.
        reason: Why not; shown in the diagnosis, and used by it.
        score: How good it was, 0 to 1; compares attempts.
        feedback: What the team may be told of it when it tries again. It is sent as it is written: whoever writes it
            sees to it that it does not give the answer away. Without it, the team is told the reason, the expected
            answer hidden.
    """

    passed: bool
    reason: str | None = None
    score: float | None = None
    feedback: str | None = None

    @property
    def rank(self) -> float:
        """Score of the run, for choosing the best attempt."""
        return self.score if self.score is not None else float(self.passed)


class StreamCollector(Protocol):
    """Looks at a stream's items as they pass, and says at the end what came out of the run."""

    def see(self, item: Any) -> None:
        """Look at one item. Must neither change nor keep more of it than the result needs."""

    def result(self) -> RunResult:
        """Result of the run."""


@runtime_checkable
class Adapter(Protocol):
    """The bridge between one framework and tracer-hooks.

    An adapter is found through the entry point group ``tracer_hooks.adapters``. Constructing it imports no framework;
    :meth:`recognises` must not either.
    """

    name: str
    """The framework's short name; becomes ``Trajectory.framework``."""
    capabilities: frozenset[Capability]
    """What the adapter can do."""

    def recognises(self, team: object) -> bool:
        """Tell whether ``team`` is one of this framework's teams. Decide by the type's module, without imports."""

    def framework_version(self) -> str:
        """The installed framework's version.

        Raises:
            MissingExtraError: The framework is not installed.
            UnsupportedVersionError: It is installed in a version outside the adapter's range.
        """

    def describe(self, team: Any) -> TeamInfo:
        """The team's name and members."""

    def hook(self, team: Any, host: RunHost) -> PatchSet:
        """Make every run of ``team`` go through ``host``, and report what happens in it to the current run.

        Everything that is changed is in the returned patch set. Hooking twice is the caller's error to avoid.
        """

    def result(self, call: TeamCall, native: Any) -> RunResult:
        """Result of a call that returned ``native``."""

    def collector(self, call: TeamCall) -> StreamCollector:
        """A collector for a call that streams."""

    def write_instructions(self, team: Any, instructions: Mapping[str, str]) -> PatchSet | None:
        """Change the instructions of the named agents until the patch set is undone.

        None when a built team's instructions cannot be changed; they are then rewritten in every model request.
        """

    def entry(self, team: Any, task: str) -> TeamCall:
        """The native call that runs ``team`` on a task given as text, for :func:`tracer_hooks.run`."""

    def watch(self, on_team: Callable[[Any], None]) -> PatchSet:
        """Call ``on_team`` with every team of this framework that is about to run, until the patch set is undone.

        It is called in the context of the caller, before the run begins, so that a team which is used inside a hooked
        run can be hooked on the spot; a team that is hooked already may be left out. Where the framework is not
        imported yet there is nothing to watch: the patch set is then empty, and the adapter is asked again later.
        """

    async def reset(self, team: Any) -> None:
        """Make a team that has run ready to run again from the start; nothing to do where runs share no state."""


@runtime_checkable
class KnowsCopies(Protocol):
    """An adapter whose framework copies teams behind the user's back, and whose hooks hold for the copies, too."""

    def host_of(self, team: Any) -> RunHost | None:
        """The host that the runs of ``team`` go through; None when it is not hooked."""
