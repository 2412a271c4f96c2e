"""Runs of a task made again, on the team that was hooked or on a new one from its factory."""

from __future__ import annotations

import inspect
import threading
import time
import weakref
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from tracer_hooks._guard import guard
from tracer_hooks.config import CaptureConfig, ContentCapture
from tracer_hooks.errors import AdapterError, CheckError, ConfigError, RecordedFailureError, ReplayError
from tracer_hooks.frameworks import (
    Adapter,
    Capability,
    Intervention,
    Interventions,
    PatchSet,
    RewriteInstructions,
    RunHost,
    RunResult,
    TeamCall,
)
from tracer_hooks.frameworks.plain import PlainTeam, declared_agents
from tracer_hooks.replay import Trial, tape_of
from tracer_hooks.runtime._judging import (
    Check,
    Expected,
    Ruling,
    SafeCollector,
    Undecided,
    ask_check,
    compare_with_expected,
    expected_answer,
    judge_error,
    judge_result,
    read_result,
    run_awaitable,
)
from tracer_hooks.schema import RunKind, to_text
from tracer_hooks.telemetry import Emitter, RunInvocation, RunStart, drive, drive_async, unrecorded

_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass
class Prepared:
    """A team that is about to run."""

    team: Any
    """The team object."""
    is_new: bool = False
    """Whether it was built for this run and has yet to be hooked."""
    intervention: Intervention | None = None
    """Rewrites instructions in the model requests, where the team itself could not be changed."""
    patches: PatchSet = field(default_factory=PatchSet)
    """Undoes what was changed at the team for this run."""


class TeamSource:
    """Prepares a team for a run with given instructions.

    Args:
        factory: Builds the team, or gives an awaitable that does; None when the team is there already.
        args: Arguments that the user gave the factory.
        kwargs: Keyword arguments that the user gave the factory.
        as_team: Turns what the factory built into a team, for factories that build a function.

    Attributes:
        factory: Builds the team, as it was given.
        has_arguments: Whether the user gave the factory arguments.
        takes_prompts: Whether teams can be built with other instructions.
    """

    def __init__(
        self,
        factory: Callable[..., Any] | None = None,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        as_team: Callable[[Any], Any] = lambda built: built,
    ) -> None:
        self.factory = factory
        self._as_team = as_team
        self._args, self._kwargs = args, dict(kwargs or {})
        self.has_arguments = bool(args or kwargs)
        self.takes_prompts = factory is not None and "prompts" in inspect.signature(factory).parameters

    def anew(self, prompts: Mapping[str, str] = _NONE) -> Any:
        """A team of its own for a replay, built as the user's was; with other instructions where it takes them."""
        return self._as_team(self._settled(self._make(prompts)))

    def takes_prompts_for(self, agents: Collection[str]) -> bool:
        """Tell whether teams can be built, without waiting, with other instructions for agents without the user's."""
        if self.factory is None or not self.takes_prompts or inspect.iscoroutinefunction(self.factory):
            return False
        given = inspect.signature(self.factory).bind_partial(*self._args, **self._kwargs).arguments.get("prompts")
        return not set(given or ()) & set(agents)

    def build(self) -> Any:
        """Build the user's team with the factory."""
        with declared_agents() as declared:
            return _declaring(self.anew(), declared)

    async def build_async(self) -> Any:
        """The same in asynchronous code."""
        with declared_agents() as declared:
            made = self._make({})
            return _declaring(self._as_team(await made if inspect.isawaitable(made) else made), declared)

    def again(self, adapter: Adapter, team: Any, prompts: Mapping[str, str]) -> Prepared:
        """A team for a retry: built anew where there is a factory, else the same object; with these instructions."""
        return self._prepared(adapter, team, self._settled(self._make(prompts)), prompts)

    async def again_async(self, adapter: Adapter, team: Any, prompts: Mapping[str, str]) -> Prepared:
        """The same in asynchronous code: the factory's coroutine runs in the caller's event loop."""
        made = self._make(prompts)
        return self._prepared(adapter, team, await made if inspect.isawaitable(made) else made, prompts)

    def _prepared(self, adapter: Adapter, team: Any, made: Any, prompts: Mapping[str, str]) -> Prepared:
        if self.factory is None:
            return _with_instructions(adapter, Prepared(team), prompts)
        prepared = Prepared(self._as_team(made), is_new=True)
        return prepared if self.takes_prompts else _with_instructions(adapter, prepared, prompts)

    def _make(self, prompts: Mapping[str, str]) -> Any:
        """Call the factory; the user's own ``prompts`` stay, ours are laid over them."""
        if self.factory is None:
            return None
        if not (self.takes_prompts and prompts):
            return self.factory(*self._args, **self._kwargs)
        bound = inspect.signature(self.factory).bind_partial(*self._args, **self._kwargs)
        bound.apply_defaults()  # the default of `prompts`, too: ours are laid over it
        bound.arguments["prompts"] = {**(bound.arguments.get("prompts") or {}), **prompts}
        return self.factory(*bound.args, **bound.kwargs)

    @staticmethod
    def _settled(made: Any) -> Any:
        return run_awaitable(made) if inspect.isawaitable(made) else made


def _declaring(team: Any, declared: Mapping[str, str]) -> Any:
    """A team in plain Python, with the instructions that were declared while it was built."""
    return replace(team, declared=dict(declared)) if isinstance(team, PlainTeam) else team


def _with_instructions(adapter: Adapter, prepared: Prepared, prompts: Mapping[str, str]) -> Prepared:
    """Other instructions: written into a team that was built for this run alone, else into what its models are asked.

    The user's own team stays as it is, since other calls of it may go on at the same time.
    """
    if not prompts:
        return prepared
    patches = None
    if prepared.is_new or Capability.INTERVENE_MODEL not in adapter.capabilities:
        with guard("rewrite the team's instructions"):
            patches = adapter.write_instructions(prepared.team, prompts)
    if patches is None:
        prepared.intervention = RewriteInstructions(dict(prompts))
    else:
        prepared.patches.add(patches)
    return prepared


@dataclass(frozen=True)
class Judge:
    """Says whether a run succeeded."""

    check: Check | None = None
    """Decides."""
    expected: Expected | None = None
    """The expected answer; decides where there is no check."""

    def ruling(self, result: RunResult, task: str) -> Ruling | None:
        """Judge by the check, else by the expected answer; None without either."""
        if self.check is not None:
            return ask_check(self.check, result, task)
        reference = expected_answer(self.expected, task)
        return compare_with_expected(reference, result.text) if isinstance(reference, str) else reference


def unjudged(ruling: Undecided, result: RunResult) -> CheckError:
    """The error for a run that nobody could judge, which is neither a success nor a failure.

    The check raised or gave something odd, or there is no expected answer for the task.
    """
    raised = f": {to_text(ruling.error)}" if ruling.error is not None else ""
    error = CheckError(f"a run cannot be judged: {ruling.reason}{raised} (its answer was {result.text[:200]!r})")
    error.__cause__ = ruling.error
    return error


@dataclass(frozen=True)
class Made:
    """A team that is ready for one run."""

    adapter: Adapter
    call: TeamCall
    is_hooked: bool
    """Whether a hook of the user's reports what happens in it."""


class Rerunner:
    """A :class:`~tracer_hooks.replay.TeamRunner` over any framework's team.

    Args:
        make: Gives a team that is as good as new, with the call to make.
        task: What it is asked to do.
        judge: Says whether a run succeeded.
        emitter: Where the runs' spans go.
        is_shared: Whether every run is made on the same team object; runs then wait for each other.
        prompts: Gives what tells the agents other instructions, as in the run that is repeated.
        name: The team's name; default the one that it has in its framework.
    """

    def __init__(
        self,
        make: Callable[[], Made],
        task: str,
        judge: Judge,
        emitter: Emitter,
        *,
        is_shared: bool = False,
        prompts: Callable[[], Intervention | None] = lambda: None,
        name: str | None = None,
    ) -> None:
        self.task, self.is_shared = task, is_shared
        self._make = make
        self._judge = judge
        self._emitter = emitter
        self._prompts = prompts
        self._name = name
        self._turn: AbstractContextManager[Any] = threading.Lock() if is_shared else nullcontext()

    def run(self, intervention: Intervention | None = None, *, kind: RunKind = RunKind.REPLAY) -> Trial:
        """See :class:`~tracer_hooks.replay.TeamRunner`."""
        with self._turn:
            made = self._make()
            patches = None if made.is_hooked else made.adapter.hook(made.call.team, _NoHost())
            try:
                return self._run(made, intervention, kind)
            finally:
                if patches is not None:
                    patches.undo()

    def _run(self, made: Made, intervention: Intervention | None, kind: RunKind) -> Trial:
        run = self._start(made, kind)
        # The prompts come first: the record, by which a replay finds its steps, shows them.
        watch = _Watch([part for part in (self._prompts(), intervention) if part is not None])
        run.intervention = watch if watch.parts else None
        begun = time.monotonic()
        result: RunResult | None = None
        ruling: Ruling | None = None
        failure: Exception | None = None
        try:
            result = _conduct(made, run)
            # What the check traces belongs to the run, but what it calls is no step of it.
            with run.active(), unrecorded():
                ruling = None if result.interrupted else self._judge.ruling(result, self.task)
            judged = judge_result(result, ruling)
        except Exception as error:
            failure, judged = error, judge_error(error)
        except BaseException as error:
            run.finish(error=error)
            raise
        seconds = time.monotonic() - begun
        run.set_outcome(judged.outcome, judged.reason, by_check=judged.verdict is not None)
        text, stop_reason = (result.text, result.stop_reason) if result is not None else (None, None)
        run.finish(output=text, error=failure, stop_reason=stop_reason)
        if watch.failure is not None:
            raise watch.failure
        if isinstance(failure, ReplayError) and not isinstance(failure, RecordedFailureError):
            raise failure
        if isinstance(ruling, Undecided) and result is not None:
            raise unjudged(ruling, result)
        return Trial(
            trajectory=run.trajectory(),
            tape=tape_of(run),
            output=text or "",
            error=failure,
            duration_s=seconds,
            verdict=judged.verdict,
        )

    def _start(self, made: Made, kind: RunKind) -> RunInvocation:
        info = made.adapter.describe(made.call.team)
        start = RunStart(
            team=self._name or info.name,
            task=self.task,
            framework=made.adapter.name,
            framework_version=made.adapter.framework_version(),
            kind=kind,
            agents=info.agents,
            shows_span=info.shows_span,
        )
        return self._emitter.start_run(start, subject=made.call.team)


def rerunner_of_call(
    bare: TeamCall,
    team_of: Callable[[], Any],
    adapter: Adapter,
    source: TeamSource,
    judge: Judge,
    emitter: Emitter,
    *,
    prompts: Callable[[], Intervention | None] = lambda: None,
    built_with: Callable[[], Mapping[str, str]] = dict,
    name: str | None = None,
) -> Rerunner:
    """A runner that repeats a call of the user's: the same method with the same arguments, on a team made anew.

    The call comes without its team, which ``team_of`` gives as long as it is there: a rerunner keeps no team alive.
    """

    def make() -> Made:
        team = team_of()
        if source.factory is None:
            if team is None:
                raise AdapterError(
                    f"the team of the task {bare.task[:80]!r} is gone, and no factory was hooked that could build it "
                    "again. Keep the team, or pass build_team="
                )
            run_awaitable(adapter.reset(team))
            return Made(adapter, replace(bare, team=team), is_hooked=True)
        return Made(adapter, replace(bare, team=source.anew(built_with())), is_hooked=False)

    is_shared, emitter = source.factory is None, replaying_emitter(emitter)
    return Rerunner(make, bare.task, judge, emitter, is_shared=is_shared, prompts=prompts, name=name)


def replaying_emitter(emitter: Emitter | None = None) -> Emitter:
    """An emitter like ``emitter``, for runs that are replayed: their record must be complete.

    Raises:
        ConfigError: Content is not to be kept. Faults, replays and what is learnt from them are copies of what agents
            said: there is no blanked form of them that could be replayed.
    """
    capture = emitter.capture.config if emitter is not None else CaptureConfig.from_env()
    if capture.record is not ContentCapture.FULL:
        raise ConfigError(
            f"the content of runs is kept {capture.record.value!r}, expected 'full': runs are made again, and written, "
            "as they were. Run it with TRACER_HOOKS_RECORD=full"
        )
    return Emitter(tracer_provider=emitter.provider if emitter is not None else None, capture=capture)


class _NoHost(RunHost):  # a run is current whenever the team is called, so its entry points pass through
    def call(self, call: TeamCall) -> Any:
        return call.on(call.team)

    acall = stream = astream = call


class _Watch(Interventions):
    """Remembers the ReplayError that an intervention raised: frameworks turn it into errors of their own."""

    failure: ReplayError | None = None

    @property
    def changes_replies(self) -> bool:
        return any(part.changes_replies for part in self.parts)

    def before_model(self, request: Any) -> Any:
        return self._asked(super().before_model, request)

    def after_model(self, request: Any, reply: Any) -> Any:
        return self._asked(super().after_model, request, reply)

    def before_tool(self, request: Any) -> Any:
        return self._asked(super().before_tool, request)

    def after_tool(self, request: Any, reply: Any) -> Any:
        return self._asked(super().after_tool, request, reply)

    def _asked(self, method: Callable[..., Any], *args: Any) -> Any:
        try:
            return method(*args)
        except RecordedFailureError:
            raise
        except ReplayError as error:
            self.failure = self.failure or error
            raise


def _conduct(made: Made, run: RunInvocation) -> RunResult:
    call, adapter = made.call, made.adapter
    with run.active():
        value = call.on(call.team)
    if inspect.isgenerator(value):
        collector = SafeCollector(adapter, call)
        for _ in drive(value, run, on_item=collector.see, fails=False):
            pass
        return collector.result()
    if inspect.isasyncgen(value):
        return run_awaitable(_drained(value, run, SafeCollector(adapter, call)))  # type: ignore[no-any-return]
    if inspect.isawaitable(value):
        value = run_awaitable(_awaited(value, run))
    return read_result(lambda: adapter.result(call, value), value)


async def _awaited(value: Any, run: RunInvocation) -> Any:
    with run.active():
        return await value


async def _drained(items: Any, run: RunInvocation, collector: SafeCollector) -> RunResult:
    async for _ in drive_async(items, run, on_item=collector.see, fails=False):
        pass
    return collector.result()


def weakly(team: Any) -> Callable[[], Any]:
    """Give the team without keeping it alive, where it can be referred to so."""
    try:
        return weakref.ref(team)
    except TypeError:
        return lambda: team
