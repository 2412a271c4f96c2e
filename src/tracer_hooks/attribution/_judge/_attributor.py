"""The attributor that asks a language model."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracer_hooks.attribution._abstaining import INCOMPLETE
from tracer_hooks.attribution._judge._answer import attribution_of, scores_of
from tracer_hooks.attribution._judge._budget import BudgetSpentError, Meter
from tracer_hooks.attribution._judge._cache import ReplyCache
from tracer_hooks.attribution._judge._call_log import CallLog
from tracer_hooks.attribution._judge._case import Case
from tracer_hooks.attribution._judge._chat import BYTES_PER_TOKEN, ChatModel
from tracer_hooks.attribution._judge._endpoint import EndpointChat
from tracer_hooks.attribution._judge._interview import Desk, Interview
from tracer_hooks.attribution._judge._local import LocalChat
from tracer_hooks.attribution._judge._options import JudgeOptions, variable_of
from tracer_hooks.attribution._judge._prompts import VERSION
from tracer_hooks.attribution._judge._protocols import (
    all_at_once,
    binary_search,
    ranked,
    shortlist,
    step_by_step,
    windowed,
)
from tracer_hooks.attribution._judge._protocols._all_at_once import fits
from tracer_hooks.attribution._judge._saved_options import saved_options
from tracer_hooks.attribution._judge._verdict import Verdict, with_remark
from tracer_hooks.attribution._scores import Scorer, StepScores
from tracer_hooks.errors import AttributionError, ConfigError
from tracer_hooks.schema import Attribution, Candidate, Trajectory
from tracer_hooks.telemetry import ContentGate, gated_trajectory, hold_logs, suppressed

_PROTOCOLS: dict[str, Callable[[Interview], Verdict]] = {
    "step-by-step": step_by_step,
    "binary-search": binary_search,
    "windowed": windowed,
}
_CHOOSING: dict[str, Callable[[Interview, Mapping[int, float]], Verdict]] = {"ranked": ranked, "shortlist": shortlist}
"""These choose among candidates."""
_HEADER_SHARE = 8
_MOST_HEADER = 8_000


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of one interview."""

    interview: Interview
    verdict: Verdict | None
    problem: str | None = None
    """Why there is no verdict, or why it is not a finished one."""


class JudgeAttributor:
    """Has a language model read the run and name agent, step, error mode and evidence.

    Every name and number of a reply is checked against the trajectory, and the judge gets one chance to repair a reply.
    What the judge is told is governed by ``TRACER_HOOKS_RECORD``: with ``redacted`` secrets in it are blanked, with
    ``off`` nobody is asked.

    An endpoint that fails and a reply that stays unusable are errors, never "no fault found". A run without anything in
    it, and a budget that is spent before there is any answer, give an abstention. The judge's calls are not traced.

    ``confidence`` is half of the probability that the judge states, or less; it is not calibrated.

    Args:
        options: Settings; None reads the variables ``TRACER_HOOKS_JUDGE_*``.
        model: A model of one's own; None makes one of ``options``.
        proposer: Scores the steps that ``ranked`` and ``shortlist`` choose among; None makes it of ``options``.

    Raises:
        ConfigError: There is no model, or an option cannot be used; the message says what to set.
        MissingExtraError: The model needs a distribution that is not installed.
    """

    name = "judge"

    def __init__(
        self, options: JudgeOptions | None = None, *, model: ChatModel | None = None, proposer: Scorer | None = None
    ) -> None:
        self.options = options if options is not None else JudgeOptions.from_env()
        self._gate = ContentGate.of_record()
        hold_logs(self._gate)
        self._proposer = proposer if proposer is not None else _proposer_of(self.options)
        self._desk = Desk(
            model=model if model is not None else _model_of(self.options),
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
        """Diagnose one run; see :class:`~tracer_hooks.attribution.Attributor`.

        Args:
            trajectory: What happened.
            reference: The expected answer, when the judge may know it; ``trajectory.reference`` is not looked at.
            candidates: Steps that another method found likely; ``ranked`` and ``shortlist`` choose among them.

        Raises:
            OutputParseError: The judge gave no usable reply, also when shown its error; ``.raw`` holds it.
            AttributionError: The model gave no reply at all, or a candidate is no step of the trajectory.
            ConfigError: There are candidates, and the protocol is one that takes none.
        """
        began = time.perf_counter()
        outcome = self._judge(trajectory, reference, candidates)
        blank = Attribution(
            run_id=trajectory.run_id,
            attributor=f"{self.name}/{VERSION} {outcome.interview.protocol} {self._desk.model.name}",
            usage=outcome.interview.meter.usage,
        )
        if outcome.verdict is None:
            answer = blank.model_copy(update={"abstained": True, "abstained_reason": outcome.problem})
        else:
            answer = attribution_of(outcome.verdict, outcome.interview.case, blank)
        return answer.model_copy(update={"elapsed_s": time.perf_counter() - began})

    @property
    def concurrency(self) -> int:
        """How many runs :func:`~tracer_hooks.attribution.diagnose_each` has judged at the same time."""
        return self.options.concurrency

    def score(
        self, trajectory: Trajectory, *, reference: str | None = None, candidates: Sequence[Candidate] = ()
    ) -> StepScores | None:
        """What the judge believes of every step; see :class:`~tracer_hooks.attribution.Scorer`.

        Returns:
            The scores; None when there is nothing to judge, or the budget was spent before any answer.

        Raises:
            AttributionError: As in :meth:`attribute`.
        """
        outcome = self._judge(trajectory, reference, candidates)
        if outcome.verdict is None:
            return None
        return scores_of(outcome.verdict, outcome.interview.case, outcome.interview.meter.usage)

    def _judge(self, trajectory: Trajectory, reference: str | None, candidates: Sequence[Candidate]) -> _Outcome:
        # The endpoint, the call log and the kept replies see no more than the run store would hold.
        trajectory, reference = gated_trajectory(trajectory, self._gate), self._gate.optional(reference)
        case = Case(trajectory, reference, header_chars=self._header_chars)
        weights = self._checked(candidates, case)
        meter = Meter(self.options.budget)
        interview = Interview(desk=self._desk, case=case, protocol=self.options.protocol, meter=meter)
        if self._gate.is_shut or not any(
            step.content.strip() or step.tool_calls or step.error or step.recipient for step in case.steps
        ):
            return _Outcome(interview, None, INCOMPLETE)
        with suppressed():
            try:
                return _Outcome(interview, self._run(interview, weights or self._proposed(trajectory, reference)))
            except BudgetSpentError as spent:
                best = interview.best
                return _Outcome(
                    interview, best and with_remark(case, best, f"{spent}; the best answer so far"), str(spent)
                )

    def _run(self, interview: Interview, weights: Mapping[int, float]) -> Verdict:
        if interview.protocol == "auto":
            interview.protocol = "ranked" if weights else "all-at-once" if fits(interview) else "windowed"
        if interview.protocol == "all-at-once":
            return all_at_once(interview, weights)
        if interview.protocol in _CHOOSING:
            return _CHOOSING[interview.protocol](interview, weights)
        return _PROTOCOLS[interview.protocol](interview)

    def _checked(self, candidates: Sequence[Candidate], case: Case) -> dict[int, float]:
        """The weight of each step among ``candidates``."""
        if candidates and not self._takes_candidates:
            raise ConfigError(
                f"protocol={self.options.protocol!r} of the attributor 'judge' takes no candidates, expected 'ranked' "
                "or 'shortlist'"
            )
        for each in candidates:
            if each.step >= len(case.steps) or case.owner(each.step) != each.agent:
                raise AttributionError(
                    f"the candidate step {each.step} of {each.agent!r} is none of run {case.trajectory.run_id!r}, "
                    f"which has {len(case.steps)} steps"
                )
        return {each.step: each.score for each in candidates}

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
        return self.options.protocol == "auto" or self.options.protocol in _CHOOSING

    @property
    def _header_chars(self) -> int:
        """Characters for task, answer and instructions: a part of the context, so that the steps have room."""
        return header_chars(self._desk.model.context_tokens)


def header_chars(context_tokens: int) -> int:
    """Characters that task, answer and instructions may take in a context of this size."""
    return min(_MOST_HEADER, context_tokens * BYTES_PER_TOKEN // _HEADER_SHARE)


def _model_of(options: JudgeOptions) -> ChatModel:
    if not options.model:
        raise ConfigError(
            f"the attributor 'judge' has no model: set {variable_of('model')} to the name of a model, and "
            f"{variable_of('base_url')} to the OpenAI-compatible endpoint that serves it, such as "
            f"http://127.0.0.1:8000/v1; or set {variable_of('model')} to a directory with a transformers model"
        )
    if options.base_url is None and Path(options.model).is_dir():
        return LocalChat(options)
    return EndpointChat(options)


def _proposer_of(options: JudgeOptions) -> Scorer | None:
    name = options.proposer or ("structural" if options.protocol == "shortlist" else None)
    if name is None:
        return None
    if name == JudgeAttributor.name:
        raise ConfigError("proposer='judge' of the attributor 'judge' is the judge itself, expected another attributor")
    from tracer_hooks.attribution._registry import get_attributor  # the registry knows this attributor too

    found = get_attributor(name)
    if not isinstance(found, Scorer):
        raise ConfigError(f"proposer={name!r} of the attributor 'judge' scores no steps, expected score()")
    return found
