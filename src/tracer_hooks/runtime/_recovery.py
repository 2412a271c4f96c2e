"""The recovery of one call: which repair each further attempt tries, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from tracer_hooks import semconv
from tracer_hooks._guard import report, warn_once
from tracer_hooks.diagnosis import blames_environment
from tracer_hooks.errors import ReplayError
from tracer_hooks.frameworks import Adapter, Capability, Intervention
from tracer_hooks.frameworks.plain import TOOL_NAMES
from tracer_hooks.repair import (
    Failure,
    Ladder,
    PastTrial,
    Repair,
    RepairLog,
    RepairTarget,
    RetryBudget,
    Secrets,
    estimated_usage,
    feedback_of,
    leaks,
)
from tracer_hooks.replay import Resumption, Tape, ToolRules, ToolUse
from tracer_hooks.runtime._options import HookOptions
from tracer_hooks.runtime._team_run import Attempt, TeamRun
from tracer_hooks.schema import RunOutcome, Trajectory, Usage
from tracer_hooks.telemetry import suppressed

PLAIN_RETRY = Repair(strategy="from_scratch", reason="the team tries again")
_LEAK = "its text tells the expected answer, so it was not run"
_UNMEASURED = "the model reports no usage, and no text was recorded to estimate it by, so the bound cannot be kept"


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
    ladder: Ladder
    secrets: Secrets


class Recovery:
    """Chooses a repair for each further attempt of one call, and keeps what came of it.

    Args:
        options: What the user asked for.
        budget: The rest of the limits.
        adapter: The framework's adapter.
        reference: The expected answer, where there is one.
        is_built_anew: Whether a further attempt has a team, and tools, of its own: then tools before the step that it
            resumes at may run again, into that team.
    """

    def __init__(
        self,
        options: HookOptions,
        budget: RetryBudget,
        adapter: Adapter,
        reference: str | None,
        *,
        is_built_anew: bool,
    ) -> None:
        self.repair: Repair | None = None
        """Of the attempt that is about to be made, or goes on."""
        self.wait_s = 0.0
        """How long to wait before it."""
        self._options = options
        self._budget = budget
        self._reference = reference
        rules = options.tool_rules or ToolRules()
        self._rules = replace(rules, default=rules.default or (ToolUse.REBUILT if is_built_anew else None))
        self._intervenes = Capability.INTERVENE_MODEL in adapter.capabilities
        self._base: _RetryBase | None = None
        self._resumption: Resumption | None = None
        self._trials: list[PastTrial] = []
        self._learned: list[PastTrial] = []
        """Those that did not fail on the environment: their rungs were tried."""
        self._ended: tuple[Attempt, PastTrial] | None = None
        """The last trial, until it is known whether it failed on the environment."""
        self._faults = 0
        self._kept = Usage()
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
        unknown = self._unknown_rule(attempt)
        if unknown:
            self.stop(unknown, run)
            return False
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
        rules = self._options.tool_rules if repair.resume_from is None else self._rules
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
        usage, estimated = attempt.trajectory.usage - kept + repair.usage, self._estimate(attempt)
        trial = PastTrial(
            repair=repair,
            outcome=attempt.outcome,
            score=attempt.verdict.score if attempt.verdict is not None else None,
            usage=usage + estimated,
            seconds=seconds,
            note=resumption.note if resumption is not None else "",
            left_record=resumption is not None and not resumption.is_as_planned,
            attempt=attempt.number,
        )
        attempt.repair = repair
        self._budget.spend(trial.usage, is_estimated=bool(estimated.total))
        self._trials.append(trial)
        self._ended = attempt, trial
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
        return RepairLog(trials=tuple(self._trials), stopped=self._stopped, kept_usage=self._kept)

    # --- details ---------------------------------------------------------------------------------------------------
    def _choose(self, attempt: Attempt, run: TeamRun) -> None:
        base = self._base = self._begin_from(attempt)
        while True:
            repair = base.ladder.choose()
            if not self._tells_answer(repair, base):
                self.repair = repair
                return
            warn_once(f"leak {repair.strategy}", "tracer-hooks: the repair %r is not run: %s", repair.strategy, _LEAK)
            hidden = repair.model_copy(update={"text": "[hidden]"})
            self._budget.record()
            self._budget.spend(repair.usage)
            leaked = PastTrial(repair=hidden, outcome=RunOutcome.FAILED, usage=repair.usage, note=_LEAK)
            self._trials.append(leaked)
            self._learned.append(leaked)
            base.ladder.learn(leaked)
            refusal = self._budget.refusal
            if refusal is not None:
                self.stop(refusal, run)
                return

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
        # What is kept of the expected answer may be blanked; what it must not be told is all of it.
        failed = attempt.trajectory.model_copy(update={"reference": self._reference})
        failure = Failure.of(
            failed,
            attempt.attribution,
            feedback=self._feedback(attempt),
            steps=self._resumable(tape) if tape is not None else (),
            tried=self._learned,
        )
        return _RetryBase(attempt, tape, Ladder(failure, self._options.strategies), Secrets.of(failed))

    def _feedback(self, attempt: Attempt) -> str | None:
        """What the team may be told of the check's reason, without secrets; of an exception of the team's, nothing."""
        verdict, options = attempt.verdict, self._options
        told = verdict.feedback if verdict is not None else None
        feedback = feedback_of(
            options.feedback,
            told,
            verdict.reason if verdict is not None else None,
            self._reference,
            answer=attempt.trajectory.final_output or "",
        )
        # That the answer was wrong, or which one it was, has not been shown to help; who asks for it gets it told.
        if feedback.text is None or not (feedback.is_specific or not options.strategies.is_auto):
            return None
        if told is not None and told.strip():
            return feedback.text
        if options.feedback == "masked" and feedback.is_specific and not feedback.is_checked:
            warn_once(
                "nothing to mask",
                "tracer-hooks: a retry is told the check's reason as it is. feedback='masked' can hide the expected "
                "answer only where it is known: pass expected=, or feedback='none'",
            )
        return options.emitter.capture.record_policy.blanked(feedback.text)

    def _resumable(self, tape: Tape) -> set[int]:
        """The steps that a trial can resume at: what every tool that was called before did is known, or done again."""
        steps = {call.step for call in tape.model_calls}
        first = self._rules.first_undeclared(tape)
        return steps if first is None else {step for step in steps if step <= first.step}

    def _unknown_rule(self, attempt: Attempt) -> str:
        """What is wrong with a rule for a tool that the team does not have; retries would ignore it."""
        if not self._rules.named:
            return ""
        run = attempt.trajectory
        own = {tool for spec in run.agents for tool in spec.tools}
        own |= {call.name for step in run.steps for call in step.tool_calls}
        unknown = sorted(set(self._rules.named) - own - TOOL_NAMES)
        if not unknown or not (own or TOOL_NAMES):
            return ""
        has = f"; it has {', '.join(sorted(own))}" if own else ""
        why = f"tools= has a rule for {unknown[0]!r}, and the team has no such tool{has}"
        warn_once(f"rule {unknown[0]} {run.team}", "tracer-hooks does not retry: %s", why)
        return why

    def _estimate(self, attempt: Attempt) -> Usage:
        """Tokens of the live steps that report none, where a bound counts them; nothing elsewhere."""
        if not self._budget.policy.counts_tokens:
            return Usage()
        kept = self.kept
        estimated = estimated_usage(attempt.trajectory, since=kept.until if kept is not None else 0)
        if estimated is not None and not estimated.total:
            self._budget.cannot_count = _UNMEASURED
        return estimated or Usage()

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
            self._learned.append(ended[1])
            self._base.ladder.learn(ended[1])
