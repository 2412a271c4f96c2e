"""The record of a hooked call: its attempts and the diagnosis of the last one; and which call is a team's newest."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracer_hooks._background import DualEvent, process_lock
from tracer_hooks._guard import guard, logger
from tracer_hooks._lazy import cached_property
from tracer_hooks.config import StorePlace
from tracer_hooks.errors import ReplayError, StoreError, TracerHooksError
from tracer_hooks.frameworks import RunResult, Verdict
from tracer_hooks.repair import Repair, RepairLog
from tracer_hooks.replay import Tape
from tracer_hooks.runtime._judging import loop_is_running
from tracer_hooks.runtime._team_code import TeamCode
from tracer_hooks.schema import Attribution, Finding, RunOutcome, Trajectory
from tracer_hooks.telemetry import ContentPolicy

if TYPE_CHECKING:
    from tracer_hooks.report import ReportRun
    from tracer_hooks.runtime._rerunner import Rerunner
    from tracer_hooks.store import RunPrompts, RunSummary

_PATIENCE_S = 5.0
_LOOP_PATIENCE_S = 2.0
"""How long a diagnosis is waited for where nobody said for how long, and where an event loop is held up by that."""


@dataclass(kw_only=True)
class Attempt:
    """One run of the team within a call."""

    number: int
    """1 for the user's own run, 2 for the first retry."""
    outcome: RunOutcome
    """How the run ended."""
    outcome_reason: str | None = None
    """Why."""
    assemble: Callable[[], Trajectory] = field(repr=False)
    """Makes the trajectory from what was recorded."""
    record: Callable[[], Tape] | None = field(default=None, repr=False)
    """Makes the tape from what was recorded."""
    result: RunResult | None = None
    """What came out; None when the run raised."""
    error: BaseException | None = None
    """What it raised."""
    attribution: Attribution | None = None
    """Its diagnosis; None unless it failed."""
    repair: Repair | None = None
    """What it changed against the failed run; None for the user's own run."""
    verdict: Verdict | None = None
    """What the check said; None where none was asked."""
    prompts: RunPrompts | None = None
    """Which accepted prompts it was made on; None for the team's own, where ``prompts="accepted"`` was not asked for,
    nothing is accepted, or the team has changed since."""
    rank: float = 0.0
    """Compares attempts: the best one's native result is returned."""
    is_exported: bool = False
    """Whether its spans went to a provider that keeps them."""

    @cached_property
    def trajectory(self) -> Trajectory:
        """Trajectory of the attempt; assembled when it is first asked for, since most runs succeed and nobody looks."""
        return self.assemble()

    @cached_property
    def tape(self) -> Tape:
        """Every model and tool reply; made when it is first asked for.

        Raises:
            ReplayError: The run was recorded without content.
        """
        if self.record is None:
            raise ReplayError("this attempt was made without a record, expected one of a hooked team")
        return self.record()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings of its diagnosis; without one, or any there, what is found when it is first asked for."""
        return (self.attribution.findings if self.attribution is not None else ()) or self._found

    @cached_property
    def _found(self) -> tuple[Finding, ...]:
        with guard("look for findings in the run"):
            from tracer_hooks.diagnosis import findings_of

            return findings_of(self.trajectory, reference=self.trajectory.reference)
        return ()


@dataclass(kw_only=True)
class TeamRun:
    """One call of a hooked team: what happened, why it failed, and what was done about it."""

    session_id: str
    """Groups the attempts in the run store."""
    team: str
    """The team's name."""
    task: str
    """What it was asked to do."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """What was said of it by ``hook(tags=...)`` and :func:`tracer_hooks.tags`."""
    attempts: list[Attempt] = field(default_factory=list)
    """Every attempt, in order."""
    repair: RepairLog | None = None
    """What was tried to recover it, at what price, and what helped; None where nothing failed or no retry was asked
    for."""
    gate: ContentPolicy = field(default_factory=ContentPolicy.of_record, repr=False)
    """What of it may be written: its store and reports hold what passes here. The fields above are as they were."""
    again: Callable[[], Rerunner] | None = field(default=None, repr=False)
    """Makes what runs the team again, for replays."""
    code: TeamCode = field(default_factory=TeamCode, repr=False)
    """Where the team stands in code."""
    store: StorePlace | None = field(default=None, repr=False)
    """The run store that it was handed to, where commands find it by the ids of its attempts; None without one."""
    _done: DualEvent = field(default_factory=DualEvent, repr=False)
    _is_under_way: bool = field(default=False, repr=False)
    """Whether a diagnosis is being made in the background that whoever asks for it may wait for."""

    @property
    def last(self) -> Attempt:
        """The last attempt.

        Raises:
            TracerHooksError: The run has not ended.
        """
        if not self.attempts:
            raise TracerHooksError(
                f"the run of {self.team!r} has not ended yet; look at it after the call has returned"
            )
        return self.attempts[-1]

    @property
    def best(self) -> Attempt:
        """The attempt whose native result the caller gets: the best one, the earliest among equals."""
        return max(self.attempts, key=lambda attempt: (attempt.rank, -attempt.number)) if self.attempts else self.last

    @property
    def trajectory(self) -> Trajectory:
        """Trajectory of the last attempt."""
        return self.last.trajectory

    @property
    def tape(self) -> Tape:
        """Every model and tool reply of the last attempt.

        Raises:
            ReplayError: The run was recorded without content.
        """
        return self.last.tape

    @property
    def outcome(self) -> RunOutcome:
        """Outcome of the call: that of the attempt that the caller got."""
        return self.best.outcome

    @property
    def outcome_reason(self) -> str | None:
        """Reason of the outcome."""
        return self.best.outcome_reason

    @property
    def attribution(self) -> Attribution | None:
        """The newest diagnosis among the attempts; None when nothing failed.

        One that is being made in the background is waited for, some seconds at most, which in asynchronous code holds
        the event loop up; ``await run.diagnosed()`` does not. Where it takes longer, None comes with a log line.
        """
        self._expect_diagnosis()
        return next((a.attribution for a in reversed(self.attempts) if a.attribution is not None), None)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that can be proved of the run, judged or not, whoever is to blame; empty while it goes on.

        Those of the newest diagnosis; of a run without one they are worked out when they are first asked for.
        """
        self._expect_diagnosis()
        diagnosed = (attempt for attempt in reversed(self.attempts) if attempt.attribution is not None)
        attempt = next(diagnosed, self.attempts[-1] if self.attempts else None)
        return attempt.findings if attempt is not None else ()

    @property
    def prompts(self) -> RunPrompts | None:
        """Accepted prompts that the call was made on; None for the team's own, see :attr:`Attempt.prompts`."""
        return self.attempts[0].prompts if self.attempts else None

    @property
    def result(self) -> RunResult | None:
        """Result of the best attempt; None when it raised."""
        return self.best.result

    @property
    def error(self) -> BaseException | None:
        """Exception that the best attempt raised."""
        return self.best.error

    @property
    def native(self) -> object:
        """Value that the framework returned in the best attempt."""
        return self.result.native if self.result is not None else None

    @property
    def advice(self) -> str:
        """What to try next, in a sentence; empty where nothing failed or nothing specific can be said."""
        from tracer_hooks.report import suggestion

        found = self.attribution
        return "" if found is None else suggestion(found, self.trajectory)

    def wait(self, timeout: float | None = None) -> TeamRun:
        """Wait until a diagnosis in the background is done.

        Args:
            timeout: Seconds to wait at most; default without end.

        Raises:
            TimeoutError: It took longer.
        """
        if not self._done.wait(timeout):
            raise TimeoutError(f"the diagnosis of run {self.session_id!r} was not done within {timeout:g} s")
        return self

    async def diagnosed(self) -> TeamRun:
        """Wait, in asynchronous code, until a diagnosis in the background is done."""
        await self._done.wait_async()
        return self

    def _expect_diagnosis(self) -> None:
        """Wait for a diagnosis that is under way; once, if it takes long."""
        if not self._is_under_way:
            return
        seconds = _LOOP_PATIENCE_S if loop_is_running() else _PATIENCE_S
        if not self._done.wait(seconds):
            said = "the diagnosis of the run of %r is on its way, and not there after %g s; await run.diagnosed()"
            logger.warning(said, self.team, seconds)
        self._is_under_way = False

    def report(self, path: str | Path = "report.html") -> Path:
        """Write the run as one self-contained HTML page and give its path."""
        from tracer_hooks.report import write_html

        self._expect_diagnosis()
        target = Path(path)
        write_html(target, report_run(self))
        return target

    def __str__(self) -> str:
        if not self.attempts:
            return f"{self.team}: the run goes on"
        reason = f" ({self.gate.needed(self.outcome_reason)})" if self.outcome_reason else ""
        tried = f" after {len(self.attempts)} attempts" if len(self.attempts) > 1 else ""
        found = self.attribution or "\n".join(each.text for each in self.findings)
        return f"{self.team}: {self.outcome}{tried}{reason}" + (f"\n{found}" if found else "")

    def _repr_html_(self) -> str:
        if not self.attempts:
            return f"<p>{escape(self.team)}: the run goes on</p>"
        reason = f" ({escape(self.gate.needed(self.outcome_reason))})" if self.outcome_reason else ""
        head = f"<p>{escape(self.team)}: {self.outcome}{reason}</p>"
        if self.attribution is not None:
            return head + self.attribution._repr_html_()
        return head + "".join(f"<p>{escape(each.text)}</p>" for each in self.findings)


def kept_repair(run: TeamRun) -> RepairLog | None:
    """Return the repair log as it may be written: repairs tell agents what went wrong in words of the run."""
    if run.repair is None or run.gate.allows_all:
        return run.repair
    gate = run.gate
    trials = tuple(
        trial.model_copy(
            update={
                "repair": trial.repair.model_copy(
                    update={"text": gate.needed(trial.repair.text), "reason": gate.needed(trial.repair.reason)}
                ),
                "note": gate.name(trial.note),
            }
        )
        for trial in run.repair.trials
    )
    return run.repair.model_copy(update={"trials": trials, "stopped": gate.name(run.repair.stopped)})


def report_run(run: TeamRun) -> ReportRun:
    """``run`` in the shape that reports are made from."""
    from tracer_hooks.report import ReportAttempt, ReportRun, stored_forks

    attempts = [
        ReportAttempt(
            number=attempt.number,
            trajectory=attempt.trajectory,
            attribution=attempt.attribution,
            prompts=attempt.prompts.words if attempt.prompts is not None else "",
        )
        for attempt in run.attempts
    ]
    framework = run.attempts[0].trajectory.framework if run.attempts else ""
    sources = [run.code.source(attempt.trajectory) for attempt in run.attempts]
    return ReportRun(
        team=run.team,
        framework=framework,
        task=run.gate.text(run.task),
        attempts=attempts,
        repair=kept_repair(run),
        places={name: place for source in sources if source is not None for name, place in source.places.items()},
        built_by=run.code.built_by,
        checked_by=run.code.checked_by,
        forks=stored_forks(_forks(run), {attempt.trajectory.run_id: attempt.number for attempt in run.attempts}),
        is_stored=run.store is not None,
        has_tape=run.gate.allows_all and run.last.record is not None,
    )


def _forks(run: TeamRun) -> tuple[RunSummary, ...]:
    """What was forked from its attempts so far; nothing where the store cannot say."""
    if run.store is None:
        return ()
    from tracer_hooks.store import RunStore

    try:
        with RunStore(run.store, read_only=True) as store:
            if not store.exists():  # the run itself may be on its way there
                return ()
            return store.forks_of(*(attempt.trajectory.run_id for attempt in run.attempts))
    except StoreError as error:
        logger.warning("tracer-hooks leaves the forks of a run out of its page: %s", error)
        return ()


# --- the newest calls of a team: of the calling task or thread, and of all --------------------------------------------
_MAX_AROUND = 8
"""Tasks may start tasks without end; only the nearest ones hear of a run."""


class _Scope:
    """A task or thread that made a run, and those that started it.

    The context variable holds this instead of the runs: contexts live as long as their threads, and a run, by way of
    its exception's frames, may hold on to the whole team.
    """

    __slots__ = ("__weakref__", "around", "owner")

    def __init__(self, owner: object, around: tuple[weakref.ref[_Scope], ...]) -> None:
        self.owner = weakref.ref(owner)
        self.around = around

    def chain(self) -> Iterator[_Scope]:
        """This scope, then those around it."""
        yield self
        for reference in self.around:
            scope = reference()
            if scope is not None:
                yield scope


# One variable for all teams: contexts never let go of a variable.
_SCOPE: ContextVar[_Scope | None] = ContextVar("tracer_hooks_scope", default=None)


def own_scope() -> Any:
    """The scope of the calling task or thread, made where there is none, so that runs of tasks below are seen in it."""
    owner, scope = _caller(), _SCOPE.get()
    if scope is None or scope.owner() is not owner:
        around = () if scope is None else (weakref.ref(scope), *scope.around)
        scope = _Scope(owner, around[:_MAX_AROUND])
        _SCOPE.set(scope)
    return scope


class LatestRuns:
    """Knows for every task and thread which run of one team is the newest that it, or a task that it started, made."""

    def __init__(self) -> None:
        self._lock = process_lock()
        self._newest: TeamRun | None = None
        self._by_scope: weakref.WeakKeyDictionary[_Scope, TeamRun] = weakref.WeakKeyDictionary()
        self._by_thread: weakref.WeakKeyDictionary[threading.Thread, TeamRun] = weakref.WeakKeyDictionary()

    def add(self, run: TeamRun) -> None:
        """Note a run that begins in the calling task or thread."""
        scope: _Scope = own_scope()
        with self._lock:
            self._newest = run
            self._by_thread[threading.current_thread()] = run
            for around in scope.chain():
                self._by_scope[around] = run

    @property
    def newest(self) -> TeamRun | None:
        """The newest run of the calling task or thread, else the newest run."""
        scope = _SCOPE.get()
        with self._lock:
            if scope is not None and (mine := self._by_scope.get(scope)) is not None:
                return mine
            return self._by_thread.get(threading.current_thread()) or self._newest


def _caller() -> object:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop is running here
        task = None
    return task if task is not None else threading.current_thread()
