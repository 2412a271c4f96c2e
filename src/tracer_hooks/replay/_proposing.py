"""The corrections that a proposer writes, checked before anybody is told them."""

from __future__ import annotations

from dataclasses import replace

from tracer_hooks.errors import ReplayError
from tracer_hooks.repairs import Failure, Repair, Secrets, leaks, masked_feedback
from tracer_hooks.replay._correction import Correction
from tracer_hooks.replay._counterfactual import CorrectionOf, StepReplay
from tracer_hooks.replay._proposers import Proposer
from tracer_hooks.schema import Attribution
from tracer_hooks.telemetry import suppressed


def corrections_by(
    proposer: Proposer, replay: StepReplay, *, attribution: Attribution | None = None, reference: str | None = None
) -> CorrectionOf:
    """What gives the correction of each step, as ``proposer`` writes it; each one is written once.

    It raises ReplayError for a step without a correction, and for one whose correction gives the expected answer away.
    The tokens that it takes to write one are counted as spent.

    Args:
        proposer: Writes the corrections.
        replay: The failed run.
        attribution: The diagnosis.
        reference: The expected answer, where the caller wants the proposer to see it; nothing is then checked.
    """
    failure = _failure(replay, attribution, reference)
    secrets = Secrets(None) if reference is not None else Secrets.of(replay.recorded.trajectory)
    written: dict[int, Correction] = {}

    def correction_of(step: int) -> Correction:
        if step not in written:
            with suppressed():
                repair = _expect_repair(proposer, proposer.propose(failure, step), failure, step)
            replay.spending.charge(repair.usage)
            if leaks(repair, secrets, instructions=failure.instructions(repair.agent or "")):
                raise ReplayError(
                    f"what the proposer {proposer.name!r} wrote for step {step} gives the expected answer away, and "
                    "was not run. Use another proposer, or let it see the answer with show_reference=True"
                )
            written[step] = Correction.of(repair)
        return written[step]

    return correction_of


def _failure(replay: StepReplay, attribution: Attribution | None, reference: str | None) -> Failure:
    """The failed run as proposers see it."""
    run = replay.recorded.trajectory
    told = masked_feedback(run.outcome_reason, run.reference, answer=run.final_output or "")
    failure = Failure.of(run, attribution, feedback=told.text, steps=replay.steps)
    if reference is None:
        return failure
    shown = failure.trajectory.model_copy(update={"reference": reference})
    return replace(failure, trajectory=shown, attribution=attribution)


def _expect_repair(proposer: Proposer, repair: object, failure: Failure, step: int) -> Repair:
    """What the proposer gave, if it can be carried out at the step.

    Raises:
        ReplayError: It cannot.
    """
    if repair is None:
        raise ReplayError(
            f"the proposer {proposer.name!r} has nothing to propose for step {step}. Use another proposer"
        )
    if not isinstance(repair, Repair):
        raise ReplayError(
            f"the proposer {proposer.name!r} gave {type(repair).__name__!r} for step {step}, expected a "
            "tracer_hooks.repairs.Repair or None"
        )
    agent = failure.agent_at(step)
    if repair.agent not in (None, agent) or repair.resume_from not in (None, step):
        raise ReplayError(
            f"the proposer {proposer.name!r} proposed something for {repair.agent!r} at step {repair.resume_from}, "
            f"expected it for {agent!r} at step {step}"
        )
    return repair
