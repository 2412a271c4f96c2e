"""Answers of attributors: when nobody is named, and the record of who is, with the links of the answer's values."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tracer_hooks.diagnosis._blame import blamed, with_findings
from tracer_hooks.diagnosis._protocol import StepScores
from tracer_hooks.diagnosis._provenance import Link, provenance_of
from tracer_hooks.diagnosis._reading._errors import error_line, outage_at
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._wording import readable
from tracer_hooks.diagnosis.findings import find_in
from tracer_hooks.diagnosis.ranking._signals import DECISIVE, MODERATE, STRONG, Family, mode_in
from tracer_hooks.diagnosis.ranking._view import View
from tracer_hooks.schema import (
    ENVIRONMENT_FAULT,
    AgentFault,
    Attribution,
    Candidate,
    ErrorMode,
    Evidence,
    FindingKind,
    RunOutcome,
    Trajectory,
    ValueLink,
)
from tracer_hooks.telemetry import ABANDONED, CANCELLED, INTERRUPTED

NO_FAULT = "no sign of failure"
"""Nothing speaks clearly enough for a fault; for runs that are not known to have failed."""
INCOMPLETE = "trace too incomplete"
"""There is no step with anything in it to judge."""
_STOPPED = (ABANDONED, CANCELLED, INTERRUPTED)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nobody is named, with what speaks for that."""

    reason: str
    evidence: tuple[Evidence, ...] = ()


def refusal_in(view: View) -> Refusal | None:
    """Why nobody should be named in a run; None when somebody should.

    A run that is known to have failed has a cause, unless the model endpoint broke down under it. In one that is known
    to have succeeded nobody is blamed; one that was stopped from outside needs a decisive signal of a rule. Any other
    looks failed where something is found in it, more than where its answer comes from, where an agent assumes its data,
    and where it goes on after an error.
    """
    outage = outage_at(view.run)
    if outage is not None:
        why = "The model endpoint could not be reached or refused to answer, and the run ended there."
        quote = readable(error_line(view.run, outage))
        return Refusal(ENVIRONMENT_FAULT, (Evidence(step=outage, quote=quote, why=why, weight=DECISIVE, kind="error"),))
    outcome = RunOutcome(view.trajectory.outcome)
    if outcome is RunOutcome.FAILED:
        return None
    if outcome is RunOutcome.SUCCEEDED:
        return Refusal(NO_FAULT)
    if view.trajectory.outcome_reason in _STOPPED:
        looks_failed = any(one.weight >= DECISIVE for one in view.signals if one.family is not Family.POSITION)
    else:
        looks_failed = any(each.kind is not FindingKind.ANSWER_ORIGIN for each in find_in(view.run)) or any(
            one.family is Family.ASSUMPTION or (one.family is Family.ERROR and one.weight >= STRONG)
            for one in view.signals
        )
    return None if looks_failed else Refusal(NO_FAULT)


def refusal_of(trajectory: Trajectory) -> Refusal | None:
    """Why nobody should be named in this run, for attributors that do not read the rules themselves."""
    return refusal_in(View(trajectory))


def is_environment_fault(trajectory: Trajectory) -> bool:
    """Tell whether the run ended since the model endpoint could not be reached, whatever the team did."""
    return outage_at(RunReading(trajectory)) is not None


def has_content(trajectory: Trajectory) -> bool:
    """Tell whether there is anything in the trajectory to judge."""
    return any(step.content.strip() or step.tool_calls or step.error or step.recipient for step in trajectory.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """What a method believes of the steps of one trajectory."""

    belief: Sequence[float]
    """Calibrated probability that each step is the decisive one; sums to at most 1."""
    scores: StepScores
    """What the answer rests on: steps and evidence."""
    modes: Callable[[], Mapping[tuple[str, ErrorMode], float]]
    """Log-odds of each pair of agent and error mode; asked for only where no rule tells the mode."""
    faults: tuple[AgentFault, ...] = ()
    """Every agent and mode that is thought to be at fault, for a run with several faults."""
    is_own_fit: bool = False
    """The belief comes from a fit to labelled runs of this very team."""


def attribution_by(
    rank: Callable[[View], Ranking | None], trajectory: Trajectory, reference: str | None, *, attributor: str
) -> Attribution:
    """Diagnose one run by the beliefs of a method: what was found, ranked candidates, mode and evidence.

    Args:
        rank: Ranks the steps; gives None where it has nothing to say.
        trajectory: What happened.
        reference: The expected answer, when it may be used.
        attributor: Name and version of the method.
    """
    began = time.perf_counter()
    answer = _judged(rank, trajectory, reference)
    return answer.model_copy(update={"attributor": attributor, "elapsed_s": time.perf_counter() - began})


def _judged(rank: Callable[[View], Ranking | None], trajectory: Trajectory, reference: str | None) -> Attribution:
    if not has_content(trajectory):
        return _abstention(RunReading(trajectory, reference), Refusal(INCOMPLETE))
    view = View(trajectory, reference)
    ranking = rank(view)
    if ranking is None:
        return _abstention(view.run, Refusal(INCOMPLETE))
    refused = refusal_in(view)
    if refused is not None:
        return _abstention(view.run, refused, belief=ranking.belief)
    return _answer(view, ranking)


def _abstention(run: RunReading, refused: Refusal, *, belief: Sequence[float] = ()) -> Attribution:
    """An answer that names nobody, and why; with the ranking of the steps when the run did fail."""
    answer = Attribution(
        run_id=run.trajectory.run_id,
        abstained=True,
        abstained_reason=refused.reason,
        evidence=refused.evidence,
        candidates=_candidates(run.trajectory, belief) if refused.reason == ENVIRONMENT_FAULT else (),
    )
    return with_findings(answer, run)


_MAX_EVIDENCE = 3
_MAX_CANDIDATES = 10


def _answer(view: View, ranking: Ranking) -> Attribution:
    trajectory = view.trajectory
    belief = blamed(view.run, ranking.belief, is_own_fit=ranking.is_own_fit)
    step = max(range(len(belief)), key=lambda index: (belief[index], -index))
    agent = trajectory.steps[step].agent
    summed = sum(own for own, other in zip(belief, trajectory.steps, strict=True) if other.agent == agent)
    answered = with_findings(
        Attribution(
            run_id=trajectory.run_id,
            agent=agent,
            step=step,
            confidence=round(min(1.0, belief[step]), 6),
            agent_confidence=round(min(1.0, summed), 6),
            candidates=_candidates(trajectory, belief),
            faults=ranking.faults,
            evidence=tuple(each for each in ranking.scores.evidence if each.step == step)[:_MAX_EVIDENCE],
            provenance=value_links(view.run, step),
            usage=ranking.scores.usage,
        ),
        view.run,
    )
    # What a rank alone says of the mode is a guess.
    mode = None if answered.certainty == "weak" else answered.error_mode or _mode(view, ranking, step)
    return answered if mode == answered.error_mode else answered.model_copy(update={"error_mode": mode})


def _mode(view: View, ranking: Ranking, step: int) -> ErrorMode:
    """Name how the agent went wrong: as the rules say of this very step, else the likeliest mode of the agent."""
    signals = [signal for signal in view.signals if signal.step == step]
    told = mode_in([signal for signal in signals if signal.weight >= MODERATE])
    if told is not None:
        return told
    modes = {mode: odds for (name, mode), odds in ranking.modes().items() if name == view.agents[step]}
    if modes:
        return max(modes, key=lambda mode: modes[mode])
    return max(signals, key=lambda signal: signal.weight).mode if signals else ErrorMode.FM_1_1


def _candidates(trajectory: Trajectory, belief: Sequence[float]) -> tuple[Candidate, ...]:
    ranked = sorted(range(len(belief)), key=lambda step: (-belief[step], step))
    return tuple(
        Candidate(agent=trajectory.steps[step].agent, step=step, score=int(belief[step] * 1e6) / 1e6)
        for step in ranked[:_MAX_CANDIDATES]
        if belief[step] > 0
    )


MOST_LINKS = 24
"""Links that a diagnosis keeps."""


def value_links(run: RunReading, step: int) -> tuple[ValueLink, ...]:
    """Find the sources of the answer's values, in order of the steps; of many, those of the named step's values first.

    Args:
        run: What happened.
        step: The step that the diagnosis names. A departure that the answer was not followed back to is told only of
            this step.
    """
    links = [one for one in provenance_of(run).links if one.leads_to_answer or one.step == step]
    ranks: dict[str, int] = {}
    for one in links:
        ranks[one.value] = min(_rank(one, step), ranks.get(one.value, 3))
    kept = sorted(range(len(links)), key=lambda place: (ranks[links[place].value], place))[:MOST_LINKS]
    return tuple(_as_record(links[place]) for place in sorted(kept))


def _rank(link: Link, step: int) -> int:
    """Rank values: first those that depart at the named step, then elsewhere, then those that it has at all."""
    if link.origin.is_departure:
        return 0 if link.step == step else 1
    return 2 if link.step == step else 3


def _as_record(link: Link) -> ValueLink:
    note = f"from {' and '.join(link.operands)}" if link.operands else link.note
    return ValueLink(
        value=link.value, step=link.step, origin=link.origin, source=link.source, operands=link.operands, note=note
    )
