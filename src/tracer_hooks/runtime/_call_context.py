"""Work for one call: attempts are opened, closed, judged and diagnosed, and what is left of them is kept."""

from __future__ import annotations

import functools
import threading
import time
import uuid
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tracer_hooks._background import in_daemon_thread
from tracer_hooks._guard import guard, logger, warn_once
from tracer_hooks.frameworks import Interventions, RunResult, TeamCall
from tracer_hooks.frameworks.plain import PlainTeam
from tracer_hooks.repair import RetryBudget
from tracer_hooks.replay import retimed, tape_of
from tracer_hooks.runtime._archive import Archive, diagnose_later, save_later
from tracer_hooks.runtime._conclude import diagnose_attempt, tell, tell_of
from tracer_hooks.runtime._judging import (
    JudgedRunOutcome,
    Ruling,
    Undecided,
    ask_check,
    ask_check_async,
    compare_with_expected,
    expected_answer,
    judge_result,
    loop_is_running,
    run_awaitable,
)
from tracer_hooks.runtime._options import tags_here
from tracer_hooks.runtime._prompts import AcceptedPrompts, CallPrompts, prompt_attributes
from tracer_hooks.runtime._recovery import KeptSteps, Recovery
from tracer_hooks.runtime._rerunner import Judge, Prepared, TeamSource, rerunner_of_call, weakly
from tracer_hooks.runtime._store_writer import Part
from tracer_hooks.runtime._team_run import Attempt, TeamRun
from tracer_hooks.schema import RunKind, RunOutcome, Trajectory, to_text
from tracer_hooks.telemetry import (
    Content,
    RunInvocation,
    RunStart,
    current_run,
    unrecorded,
)

if TYPE_CHECKING:
    from tracer_hooks.runtime._team_host import TeamHost

_UNASKED = Undecided("the check could not be asked")
_BUDGETS: weakref.WeakKeyDictionary[RunInvocation, RetryBudget] = weakref.WeakKeyDictionary()
"""By the run that goes on in a call: hooked teams in it spend from the same budget."""


@dataclass(eq=False)
class OpenAttempt:
    """An attempt that is going on."""

    run: RunInvocation
    prepared: Prepared
    began: float = field(default_factory=time.monotonic)


@dataclass(frozen=True)
class CallOutcome:
    """End of the team's own call."""

    value: Any = None
    """What it returned."""
    result: RunResult | None = None
    """What came out of it; None when it raised."""
    error: BaseException | None = None
    """What it raised, or what broke it off."""


class CallContext:
    """The work of one call, piece by piece; in which order the pieces are done is the :class:`AttemptLoop`'s business.

    Every piece sees to it that a fault of ours in it costs one log line, so that the loop goes on.
    """

    def __init__(self, call: TeamCall, host: TeamHost, source: TeamSource) -> None:
        self.call = call
        self.adapter = host.adapter
        self.options = host.options
        self._host = host
        self._source = source
        self._is_tentative = host.is_tentative
        self._emitter = self.options.emitter
        self._archive = Archive(self.options.config.store, self.options.config.retention)
        self._at_work = threading.Lock()
        expected = expected_answer(self.options.expected, call.task)
        self._reference = expected if isinstance(expected, str) else None
        self._undecided = expected if isinstance(expected, Undecided) else None
        self._gate = self._emitter.capture.record_policy
        around = current_run()
        self._budget = RetryBudget(self.options.policy, outer=_BUDGETS.get(around) if around is not None else None)
        # A function in plain Python runs as a whole each time: it is as new as a team from its factory.
        is_new = source.factory is not None or isinstance(call.team, PlainTeam)
        self.recovery = Recovery(self.options, self._budget, self.adapter, self._reference, is_built_anew=is_new)
        info = self.adapter.describe(call.team)
        self._info = replace(info, name=self.options.name or info.name)
        self._prompts = self._drawn(host.prompts)
        judge = Judge(self.options.check, self.options.expected)
        bare, team, emitter = replace(call, team=None), weakly(call.team), self.options.emitter
        again = functools.partial(rerunner_of_call, bare, team, self.adapter, source, judge, emitter)
        again.keywords["name"] = self.options.name
        if self._prompts is not None:
            prompts = self._prompts
            again.keywords.update(built_with=lambda: prompts.built_texts, prompts=prompts.again)
        self.run = TeamRun(
            session_id=uuid.uuid4().hex,
            team=self._info.name,
            task=call.task,
            tags=tags_here(self.options.tags),
            gate=self._gate,
            again=again,
        )

    # --- one attempt -----------------------------------------------------------------------------------------------
    def open(self) -> OpenAttempt:
        """Begin the first attempt, on the user's own team; see :meth:`_built_with_prompts` for the exception."""
        return self._built_with_prompts() or self._open(Prepared(self.call.team))

    def ask(self, opened: OpenAttempt, result: RunResult) -> Ruling | None:
        """Ask whether the run did what it should, in synchronous code; None where nothing says so."""
        with guard("ask the check"):
            check = self.options.check
            if check is None or result.interrupted:
                return self._by_expected_answer(result)
            # Inside the root span: what the check traces belongs to the run, but what it calls is no step of it.
            with opened.run.active(), unrecorded():
                return ask_check(check, result, self.call.task)
        return _UNASKED

    async def ask_async(self, opened: OpenAttempt, result: RunResult) -> Ruling | None:
        """The same in asynchronous code."""
        with guard("ask the check"):
            check = self.options.check
            if check is None or result.interrupted:
                return self._by_expected_answer(result)
            with opened.run.active(), unrecorded():
                return await ask_check_async(check, result, self.call.task)
        return _UNASKED

    def judge(self, result: RunResult, ruling: Ruling | None) -> JudgedRunOutcome:
        """The outcome that follows."""
        with guard("judge the run"):
            return judge_result(result, ruling)
        return JudgedRunOutcome(outcome=RunOutcome.UNKNOWN, reason="it could not be judged")

    def is_run(self, opened: OpenAttempt, ended: CallOutcome) -> bool:
        """Tell whether the call was a run: not when it built a team, or raised before anything was seen in it."""
        if not self._is_tentative:
            return True
        if opened.run.is_begun if ended.error is not None else not self._host.is_no_result(ended.value):
            self._is_tentative = False
            self._host.begins(self.run)
        return not self._is_tentative

    def close(self, opened: OpenAttempt, judged: JudgedRunOutcome, ended: CallOutcome) -> Attempt | None:
        """End an attempt, and learn from it where it was a trial; None when it was no run."""
        if not self.is_run(opened, ended):
            self._discard(opened)
            return None
        result, error = ended.result, ended.error
        run, prompts = opened.run, None
        with guard("close the run"):
            run.set_outcome(judged.outcome, judged.reason, by_check=judged.verdict is not None)
            for key, value in self.recovery.attributes.items():
                run.set(key, value)
            prompts = self._prompts.used(run) if self._prompts is not None else None
            for key, value in prompt_attributes(prompts).items():
                run.set(key, value)
            stop_reason = result.stop_reason if result is not None else None
            run.finish(output=result.text if result is not None else None, error=error, stop_reason=stop_reason)
        opened.prepared.patches.undo()
        attempt = Attempt(
            number=len(self.run.attempts) + 1,
            outcome=judged.outcome,
            outcome_reason=judged.reason,
            # Of a function, not a method: the attempt must not keep the context, and with it the team, alive.
            assemble=functools.partial(_assembled, run, judged, self._kept_reference, self.recovery.kept),
            record=functools.partial(tape_of, run),
            result=result,
            error=error,
            rank=judged.rank,
            verdict=judged.verdict,
            prompts=prompts,
            is_exported=run.is_exported,
        )
        self.run.attempts.append(attempt)
        if attempt.number > 1:
            self._budget.record()  # first, whatever goes wrong below: it ends the retries
            with guard("learn from a trial"):
                self.recovery.settle(attempt, time.monotonic() - opened.began, self.run)
        tell("on_attempt", self.options.on_attempt, attempt)
        return attempt

    def _discard(self, opened: OpenAttempt) -> None:
        """Forget an attempt that turned out to be no run."""
        with guard("forget what was no run"):
            opened.run.discard()
        opened.prepared.patches.undo()
        self.run._done.set()

    # --- after an attempt ------------------------------------------------------------------------------------------
    def wants_retry(self, attempt: Attempt) -> bool:
        """Tell whether the attempt failed and the limits allow another one."""
        if attempt.outcome is not RunOutcome.FAILED or self.options.policy.max_retries == 0:
            return False
        refusal = "the team was unhooked meanwhile" if self._host.is_off else self._budget.refusal
        if refusal is not None:
            self.recovery.stop(refusal, self.run)
        return refusal is None

    def leave_failed(self, attempt: Attempt) -> None:
        """Say why a failed stream is not tried again: the caller has seen its items already."""
        if attempt.outcome is RunOutcome.FAILED and self.options.policy.max_retries > 0:
            self.recovery.stop(
                "a failed stream is diagnosed only; retry_streams=True goes on with another attempt", self.run
            )

    def prepare_retry(self, attempt: Attempt) -> bool:
        """Diagnose a failed attempt, and choose what its retry is to try; whether there is to be one."""
        with self._at_work:
            self._diagnose(attempt)
            return self.recovery.propose(attempt, self.run)

    def reopen(self, before: OpenAttempt) -> OpenAttempt | None:
        """Begin the next attempt, with the repair that was chosen; None when there cannot be one."""
        try:
            run_awaitable(self.adapter.reset(before.prepared.team))
            return self._open_anew(self._source.again(self.adapter, self.call.team, self._texts))
        except Exception as error:
            self._no_retry(error)
            return None

    async def reopen_async(self, before: OpenAttempt) -> OpenAttempt | None:
        """The same in asynchronous code."""
        try:
            await self.adapter.reset(before.prepared.team)
            return self._open_anew(await self._source.again_async(self.adapter, self.call.team, self._texts))
        except Exception as error:
            self._no_retry(error)
            return None

    # --- after the attempts ----------------------------------------------------------------------------------------
    @property
    def leaves_work(self) -> bool:
        """Tell whether anything is left to do once the last attempt is closed."""
        return self.run.last.outcome is RunOutcome.FAILED or self.options.config.store is not None

    def conclude_now(self) -> None:
        """Diagnose and store the call before it returns, unless the background was asked for."""
        if self.leaves_work and self.options.diagnose == "background":
            self._conclude_in_background()
        else:
            self.conclude()

    async def conclude_later(self) -> None:
        """The same in the background, unless the call is to wait for it: saving, too, is kept off the event loop."""
        if not self.leaves_work:  # no need to wake another thread
            self.finish()
        elif self.options.diagnose == "inline":
            await in_daemon_thread(self.conclude, "tracer-hooks-diagnose")
        else:
            self._conclude_in_background()

    def _conclude_in_background(self) -> None:
        self.later(self.conclude, diagnoses=self.run.last.outcome is RunOutcome.FAILED)

    def conclude(self) -> None:
        """Diagnose the last attempt, and :meth:`finish`."""
        try:
            with self._at_work:
                self._diagnose(self.run.last)
        finally:
            self.finish()

    def finish(self) -> None:
        """Store the attempts, mark the diagnosis as done, and tell the user's callbacks; once.

        A diagnosis that goes on in another thread, since the call was broken off while it was made, is waited for.
        """
        with self._at_work:
            if self.run._done.is_set():
                return
            try:
                self._archive.save(self.run, self._parts())
            finally:
                self.run._done.set()
        tell_of(self.run, self.options)

    def finish_off_the_loop(self) -> None:
        """:meth:`finish`: in the background where an event loop is running, or where a diagnosis goes on."""
        is_diagnosing = self._at_work.locked()
        if is_diagnosing or loop_is_running():
            self.later(self.finish, diagnoses=is_diagnosing)
        else:
            self.finish()

    def later(self, work: Callable[[], None], *, diagnoses: bool) -> None:
        """Do ``work`` in the background."""
        self.run._is_under_way = diagnoses
        # Where nobody waits for the diagnosis any longer the attempts are stored as they are; it may still go on.
        (diagnose_later if diagnoses else save_later)(work, functools.partial(self._archive.save, self.run))

    # --- details ---------------------------------------------------------------------------------------------------
    def _diagnose(self, attempt: Attempt) -> None:
        diagnose_attempt(attempt, self.options, self._kept_reference)

    @property
    def _kept_reference(self) -> str | None:
        return self._gate.optional(self._reference)

    def _drawn(self, prompts: AcceptedPrompts | None) -> CallPrompts | None:
        """The accepted prompts of this call; None without any."""
        if prompts is not None:
            with guard("look up the accepted prompts"):
                return prompts.draw(self._info, getattr(self.call.team, "declared", {}))
        return None

    def _built_with_prompts(self) -> OpenAttempt | None:
        """The first attempt on a team in plain Python that its factory builds with the accepted prompts.

        Its functions may hold their instructions themselves, so that nothing could be told them in a request. A team
        of a framework is an object of the user's, which is asked about its run afterwards: it is not replaced.
        """
        prompts, team = self._prompts, self.call.team
        texts = prompts.texts if prompts is not None and isinstance(team, PlainTeam) else {}
        if prompts is None or not texts or not self._source.takes_prompts_for(texts):
            return None
        try:
            prepared = self._source.again(self.adapter, team, texts)
        except Exception as error:  # the user's factory
            what, said = type(error).__name__, to_text(error)
            message = "tracer-hooks cannot use accepted prompts: the factory raised %s: %s"
            warn_once(f"built {what}: {said}", message, what, Content(said))
            return None
        prompts.build_with()
        return self._open_anew(prepared)

    @property
    def _texts(self) -> dict[str, str]:
        """Texts that a further attempt's team is built with: the accepted ones, and over them the repair's."""
        built = self._prompts.built_texts if self._prompts is not None else {}
        return {**built, **self.recovery.prompts}

    def _parts(self) -> list[Part]:
        """What is kept beside the runs: how the first attempt, which nothing repaired, counts for its prompts."""
        parts: list[Part] = []
        if not self.run.attempts:
            return parts
        first, options = self.run.attempts[0], self.options
        is_judged = first.verdict is not None or (first.error is not None and options.is_judged)
        if is_judged and self._prompts is not None:
            with guard("count the run for its prompts"):
                parts += self._prompts.counted(first)
        return parts

    def _open(self, prepared: Prepared) -> OpenAttempt:
        try:
            return OpenAttempt(self._begin(prepared), prepared)
        except BaseException:
            prepared.patches.undo()
            raise

    def _begin(self, prepared: Prepared) -> RunInvocation:
        number = len(self.run.attempts) + 1
        # Instructions that were written into the team, or a team that was built anew, show in its description.
        info = self._info if number == 1 else self.adapter.describe(prepared.team)
        start = RunStart(
            team=self.run.team,
            task=self.call.task,
            tags=self.run.tags,
            framework=self.adapter.name,
            framework_version=self.adapter.framework_version(),
            kind=RunKind.LIVE if number == 1 else RunKind.RETRY,
            attempt=number,
            agents=info.agents,
            shows_span=info.shows_span,
            tentative=self._is_tentative and number == 1,
        )
        run = self._emitter.start_run(start, subject=prepared.team)
        _BUDGETS[run] = self._budget
        # The user's own comes first: what it changes stands in the record that kept steps are found by.
        told = self._prompts.begin(self.recovery.prompts) if self._prompts is not None else None
        parts = [part for part in (self.options.intervention, told, prepared.intervention) if part is not None]
        parts += self.recovery.interventions(self.call.task)
        run.intervention = Interventions(parts) if parts else None
        return run

    def _open_anew(self, prepared: Prepared) -> OpenAttempt:
        if prepared.is_new:
            prepared.patches.add(self.adapter.hook(prepared.team, self._host))
        return self._open(prepared)

    def _no_retry(self, error: Exception) -> None:
        """The user's factory, or we, could not make the team ready again: the call ends with what it has."""
        said = f"{type(error).__name__}: {self._gate.needed(to_text(error))}"
        self.recovery.stop(f"the team could not be made ready again ({said})", self.run)
        logger.warning(
            "tracer-hooks does not retry: the team could not be made ready again (%s: %s)", type(error).__name__, error
        )

    def _by_expected_answer(self, result: RunResult) -> Ruling | None:
        if self.options.check is not None:
            return None
        return compare_with_expected(self._reference, result.text) if self._reference is not None else self._undecided


def _assembled(
    run: RunInvocation, judged: JudgedRunOutcome, reference: str | None, kept: KeptSteps | None
) -> Trajectory:
    with guard("assemble the trajectory"):
        made = run.trajectory().model_copy(update={"reference": reference})
        return made if kept is None else retimed(made, kept.trajectory, kept.until)
    return Trajectory(
        run_id=run.run_id,
        team=run.start.team,
        framework=run.start.framework,
        task=run.capture.record_policy.text(run.start.task),
        outcome=judged.outcome,
        outcome_reason=run.capture.record_policy.optional(judged.reason),
    )
