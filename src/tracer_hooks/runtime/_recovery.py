"""The recovery of one call: which repair each further attempt tries, and what came of it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import NamedTuple

from tracer_hooks import semconv
from tracer_hooks._guard import report, warn_once
from tracer_hooks.diagnosis import blames_environment
from tracer_hooks.errors import ReplayError
from tracer_hooks.frameworks import Adapter, Capability, Intervention
from tracer_hooks.repair import (
    EffectCounts,
    Failure,
    FixedRepair,
    PastTrial,
    Repair,
    RepairLog,
    RepairSearch,
    RepairTarget,
    RetryBudget,
    Secrets,
    feedback_of,
    leaks,
)
from tracer_hooks.replay import Resumption, Tape
from tracer_hooks.runtime._archive import Archive, repair_counts_part
from tracer_hooks.runtime._options import HookOptions
from tracer_hooks.runtime._store_writer import Part
from tracer_hooks.runtime._team_run import Attempt, TeamRun
from tracer_hooks.schema import DecisiveStep, RunOutcome, Trajectory, Usage
from tracer_hooks.store import fingerprint
from tracer_hooks.telemetry import suppressed

PLAIN_RETRY = Repair(strategy="from_scratch", reason="the team tries again")
_RANDOM = random.SystemRandom()
"""Not the module's own generator: a user may have seeded that."""
_LEAK = "its text tells the expected answer, so it was not run"


class KeptSteps(NamedTuple):
    """Steps that a trial has in common with the failed run."""

    trajectory: Trajectory
    """The failed run."""
    until: int
    """The first step that is not kept."""


@dataclass
class _RetryBase:
    """The failed attempt that trials begin from."""

    attempt: Attempt
    tape: Tape | None
    chooser: RepairSearch | FixedRepair
    secrets: Secrets


class Recovery:
    """Chooses a repair for each further attempt of one call, and learns from what came of it."""

    def __init__(
        self, options: HookOptions, budget: RetryBudget, adapter: Adapter, archive: Archive, reference: str | None
    ) -> None:
        self.repair: Repair | None = None
        """Of the attempt that is about to be made, or goes on."""
        self.wait_s = 0.0
        """How long to wait before it."""
        self._options = options
        self._budget = budget
        self._archive = archive
        self._reference = reference
        self._intervenes = Capability.INTERVENE_MODEL in adapter.capabilities
        self._base: _RetryBase | None = None
        self._resumption: Resumption | None = None
        self._trials: list[PastTrial] = []
        self._ended: tuple[Attempt, PastTrial] | None = None
        """The last trial, until it is known whether it failed on the environment."""
        self._faults = 0
        self._kept = Usage()
        self._gained = EffectCounts()
        self._verified: DecisiveStep | None = None
        self._stopped = ""

    # --- before an attempt -----------------------------------------------------------------------------------------
    @property
    def prompts(self) -> dict[str, str]:
        """Instructions that the team is built with."""
        repair = self.repair
        if repair is None or repair.target is not RepairTarget.INSTRUCTIONS or repair.resume_from is not None:
            return {}
        return {repair.agent: repair.text} if repair.agent is not None else {}

    def propose(self, attempt: Attempt, run: TeamRun) -> bool:
        """Choose what the next attempt changes; whether there is to be one."""
        self._learn()
        self.repair, self.wait_s = PLAIN_RETRY, 0.0
        if blames_environment(attempt.attribution):
            self._faults += 1
            self.wait_s = self._budget.wait_s(self._faults)
            self.repair = PLAIN_RETRY.model_copy(
                update={"reason": "the environment failed, not the team: it tries again"}
            )
            return True
        self._faults = 0
        try:
            with suppressed():
                self._choose(attempt, run)
        except Exception as error:  # a third party's strategy, or ours
            self.repair = PLAIN_RETRY
            report("choose a repair", error)
        run.repair = self.log
        return self.repair is not None

    def interventions(self, task: str) -> list[Intervention]:
        """Return the interventions that carry the repair out in the attempt that is about to be made."""
        repair, base = self.repair, self._base
        if repair is None or base is None or base.tape is None:
            self._resumption = None
            return []
        rules = self._options.tool_rules
        self._resumption = Resumption(repair, base.tape, task, tools=rules, tells=not self.prompts)
        return self._resumption.interventions

    # --- after an attempt ------------------------------------------------------------------------------------------
    @property
    def attributes(self) -> dict[str, object]:
        """Return the attributes of the going attempt's span that describe its repair; no text."""
        repair = self.repair
        if repair is None:
            return {}
        kept = self._resumption.kept_usage if self._resumption is not None else Usage()
        return {
            semconv.REPAIR_STRATEGY: repair.strategy,
            semconv.REPAIR_TARGET: str(repair.target),
            semconv.REPAIR_AGENT: repair.agent,
            semconv.REPAIR_RESUME_FROM: repair.resume_from,
            semconv.REPAIR_KEPT_INPUT_TOKENS: kept.input_tokens or None,
            semconv.REPAIR_KEPT_OUTPUT_TOKENS: kept.output_tokens or None,
        }

    def settle(self, attempt: Attempt, seconds: float, run: TeamRun) -> None:
        """Take into account how the attempt with the repair ended."""
        repair, self.repair = self.repair, None
        if repair is None:
            return
        resumption = self._resumption
        kept = resumption.kept_usage if resumption is not None else Usage()
        self._kept += kept
        trial = PastTrial(
            repair=repair,
            outcome=attempt.outcome,
            score=attempt.verdict.score if attempt.verdict is not None else None,
            usage=attempt.trajectory.usage - kept + repair.usage,
            seconds=seconds,
            note=resumption.note if resumption is not None else "",
            attempt=attempt.number,
        )
        attempt.repair = repair
        self._budget.spend(trial.usage)
        self._trials.append(trial)
        self._ended = attempt, trial
        is_as_planned = resumption is not None and resumption.is_as_planned
        if trial.passed and repair.resume_from is not None and is_as_planned:
            self._verified = self._verification(repair.resume_from)
        if trial.passed:
            self._stopped = "the run was recovered"
        elif trial.outcome is RunOutcome.UNKNOWN:
            reason = attempt.trajectory.outcome_reason  # as it is kept, unlike the attempt's own
            self._stopped = f"how the run ended is not known: {reason or 'no reason is kept'}"
        run.repair = self.log

    def stop(self, why: str, run: TeamRun) -> None:
        """Say why there is no further attempt."""
        self.repair = None
        self._stopped = why
        run.repair = self.log

    def kept_parts(self) -> list[Part]:
        """Return the part that keeps how often each repair helped, in numbers, for later failures of this team."""
        self._learn()
        base = self._base
        if base is None or not isinstance(base.chooser, RepairSearch):
            return []
        rows = self._gained.plus(base.chooser.gained).rows
        return [repair_counts_part(team_of(base.attempt.trajectory), rows)] if rows else []

    def break_off(self, run: TeamRun) -> None:
        """The call was broken off; a repair that was chosen is tried no more."""
        if not self._stopped and (self._trials or self.repair is not None):
            self.stop("the call was broken off", run)

    @property
    def kept(self) -> KeptSteps | None:
        """The steps of the attempt that goes on which come from the record."""
        resumption, base = self._resumption, self._base
        if resumption is None or base is None or not resumption.kept_until:
            return None
        return KeptSteps(base.attempt.trajectory, resumption.kept_until)

    @property
    def log(self) -> RepairLog:
        """Return the log of what was tried so far."""
        return RepairLog(
            trials=tuple(self._trials), stopped=self._stopped, verified=self._verified, kept_usage=self._kept
        )

    # --- details ---------------------------------------------------------------------------------------------------
    def _choose(self, attempt: Attempt, run: TeamRun) -> None:
        base = self._base = self._begin_from(attempt)
        while True:
            repair = self._chosen(base.chooser)
            if not self._tells_answer(repair, base):
                self.repair = repair
                return
            warn_once(f"leak {repair.strategy}", "tracer-hooks: the repair %r is not run: %s", repair.strategy, _LEAK)
            hidden = repair.model_copy(update={"text": "[hidden]"})
            self._budget.record()
            self._budget.spend(repair.usage)
            leaked = PastTrial(repair=hidden, outcome=RunOutcome.FAILED, usage=repair.usage, note=_LEAK)
            self._trials.append(leaked)
            base.chooser.learn(leaked)
            refusal = self._budget.refusal
            if refusal is not None:
                self.stop(refusal, run)
                return

    def _chosen(self, chooser: RepairSearch | FixedRepair) -> Repair:
        """The next repair; what was written for it and not used is a part of its price."""
        before = chooser.unused
        repair = chooser.choose(trials_left=self._budget.retries_left, by_cost=self._budget.policy.is_by_cost)
        return repair.model_copy(update={"usage": repair.usage + (chooser.unused - before)})

    @staticmethod
    def _tells_answer(repair: Repair, base: _RetryBase) -> bool:
        verdict, present = base.attempt.verdict, base.attempt.trajectory.instructions_of(repair.agent)
        sent = verdict.feedback if verdict is not None else None
        return leaks(repair, base.secrets, instructions=present, sent=sent)

    def _begin_from(self, attempt: Attempt) -> _RetryBase:
        """The first failed attempt; a later one where its score is better and its record is of the same team."""
        base = self._base
        is_same_team = attempt.repair is None or attempt.repair.target is not RepairTarget.INSTRUCTIONS
        if base is not None and not (is_same_team and attempt.rank > base.attempt.rank):
            return base
        tape = self._tape_of(attempt) if self._intervenes else None
        verdict = attempt.verdict
        feedback = feedback_of(
            self._options.feedback,
            verdict.feedback if verdict is not None else None,
            verdict.reason if verdict is not None else None,
            self._reference,
            answer=attempt.trajectory.final_output or "",
        )
        # What is kept of the expected answer may be blanked; what it must not be told is all of it.
        failed = attempt.trajectory.model_copy(update={"reference": self._reference})
        failure = Failure.of(
            failed,
            attempt.attribution,
            # That the answer was wrong, or which one it was, has not been shown to help; who asks for it gets it told.
            feedback=feedback.text if feedback.is_specific or self._options.strategies.is_fixed else None,
            steps={call.step for call in tape.model_calls} if tape is not None else (),
            # Trials of another attempt's steps say nothing about this one's.
            tried=() if base is not None else self._trials,
        )
        secrets = Secrets.of(failed)
        return _RetryBase(attempt, tape, self._chooser(failure, base), secrets)

    def _chooser(self, failure: Failure, before: _RetryBase | None) -> RepairSearch | FixedRepair:
        strategies = self._options.strategies
        if strategies.is_fixed:
            return FixedRepair(failure, strategies.all[0])
        if before is not None and isinstance(before.chooser, RepairSearch):
            self._gained = self._gained.plus(before.chooser.gained)
        counts = EffectCounts(self._archive.repair_counts(team_of(failure.trajectory))).plus(self._gained)
        seed = self._options.policy.seed
        return RepairSearch(failure, strategies.all, counts, seed=_RANDOM.getrandbits(32) if seed is None else seed)

    @staticmethod
    def _tape_of(attempt: Attempt) -> Tape | None:
        try:
            return attempt.tape if attempt.tape.model_calls else None
        except ReplayError:  # recorded without content
            return None

    def _learn(self) -> None:
        """Learn from the last trial, now that it is diagnosed; what failed on the environment teaches nothing."""
        ended, self._ended = self._ended, None
        if ended is not None and self._base is not None and not blames_environment(ended[0].attribution):
            self._base.chooser.learn(ended[1])

    def _verification(self, step: int) -> DecisiveStep:
        assert self._base is not None
        agent = self._base.attempt.trajectory.steps[step].agent
        later = sum(1 for trial in self._trials if not trial.passed and (trial.repair.resume_from or 0) > step)
        reason = f"the run passed when it was resumed at step {step}, with the steps before it as they were"
        if later:
            reason += f"; resumed later it failed {later} time{'s' if later > 1 else ''}"
        return DecisiveStep(agent=agent, step=step, reason=reason)


def team_of(trajectory: Trajectory) -> str:
    """Return the name that the team's counts are kept under."""
    return fingerprint(trajectory.framework, trajectory.team)
