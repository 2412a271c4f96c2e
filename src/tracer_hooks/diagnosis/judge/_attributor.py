"""The attributor that asks a language model."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracer_hooks.diagnosis._protocol import Scorer, StepScores
from tracer_hooks.diagnosis.judge._calls import (
    CallLog,
    JudgeBudgetSpentError,
    JudgeResources,
    JudgeSession,
    Meter,
    ReplyCache,
)
from tracer_hooks.diagnosis.judge._case import JudgeCase, JudgeVerdict, abstention_reason, with_remark
from tracer_hooks.diagnosis.judge._models import model_of
from tracer_hooks.diagnosis.judge._options import JudgeOptions, saved_options
from tracer_hooks.diagnosis.judge._prompts import VERSION
from tracer_hooks.diagnosis.judge._protocols import all_at_once, binary_search, fits, step_by_step, windowed
from tracer_hooks.diagnosis.judge._shortlist import first_of, shortlist
from tracer_hooks.diagnosis.ranking._answers import INCOMPLETE
from tracer_hooks.endpoint import BYTES_PER_TOKEN, ChatModel
from tracer_hooks.errors import AttributionError, ConfigError
from tracer_hooks.schema import Attribution, Candidate, Trajectory, Usage
from tracer_hooks.telemetry import ContentPolicy, hold_logs, redacted_trajectory, suppressed

TRUST = 0.5
"""The share of a stated probability that counts. The best published judges name the right step in about half of
Who&When's short runs and in far fewer long ones, whatever they state; so an answer is given one half at most, until the
ensemble calibrates it."""
_MOST_CANDIDATES = 10
_DOUBT = 0.2
"""The weight of a named step in the scores when the judge saw no fault of the team."""
_MOST_NAMED = 0.9
"""Share of the belief that named steps may take in the scores; the rest is spread over all others."""
_PERSON_SHARE = 0.01
_LEAST_ODDS = 0.001
_HEADER_SHARE = 8
_MOST_HEADER = 8_000


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The result of one session."""

    session: JudgeSession
    verdict: JudgeVerdict | None
    problem: str | None = None
    """The reason that there is no verdict, or no finished one."""


class JudgeAttributor:
    """Has a language model read the run and name agent, step, error mode and evidence.

    Every name and number of a reply is checked against the trajectory, and the judge gets one chance to repair a reply.
    What the judge is told is governed by ``TRACER_HOOKS_RECORD``: with ``redacted`` secrets in it are blanked, with
    ``off`` nobody is asked.

    An endpoint that fails and a reply that stays unusable are errors, never "no sign of failure". A run without
    anything in it, and a budget that is spent before there is any answer, give an abstention. The judge's calls are not
    traced.

    ``confidence`` is half of the probability that the judge states, or less; it is not calibrated.

    Args:
        options: Settings; None reads the variables ``TRACER_HOOKS_JUDGE_*``.
        model: A model of one's own; None makes one of ``options``.
        proposer: Scores the steps that ``shortlist`` chooses among; None makes it of ``options``.

    Raises:
        ConfigError: There is no model, or an option cannot be used; the message says what to set.
        MissingExtraError: The model needs a distribution that is not installed.
    """

    name = "judge"

    def __init__(
        self, options: JudgeOptions | None = None, *, model: ChatModel | None = None, proposer: Scorer | None = None
    ) -> None:
        self.options = options if options is not None else JudgeOptions.from_env()
        self._gate = ContentPolicy.of_record()
        hold_logs(self._gate)
        self._proposer = proposer if proposer is not None else _proposer_of(self.options)
        self._resources = JudgeResources(
            model=model if model is not None else model_of(self.options),
            options=self.options,
            cache=ReplyCache(self.options.cache_dir),
            log=CallLog(self.options.call_log),
        )

    @classmethod
    def load(cls, directory: Path) -> JudgeAttributor:
        """A judge from a folder that ``tracer-hooks train sft`` or ``train grpo`` wrote, asked as it was trained.

        The variables ``TRACER_HOOKS_JUDGE_*`` go before what the folder says.

        Raises:
            AttributionError: The folder does not say how the judge is asked.
            ConfigError: Its model, or an option, cannot be used.
            MissingExtraError: The model needs a distribution that is not installed.
        """
        return cls(saved_options(directory))

    def attribute(
        self, trajectory: Trajectory, *, reference: str | None = None, candidates: Sequence[Candidate] = ()
    ) -> Attribution:
        """Diagnose one run; see :class:`~tracer_hooks.diagnosis.Attributor`.

        Args:
            trajectory: What happened.
            reference: The expected answer, when the judge may know it; ``trajectory.reference`` is not looked at.
            candidates: Steps that another method found likely; ``shortlist`` chooses among the first three.

        Raises:
            OutputParseError: The judge gave no usable reply, also when shown its error; ``.raw`` holds it.
            AttributionError: The model gave no reply at all, or a candidate is no step of the trajectory.
            ConfigError: There are candidates, and the protocol is one that takes none.
        """
        began = time.perf_counter()
        outcome = self._judge(trajectory, reference, candidates)
        blank = Attribution(
            run_id=trajectory.run_id,
            attributor=f"{self.name}/{VERSION} {outcome.session.protocol} {self._resources.model.name}",
            usage=outcome.session.meter.usage,
        )
        if outcome.verdict is None:
            answer = blank.model_copy(update={"abstained": True, "abstained_reason": outcome.problem})
        else:
            answer = attribution_of(outcome.verdict, outcome.session.case, blank)
        return answer.model_copy(update={"elapsed_s": time.perf_counter() - began})

    @property
    def concurrency(self) -> int:
        """The number of runs that :func:`~tracer_hooks.diagnosis.diagnose_each` has judged at the same time."""
        return self.options.concurrency

    def score(
        self, trajectory: Trajectory, *, reference: str | None = None, candidates: Sequence[Candidate] = ()
    ) -> StepScores | None:
        """Beliefs of the judge about every step; see :class:`~tracer_hooks.diagnosis.Scorer`.

        Returns:
            The scores; None when there is nothing to judge, or the budget was spent before any answer.

        Raises:
            AttributionError: As in :meth:`attribute`.
        """
        outcome = self._judge(trajectory, reference, candidates)
        if outcome.verdict is None:
            return None
        return scores_of(outcome.verdict, outcome.session.case, outcome.session.meter.usage)

    def _judge(self, trajectory: Trajectory, reference: str | None, candidates: Sequence[Candidate]) -> _Outcome:
        # The endpoint, the call log and the kept replies see no more than the run store would hold.
        trajectory, reference = redacted_trajectory(trajectory, self._gate), self._gate.optional(reference)
        case = JudgeCase(trajectory, reference, header_chars=self._header_chars)
        weights = self._checked(candidates, case)
        meter = Meter(self.options.budget)
        session = JudgeSession(resources=self._resources, case=case, protocol=self.options.protocol, meter=meter)
        if self._gate.blocks_all or not any(
            step.content.strip() or step.tool_calls or step.error or step.recipient for step in case.steps
        ):
            return _Outcome(session, None, INCOMPLETE)
        with suppressed():
            try:
                return _Outcome(session, self._run(session, weights or self._proposed(trajectory, reference)))
            except JudgeBudgetSpentError as spent:
                best = session.best
                return _Outcome(
                    session, best and with_remark(case, best, f"{spent}; the best answer so far"), str(spent)
                )

    def _run(self, session: JudgeSession, weights: Mapping[int, float]) -> JudgeVerdict:
        if session.protocol in ("auto", "shortlist"):
            candidates = first_of(session.case, weights)
            if candidates:
                session.protocol = "shortlist"
                return shortlist(session, candidates)
            session.protocol = "all-at-once" if fits(session) else "windowed"  # as the answer names it
        if session.protocol == "all-at-once":
            return all_at_once(session, weights)
        protocols = {"step-by-step": step_by_step, "binary-search": binary_search, "windowed": windowed}
        return protocols[session.protocol](session)

    def _checked(self, candidates: Sequence[Candidate], case: JudgeCase) -> dict[int, float]:
        """The weight of each step among ``candidates``."""
        if candidates and not self._takes_candidates:
            raise ConfigError(
                f"protocol={self.options.protocol!r} of the attributor 'judge' takes no candidates, expected "
                "'shortlist' or 'auto'"
            )
        for candidate in candidates:
            if candidate.step >= len(case.steps) or case.owner(candidate.step) != candidate.agent:
                raise AttributionError(
                    f"the candidate step {candidate.step} of {candidate.agent!r} is none of run "
                    f"{case.trajectory.run_id!r}, which has {len(case.steps)} steps"
                )
        return {candidate.step: candidate.score for candidate in candidates}

    def _proposed(self, trajectory: Trajectory, reference: str | None) -> dict[int, float]:
        """The highest steps of the proposer; none when there is no proposer or no use for it."""
        if self._proposer is None or not (self._takes_candidates or self.options.protocol == "all-at-once"):
            return {}
        scores = self._proposer.score(trajectory, reference=reference)
        if scores is None:
            return {}
        belief = scores.belief()
        ranked_steps = sorted(range(len(belief)), key=lambda step: (-belief[step], step))[: self.options.top_k]
        return {step: belief[step] for step in ranked_steps if belief[step] > 0}

    @property
    def _takes_candidates(self) -> bool:
        return self.options.protocol in ("auto", "shortlist")

    @property
    def _header_chars(self) -> int:
        """Characters for task, answer and instructions: a part of the context, so that the steps have room."""
        return header_chars(self._resources.model.context_tokens)


def header_chars(context_tokens: int) -> int:
    """Characters that task, answer and instructions may take in a context of this size."""
    return min(_MOST_HEADER, context_tokens * BYTES_PER_TOKEN // _HEADER_SHARE)


def _proposer_of(options: JudgeOptions) -> Scorer | None:
    name = options.proposer or ("structural" if options.protocol == "shortlist" else None)
    if name is None:
        return None
    if name == JudgeAttributor.name:
        raise ConfigError("proposer='judge' of the attributor 'judge' is the judge itself, expected another attributor")
    from tracer_hooks.diagnosis._registry import get_attributor  # the registry knows this attributor too

    found = get_attributor(name)
    if not isinstance(found, Scorer):
        raise ConfigError(f"proposer={name!r} of the attributor 'judge' scores no steps, expected score()")
    return found


def attribution_of(verdict: JudgeVerdict, case: JudgeCase, blank: Attribution) -> Attribution:
    """``blank`` with the answer of ``verdict``."""
    ranked = sorted(
        (step for step, belief in verdict.beliefs.items() if belief > 0),
        key=lambda step: (step != verdict.step, -verdict.beliefs[step], step),
    )[:_MOST_CANDIDATES]
    candidates = tuple(
        Candidate(agent=case.owner(step), step=step, score=TRUST * verdict.beliefs[step]) for step in ranked
    )
    found = {"candidates": candidates, "evidence": verdict.evidence}
    reason = abstention_reason(verdict)
    if reason is not None:
        return blank.model_copy(update={**found, "abstained": True, "abstained_reason": reason})
    faults = tuple(fault.model_copy(update={"score": TRUST * fault.score}) for fault in verdict.faults)
    return blank.model_copy(
        update={
            **found,
            "agent": candidates[0].agent,
            "step": candidates[0].step,
            "error_mode": verdict.mode,
            "confidence": candidates[0].score,
            "faults": faults,
        }
    )


def scores_of(verdict: JudgeVerdict, case: JudgeCase, usage: Usage) -> StepScores:
    """The beliefs of ``verdict`` over all steps; those that the judge did not name share what is left."""
    scale = _DOUBT if verdict.abstention is not None else min(1.0, _MOST_NAMED / sum(verdict.beliefs.values()))
    named = {step: belief * scale for step, belief in verdict.beliefs.items()}
    weights = [1.0 if index in case.answerable else _PERSON_SHARE for index in range(len(case.steps))]
    left = (1.0 - sum(named.values())) / sum(weights)
    masses = [named.get(index, 0.0) + left * weight for index, weight in enumerate(weights)]
    agents = dict.fromkeys(case.agents, 0.0)
    for index in case.answerable:
        agents[case.owner(index)] += masses[index]
    return StepScores(
        steps=tuple(math.log(mass) for mass in masses),
        agents={agent: _log_odds(mass) for agent, mass in agents.items()},
        modes={
            (fault.agent, fault.error_mode): _log_odds(fault.score)
            for fault in reversed(verdict.faults)
            if fault.error_mode is not None
        },
        evidence=verdict.evidence,
        usage=usage,
    )


def _log_odds(probability: float) -> float:
    inside = min(1 - _LEAST_ODDS, max(_LEAST_ODDS, probability))
    return math.log(inside / (1 - inside))
