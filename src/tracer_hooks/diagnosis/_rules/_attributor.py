"""The rule-based attributor: no model, no fitted weights, milliseconds."""

from __future__ import annotations

import time
from collections.abc import Sequence

from tracer_hooks.diagnosis._abstaining import ENVIRONMENT_FAULT, INCOMPLETE, NO_FAULT
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._rules._combine import Belief, combine, faults_of, mode_in
from tracer_hooks.diagnosis._rules._errors import outage
from tracer_hooks.diagnosis._rules._registry import signals_of
from tracer_hooks.diagnosis._rules._signal import DECISIVE, STRONG, Family, Signal
from tracer_hooks.diagnosis._wording import grouped
from tracer_hooks.schema import Attribution, ErrorMode, Evidence, RunOutcome, Trajectory

VERSION = 0
_MAX_EVIDENCE = 5


class RulesAttributor:
    """Judges a run by rules over its structure: errors, tool results, values, repetition, hand-offs.

    It reads no world knowledge into a run: an answer that is wrong without any sign of it in the trajectory is put
    down to a weak prior, with a confidence that says so.
    """

    name = "rules"

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        """Diagnose one run; see :class:`~tracer_hooks.diagnosis.Attributor`."""
        began = time.perf_counter()
        answer = self._judge(trajectory, reference)
        return answer.model_copy(update={"elapsed_s": time.perf_counter() - began})

    def _judge(self, trajectory: Trajectory, reference: str | None) -> Attribution:
        blank = Attribution(run_id=trajectory.run_id, attributor=f"{self.name}/{VERSION}")
        if not any(
            step.content.strip() or step.tool_calls or step.error or step.recipient for step in trajectory.steps
        ):
            return blank.model_copy(update={"abstained": True, "abstained_reason": INCOMPLETE})
        trace = RunReading(trajectory, reference)
        signals = signals_of(trace)
        belief = combine(trace, signals)
        broken_off = outage(trace)
        if broken_off is not None:
            return _abstain(blank, ENVIRONMENT_FAULT, belief, (broken_off,))
        if belief.strength < _needed(trajectory.outcome):
            return _abstain(blank, NO_FAULT, None, ())
        return _answer(blank, trace, signals, belief)


def _needed(outcome: RunOutcome) -> float:
    """How strong the best signal must be: a run that is known to have failed has a cause, others need a reason."""
    return {RunOutcome.FAILED: 0.0, RunOutcome.UNKNOWN: STRONG, RunOutcome.SUCCEEDED: DECISIVE}[outcome]


def _answer(blank: Attribution, trace: RunReading, signals: Sequence[Signal], belief: Belief) -> Attribution:
    first = belief.candidates[0]
    return blank.model_copy(
        update={
            "agent": first.agent,
            "step": first.step,
            "error_mode": mode_in(belief.top) or ErrorMode.FM_1_1,
            "confidence": first.score,
            "candidates": belief.candidates,
            "faults": faults_of(trace, signals),
            "evidence": _evidence(belief.top),
        }
    )


def _abstain(blank: Attribution, reason: str, belief: Belief | None, signals: Sequence[Signal]) -> Attribution:
    return blank.model_copy(
        update={
            "abstained": True,
            "abstained_reason": reason,
            "candidates": belief.candidates if belief is not None else (),
            "evidence": _evidence(signals),
        }
    )


def _evidence(signals: Sequence[Signal]) -> tuple[Evidence, ...]:
    found = [one.evidence for one in signals if one.family is not Family.POSITION]
    places = [one.evidence for one in signals if one.family is Family.POSITION]
    return grouped(found or places[:1], most=_MAX_EVIDENCE)
