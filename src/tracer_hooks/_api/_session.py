"""One call of a hooked team, from its first attempt to the last: judged, diagnosed, rewritten, retried."""

from __future__ import annotations

import asyncio
import functools
import uuid
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from tracer_hooks._api._archive import Archive
from tracer_hooks._api._awaiting import run_awaitable
from tracer_hooks._api._background import submit
from tracer_hooks._api._options import HookOptions
from tracer_hooks._api._outcome import Judged, judge_error, judge_result
from tracer_hooks._api._prompt_memory import Trial
from tracer_hooks._api._rerunner import Judge, rerunner_of_call, weak_call
from tracer_hooks._api._source import Prepared, TeamSource
from tracer_hooks._api._team_run import Attempt, TeamRun
from tracer_hooks._api._verdict import ask_check, ask_check_async, compare, expected_answer
from tracer_hooks._guard import guard, logger
from tracer_hooks.adapters import Adapter, Interventions, RunHost, RunResult, TeamCall, Verdict
from tracer_hooks.feedback import PromptRewrite, RetryBudget
from tracer_hooks.replay import tape_of
from tracer_hooks.schema import Attribution, RunKind, RunOutcome, Trajectory
from tracer_hooks.telemetry import RunInvocation, RunStart, emit_diagnosis, suppressed, unrecorded


@dataclass
class Opened:
    """An attempt that is going on."""

    run: RunInvocation
    prepared: Prepared


class Session:
    """Conducts one call. The synchronous and asynchronous ways share everything but the call itself.

    As a context manager it sees to it that the call is brought to its end when something breaks it off.

    Args:
        call: What the user called.
        adapter: The framework's adapter.
        source: Where teams come from.
        options: How to judge and repair.
        host: Who hooks teams that are built for a retry.
    """

    def __init__(
        self, call: TeamCall, adapter: Adapter, source: TeamSource, options: HookOptions, host: RunHost
    ) -> None:
        self.call = call
        self.returned: Any = None
        self._adapter = adapter
        self._source = source
        self._options = options
        self._host = host
        self._emitter = options.emitter
        self._archive = Archive(options.config.store)
        self._reference = _safe_reference(options, call.task)
        self._trial: Trial | None = None
        self._tried: set[tuple[str, str]] = set()
        self._originals: dict[str, str] = {}
        self._budget = RetryBudget(options.policy)
        self._info = adapter.describe(call.team)
        judge = Judge(options.check, options.expected)
        again = functools.partial(rerunner_of_call, weak_call(call), adapter, source, judge, options.emitter)
        self.run = TeamRun(session_id=uuid.uuid4().hex, team=self._info.name, task=call.task, again=again)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.finish_off_the_loop()

    # --- one attempt -----------------------------------------------------------------------------------------------
    def open(self) -> Opened:
        """Begin the first attempt, on the user's own team."""
        self._trial = self._source.memory.take()
        trial = self._trial.prompts if self._trial is not None else {}
        return self._open(self._source.first(self._adapter, self.call.team, trial))

    def judge(self, opened: Opened, result: RunResult) -> Judged:
        """Judge a result inside the run, in synchronous code."""
        check = self._options.check
        if check is None or result.interrupted:
            return judge_result(result, self._by_expected_answer(result))
        # Inside the root span, so that what the check traces belongs to the run; but what it calls is no step of it.
        with opened.run.active(), unrecorded():
            verdict = ask_check(check, result, self.call.task)
        return judge_result(result, verdict)

    async def judge_async(self, opened: Opened, result: RunResult) -> Judged:
        """Judge a result inside the run, in asynchronous code."""
        check = self._options.check
        if check is None or result.interrupted:
            return judge_result(result, self._by_expected_answer(result))
        with opened.run.active(), unrecorded():
            verdict = await ask_check_async(check, result, self.call.task)
        return judge_result(result, verdict)

    def close(
        self, opened: Opened, judged: Judged, *, result: RunResult | None = None, error: BaseException | None = None
    ) -> Attempt:
        """End an attempt, and decide about the rewrite it was the trial of."""
        run = opened.run
        with guard("close the run"):
            run.set_outcome(judged.outcome, judged.reason)
            stop_reason = result.stop_reason if result is not None else None
            run.finish(output=result.text if result is not None else None, error=error, stop_reason=stop_reason)
        opened.prepared.patches.undo()
        attempt = Attempt(
            number=len(self.run.attempts) + 1,
            outcome=judged.outcome,
            outcome_reason=judged.reason,
            # Of a function, not a method: the attempt must not keep the session, and with it the team, alive.
            assemble=functools.partial(_assembled, run, judged, self._reference),
            record=functools.partial(tape_of, run),
            result=result,
            error=error,
            rank=judged.rank,
        )
        if attempt.number > 1:
            usage = attempt.trajectory.usage
            self._budget.record(tokens=usage.input_tokens + usage.output_tokens)
        self.run.attempts.append(attempt)
        with guard("decide about the rewrite"):
            self._settle(attempt)
        return attempt

    def failed(self, opened: Opened, error: BaseException) -> Attempt:
        """End an attempt that raised, was cancelled or broken off."""
        return self.close(opened, judge_error(error), error=error)

    def discard(self, opened: Opened) -> None:
        """Forget an attempt that turned out not to be a run."""
        opened.run.discard()
        opened.prepared.patches.undo()
        self.run._done.set()

    # --- after an attempt ------------------------------------------------------------------------------------------
    def diagnose(self, attempt: Attempt) -> None:
        """Diagnose a failed attempt, once; a failure of ours leaves it without a diagnosis."""
        wanted = attempt.outcome is RunOutcome.FAILED and self._options.diagnose not in (False, "off")
        if not wanted or attempt.attribution is not None:
            return
        with guard("diagnose the run"), suppressed():
            attributor = self._options.diagnostician_for(attempt.trajectory)
            attribution = attributor.attribute(attempt.trajectory, reference=self._reference)
            attempt.attribution = attribution
            emit_diagnosis(self._emitter, attempt.trajectory, attribution)

    def propose(self, attempt: Attempt) -> None:
        """A rewrite for the next attempt: for the blamed agent, else for the next candidate whose prompt is known."""
        self._trial = None
        attribution = attempt.attribution
        if attribution is None or attribution.abstained:
            attempt.decision = "no agent to blame: the retry is a plain one"
            return
        with guard("rewrite the prompt"), suppressed():
            for agent, step in _suspects(attribution):
                rewrite = self._rewrite(attempt, attribution.model_copy(update={"agent": agent, "step": step}))
                if rewrite is not None and (rewrite.agent, rewrite.after) not in self._tried:
                    self._tried.add((rewrite.agent, rewrite.after))
                    attempt.rewrite = rewrite
                    self._trial = Trial(rewrite=rewrite, attempt=attempt, run=self.run)
                    return
        attempt.decision = "no new rewrite of a known prompt: the retry is a plain one"

    def propose_for_next_run(self, attempt: Attempt) -> None:
        """A rewrite that the next run tries: a stream is never replayed behind the caller's back."""
        if attempt.outcome is not RunOutcome.FAILED or self._options.policy.max_retries == 0:
            return
        self.propose(attempt)
        attempt.decision = "no rewrite for the next run"
        if self._trial is not None:
            attempt.decision = "tried in the next run"
            self._source.memory.wait(self._trial)
            self._trial = None

    def wants_retry(self, attempt: Attempt) -> bool:
        """Whether the attempt failed and the limits allow another one."""
        if attempt.outcome is not RunOutcome.FAILED or self._options.policy.max_retries == 0:
            return False
        refusal = self._budget.refusal
        if refusal is not None:
            attempt.decision = f"no retry: {refusal}"
        return refusal is None

    def reopen(self, attempt: Attempt, before: Opened) -> Opened | None:
        """Begin the next attempt, with the rewrite that the last one led to; None when there cannot be one."""
        try:
            run_awaitable(self._adapter.reset(before.prepared.team))
            trial = self._trial.prompts if self._trial is not None else {}
            return self._open_anew(self._source.again(self._adapter, self.call.team, trial))
        except Exception as error:
            self._no_retry(attempt, error)
            return None

    async def reopen_async(self, attempt: Attempt, before: Opened) -> Opened | None:
        """The same in asynchronous code."""
        try:
            await self._adapter.reset(before.prepared.team)
            trial = self._trial.prompts if self._trial is not None else {}
            return self._open_anew(await self._source.again_async(self._adapter, self.call.team, trial))
        except Exception as error:
            self._no_retry(attempt, error)
            return None

    def finish(self) -> None:
        """Store the attempts, mark the diagnosis as done, and tell the user's callback about a failure; once."""
        if self.run._done.is_set():
            return
        try:
            self._archive.save(self.run)
        finally:
            self.run._done.set()
        callback = self._options.on_failure
        if callback is not None and self.run.attempts and self.run.outcome is RunOutcome.FAILED:
            try:
                callback(self.run)
            except Exception as error:  # the user's own code; the run has its result and must keep it
                self._archive.log_callback(error)

    # --- details ---------------------------------------------------------------------------------------------------
    def finish_off_the_loop(self) -> None:
        """:meth:`finish`, which may wait for the run store's file: in the background where an event loop is running."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self.finish()
        else:
            submit(self.finish)

    def _open(self, prepared: Prepared) -> Opened:
        number = len(self.run.attempts) + 1
        # A rewrite that was written into the team, or a team that was built anew, shows in its description.
        info = self._info if number == 1 and self._trial is None else self._adapter.describe(prepared.team)
        start = RunStart(
            team=info.name,
            task=self.call.task,
            framework=self._adapter.name,
            framework_version=self._adapter.framework_version(),
            kind=RunKind.LIVE if number == 1 else RunKind.RETRY,
            attempt=number,
            agents=info.agents,
            shows_span=info.shows_span,
        )
        run = self._emitter.start_run(start, subject=prepared.team)
        parts = [part for part in (prepared.intervention, self._options.intervention) if part is not None]
        run.intervention = Interventions(parts) if parts else None
        return Opened(run, prepared)

    def _open_anew(self, prepared: Prepared) -> Opened:
        if prepared.is_new:
            prepared.patches.add(self._adapter.hook(prepared.team, self._host))
        return self._open(prepared)

    def _settle(self, attempt: Attempt) -> None:
        """Keep or drop the rewrite that ``attempt`` tried out."""
        trial, self._trial = self._trial, None
        if trial is None:
            return
        if attempt.outcome is RunOutcome.UNKNOWN and trial.run is not self.run:
            self._source.memory.wait(trial)  # this run shows nothing; the next one may
            return
        decision = self._options.acceptance.accept(RunOutcome.FAILED, attempt.outcome)
        if decision.kept:
            self._source.memory.keep(trial)
        trial.attempt.kept, trial.attempt.decision = decision.kept, decision.reason
        if trial.run is not self.run:
            self._archive.save(trial.run)

    def _no_retry(self, attempt: Attempt, error: Exception) -> None:
        """The user's factory, or we, could not make the team ready again: the call ends with what it has."""
        self._trial = None
        attempt.decision = f"no retry: the team could not be made ready again ({type(error).__name__}: {error})"
        logger.warning("tracer-hooks does not retry: the team could not be made ready again (%r)", error)

    def _by_expected_answer(self, result: RunResult) -> Verdict | None:
        if self._options.check is not None or self._reference is None:
            return None
        return compare(self._reference, result.text)

    def _rewrite(self, attempt: Attempt, attribution: Attribution) -> PromptRewrite | None:
        spec = next((spec for spec in attempt.trajectory.agents if spec.name == attribution.agent), None)
        if spec is None or spec.instructions is None:
            return None
        # A rewrite that was dropped is no ground for the next one.
        before = self._originals.setdefault(spec.name, spec.instructions)
        return self._options.rewriter.rewrite(attempt.trajectory, attribution, before)


def _suspects(attribution: Attribution) -> list[tuple[str, int | None]]:
    suspects: dict[str, int | None] = {} if attribution.agent is None else {attribution.agent: attribution.step}
    for candidate in attribution.candidates:
        suspects.setdefault(candidate.agent, candidate.step)
    return list(suspects.items())


def _safe_reference(options: HookOptions, task: str) -> str | None:
    with guard("look up the expected answer"):
        return expected_answer(options.expected, task)
    return None


def _assembled(run: RunInvocation, judged: Judged, reference: str | None) -> Trajectory:
    with guard("assemble the trajectory"):
        return run.trajectory().model_copy(update={"reference": reference})
    return Trajectory(
        run_id=run.run_id,
        team=run.start.team,
        framework=run.start.framework,
        task=run.start.task,
        outcome=judged.outcome,
        outcome_reason=judged.reason,
    )
