"""Answers of attributors that keep their contract, with the links of the answer's values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tracer_hooks.diagnosis._abstaining import ENVIRONMENT_FAULT, Refusal
from tracer_hooks.diagnosis._blame import blamed, with_findings
from tracer_hooks.diagnosis._protocol import StepScores
from tracer_hooks.diagnosis._provenance import Link, provenance_of
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._rules._signal import MAX_CANDIDATES, Signal, mode_in
from tracer_hooks.schema import AgentFault, Attribution, Candidate, ErrorMode, Trajectory, ValueLink

MOST_LINKS = 24
"""Links that a diagnosis keeps."""


def value_links(trace: RunReading, step: int) -> tuple[ValueLink, ...]:
    """Find the sources of the answer's values, in order of the steps; of many, those of the named step's values first.

    Args:
        trace: What happened.
        step: The step that the diagnosis names. A departure that the answer was not followed back to is told only of
            this step.
    """
    links = [one for one in provenance_of(trace).links if one.leads_to_answer or one.step == step]
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


_MAX_EVIDENCE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributorAnswer:
    """Findings of an attributor about one trajectory."""

    belief: Sequence[float]
    """Calibrated probability that each step is the decisive one; sums to at most 1."""
    scores: StepScores
    """What the answer rests on: agents, modes and evidence."""
    agent_belief: float | None = None
    """Calibrated probability that the agent of the likeliest step is the right one; the summed belief in its steps when
    None."""
    faults: tuple[AgentFault, ...] = ()
    """Every agent and mode that is thought to be at fault, for a run with several faults."""
    signals: Sequence[Signal] = field(default_factory=tuple)
    """What the rules say about the trajectory."""
    is_own_fit: bool = False
    """The belief comes from a fit to labelled runs of this very team."""


def attribution_of(trace: RunReading, answer: AttributorAnswer, *, attributor: str) -> Attribution:
    """The answer as a record: what was found, ranked candidates, mode and evidence.

    Args:
        trace: What happened; with at least one step.
        answer: What was found out.
        attributor: Name and version of who found it out.
    """
    trajectory = trace.trajectory
    belief = blamed(trace, answer.belief, is_own_fit=answer.is_own_fit)
    step = max(range(len(belief)), key=lambda index: (belief[index], -index))
    agent = trajectory.steps[step].agent
    answered = with_findings(
        Attribution(
            run_id=trajectory.run_id,
            attributor=attributor,
            agent=agent,
            step=step,
            error_mode=mode_of(answer, step, agent),
            confidence=round(min(1.0, belief[step]), 6),
            agent_confidence=round(_sure_of(agent, trajectory, answer, belief), 6),
            candidates=_candidates(trajectory, belief),
            faults=answer.faults,
            evidence=tuple(each for each in answer.scores.evidence if each.step == step)[:_MAX_EVIDENCE],
            provenance=value_links(trace, step),
            usage=answer.scores.usage,
        ),
        trace,
    )
    # What a rank alone says of the mode is a guess.
    return answered if answered.certainty != "weak" else answered.model_copy(update={"error_mode": None})


def abstention(run: RunReading, refused: Refusal, *, attributor: str, belief: Sequence[float] = ()) -> Attribution:
    """An answer that names nobody, and why; with the ranking of the steps when the run did fail."""
    trajectory = run.trajectory
    answer = Attribution(
        run_id=trajectory.run_id,
        attributor=attributor,
        abstained=True,
        abstained_reason=refused.reason,
        evidence=refused.evidence,
        candidates=_candidates(trajectory, belief) if refused.reason == ENVIRONMENT_FAULT else (),
    )
    return with_findings(answer, run)


def has_content(trajectory: Trajectory) -> bool:
    """Tell whether there is anything in the trajectory to judge."""
    return any(step.content.strip() or step.tool_calls or step.error or step.recipient for step in trajectory.steps)


def mode_of(answer: AttributorAnswer, step: int, agent: str) -> ErrorMode:
    """Name how the agent went wrong: as the rules say of this very step, else the likeliest mode of the agent."""
    told = mode_in([signal for signal in answer.signals if signal.step == step and signal.weight >= 1.0])
    if told is not None:
        return told
    modes = {mode: odds for (name, mode), odds in answer.scores.modes.items() if name == agent}
    if modes:
        return max(modes, key=lambda mode: modes[mode])
    weak = [signal for signal in answer.signals if signal.step == step]
    return max(weak, key=lambda signal: signal.weight).mode if weak else ErrorMode.FM_1_1


def _sure_of(agent: str, trajectory: Trajectory, answer: AttributorAnswer, belief: Sequence[float]) -> float:
    """Never less than the confidence: where the step is right, so is the agent."""
    summed = sum(own for own, step in zip(belief, trajectory.steps, strict=True) if step.agent == agent)
    return min(1.0, max(summed if answer.agent_belief is None else answer.agent_belief, max(belief)))


def _candidates(trajectory: Trajectory, belief: Sequence[float]) -> tuple[Candidate, ...]:
    ranked = sorted(range(len(belief)), key=lambda step: (-belief[step], step))
    return tuple(
        Candidate(agent=trajectory.steps[step].agent, step=step, score=int(belief[step] * 1e6) / 1e6)
        for step in ranked[:MAX_CANDIDATES]
        if belief[step] > 0
    )
