"""One call of a hooked team, from its first attempt to the last: judged, diagnosed, rewritten, retried."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass

from tracer_hooks._api._archive import Archive
from tracer_hooks._api._options import HookOptions
from tracer_hooks._api._outcome import Judged, judge_error, judge_result
from tracer_hooks._api._source import Prepared, TeamSource
from tracer_hooks._api._team_run import Attempt, TeamRun
from tracer_hooks._api._verdict import Verdict, ask_check, ask_check_async, compare, expected_answer, run_awaitable
from tracer_hooks._guard import guard, logger
from tracer_hooks.adapters import Adapter, Interventions, RunHost, RunResult, TeamCall
from tracer_hooks.attribution import get_attributor
from tracer_hooks.feedback import PromptRewrite
from tracer_hooks.schema import Attribution, RunKind, RunOutcome, Trajectory
from tracer_hooks.telemetry import Emitter, RunInvocation, RunStart, emit_diagnosis, suppressed


@dataclass
class Opened:
    """An attempt that is going on."""

    run: RunInvocation
    prepared: Prepared


class Session:
    """Conducts one call. The synchronous and asynchronous ways share everything but the call itself.

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
        self._adapter = adapter
        self._source = source
        self._options = options
        self._host = host
        self._emitter = Emitter(tracer_provider=options.tracer_provider, capture=options.config.capture)
        self._archive = Archive(options.config.store)
        self._reference = _safe_reference(options, call.task)
        self._trial: PromptRewrite | None = None
        self._tried: set[tuple[str, str]] = set()
        self._started = time.monotonic()
        self.run = TeamRun(session_id=uuid.uuid4().hex, team=adapter.describe(call.team).name, task=call.task)

    # --- one attempt -----------------------------------------------------------------------------------------------
    def open(self, trial: PromptRewrite | None = None) -> Opened:
        """Begin the first attempt, on the user's own team."""
        self._trial = trial
        prompts = {trial.agent: trial.after} if trial is not None else {}
        return self._open(self._source.first(self._adapter, self.call.team, prompts))

    def reopen(self, attempt: Attempt, before: Opened) -> Opened | None:
        """Begin the next attempt, with the rewrite that the last one led to; None when there cannot be one."""
        try:
            run_awaitable(self._adapter.reset(before.prepared.team))
            return self._reopen()
        except Exception as error:
            self._no_retry(attempt, error)
            return None

    async def reopen_async(self, attempt: Attempt, before: Opened) -> Opened | None:
        """The same in asynchronous code."""
        try:
            await self._adapter.reset(before.prepared.team)
            return self._reopen()
        except Exception as error:
            self._no_retry(attempt, error)
            return None

    def _reopen(self) -> Opened:
        prompts = {self._trial.agent: self._trial.after} if self._trial is not None else {}
        prepared = self._source.again(self._adapter, self.call.team, prompts)
        if prepared.is_new:
            prepared.patches.add(self._adapter.hook(prepared.team, self._host))
        return self._open(prepared)

    def _no_retry(self, attempt: Attempt, error: Exception) -> None:
        """The user's factory, or we, could not make the team ready again: the call ends with what it has."""
        attempt.decision = f"no retry: the team could not be made ready again ({type(error).__name__}: {error})"
        logger.warning("tracer-hooks does not retry: the team could not be made ready again (%r)", error)

    def judge(self, opened: Opened, result: RunResult) -> Judged:
        """Judge a result inside the run, in synchronous code."""
        with opened.run.active():
            verdict = None if result.interrupted else self._verdict(result)
            if verdict is None and self._options.check is not None and not result.interrupted:
                verdict = ask_check(self._options.check, result, self.call.task)
        return judge_result(result, verdict)

    async def judge_async(self, opened: Opened, result: RunResult) -> Judged:
        """Judge a result inside the run, in asynchronous code."""
        with opened.run.active():
            verdict = None if result.interrupted else self._verdict(result)
            if verdict is None and self._options.check is not None and not result.interrupted:
                verdict = await ask_check_async(self._options.check, result, self.call.task)
        return judge_result(result, verdict)

    def close(
        self, opened: Opened, judged: Judged, *, result: RunResult | None = None, error: BaseException | None = None
    ) -> Attempt:
        """End an attempt, and decide about the rewrite it was the trial of."""
        run = opened.run
        run.set_outcome(judged.outcome, judged.reason)
        stop_reason = result.stop_reason if result is not None else None
        run.finish(output=result.text if result is not None else None, error=error, stop_reason=stop_reason)
        opened.prepared.patches.undo()
        trajectory = self._trajectory(run, judged)
        number = len(self.run.attempts) + 1
        attempt = Attempt(number=number, trajectory=trajectory, result=result, error=error, rank=judged.rank)
        self.run.attempts.append(attempt)
        return attempt

    def settle(self, attempt: Attempt) -> None:
        """Keep or drop the rewrite that ``attempt`` tried out."""
        if self._trial is None or attempt.outcome is RunOutcome.UNKNOWN:
            return
        decision = self._options.acceptance.accept(RunOutcome.FAILED, attempt.outcome)
        if decision.kept:
            self._source.kept[self._trial.agent] = self._trial.after
        if len(self.run.attempts) > 1:
            before = self.run.attempts[-2]
            before.kept, before.decision = decision.kept, decision.reason
        self._trial = None

    # --- after an attempt ------------------------------------------------------------------------------------------
    def diagnose(self, attempt: Attempt) -> None:
        """Diagnose a failed attempt; a failure of ours leaves it without a diagnosis."""
        if attempt.outcome is not RunOutcome.FAILED or self._options.diagnose in (False, "off"):
            return
        with guard("diagnose the run"), suppressed():
            attributor = get_attributor(self._options.attributor)
            attempt.attribution = attributor.attribute(attempt.trajectory, reference=self._reference)
            emit_diagnosis(self._emitter, attempt.trajectory, attempt.attribution)

    def propose(self, attempt: Attempt) -> PromptRewrite | None:
        """A rewrite for the next attempt: for the blamed agent, else for the next candidate whose prompt is known."""
        attribution = attempt.attribution
        if attribution is None or attribution.abstained:
            attempt.decision = "no agent to blame: the retry is a plain one"
            return None
        with guard("rewrite the prompt"), suppressed():
            for agent, step in _suspects(attribution):
                rewrite = self._rewrite(attempt, attribution.model_copy(update={"agent": agent, "step": step}))
                if rewrite is not None and (rewrite.agent, rewrite.after) not in self._tried:
                    self._tried.add((rewrite.agent, rewrite.after))
                    attempt.rewrite = self._trial = rewrite
                    return rewrite
        attempt.decision = "no new rewrite of a known prompt: the retry is a plain one"
        return None

    def wants_retry(self, attempt: Attempt) -> bool:
        """Whether the call failed and the limits allow another attempt."""
        policy = self._options.policy
        if attempt.outcome is not RunOutcome.FAILED or len(self.run.attempts) > policy.max_retries:
            return False
        spent = sum(
            (a.trajectory.usage.input_tokens + a.trajectory.usage.output_tokens for a in self.run.attempts), start=0
        )
        if policy.max_tokens is not None and spent >= policy.max_tokens:
            attempt.decision = f"no retry: {spent} tokens were spent, the limit is {policy.max_tokens}"
            return False
        elapsed = time.monotonic() - self._started
        if policy.max_seconds is not None and elapsed >= policy.max_seconds:
            attempt.decision = f"no retry: {elapsed:.1f} s have passed, the limit is {policy.max_seconds:g}"
            return False
        return True

    def finish(self) -> None:
        """Store the attempts, tell the user's callback about a failure, and mark the diagnosis as done."""
        self._archive.save(self.run)
        self.run._done.set()
        callback = self._options.on_failure
        if callback is not None and self.run.attempts and self.run.outcome is RunOutcome.FAILED:
            try:
                callback(self.run)
            except Exception as error:  # the user's own code; the run has its result and must keep it
                self._archive.log_callback(error)

    def failed_call(self, opened: Opened, error: BaseException) -> Attempt:
        """End an attempt that raised."""
        attempt = self.close(opened, judge_error(error), error=error)
        self.settle(attempt)
        return attempt

    def _open(self, prepared: Prepared) -> Opened:
        number = len(self.run.attempts) + 1
        info = self._adapter.describe(prepared.team)
        start = RunStart(
            team=info.name,
            task=self.call.task,
            framework=self._adapter.name,
            framework_version=self._adapter.framework_version(),
            kind=RunKind.LIVE if number == 1 else RunKind.RETRY,
            attempt=number,
            agents=info.agents,
        )
        run = self._emitter.start_run(start, subject=prepared.team)
        parts = [part for part in (prepared.intervention, self._options.intervention) if part is not None]
        run.intervention = Interventions(parts) if parts else None
        return Opened(run, prepared)

    def _trajectory(self, run: RunInvocation, judged: Judged) -> Trajectory:
        with guard("assemble the trajectory"):
            return run.trajectory().model_copy(update={"reference": self._reference})
        return Trajectory(
            run_id=run.run_id,
            team=self.run.team,
            framework=self._adapter.name,
            task=self.call.task,
            outcome=judged.outcome,
            outcome_reason=judged.reason,
        )

    def _verdict(self, result: RunResult) -> Verdict | None:
        """The verdict by the expected answer, where that decides."""
        if self._options.check is not None or self._reference is None:
            return None
        return compare(self._reference, result.text)

    def _rewrite(self, attempt: Attempt, attribution: Attribution) -> PromptRewrite | None:
        spec = next((spec for spec in attempt.trajectory.agents if spec.name == attribution.agent), None)
        if spec is None or spec.instructions is None:
            return None
        return self._options.rewriter.rewrite(attempt.trajectory, attribution, spec.instructions)


def _suspects(attribution: Attribution) -> list[tuple[str, int | None]]:
    suspects: dict[str, int | None] = {} if attribution.agent is None else {attribution.agent: attribution.step}
    for candidate in attribution.candidates:
        suspects.setdefault(candidate.agent, candidate.step)
    return list(suspects.items())


def _safe_reference(options: HookOptions, task: str) -> str | None:
    with guard("look up the expected answer"):
        return expected_answer(options.expected, task)
    return None
