"""What came of one fault, and the labelled trajectory that a verified one gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tracer_hooks.errors import FaultError
from tracer_hooks.schema import AgentFault, DecisiveStep, Json, LabeledTrajectory, LabelSource, Trajectory
from tracer_hooks_lab.faults._fault_intervention import AppliedFault
from tracer_hooks_lab.faults._spec import FaultSpec
from tracer_hooks_lab.faults._verification import Verification

_REASON_CHARS = 300


@dataclass(frozen=True, kw_only=True)
class Injection:
    """What came of one fault."""

    spec: FaultSpec
    """The fault, its agent and step filled in."""
    clean: Trajectory
    """The run without it."""
    verification: Verification
    """What speaks for it."""
    discarded: str | None = None
    """Why it does not count; None for a verified fault."""
    is_broken_off: bool = False
    """Whether it was broken off, by a model that gave no answer or by a cap, and so says nothing of the fault."""
    faulty: Trajectory | None = None
    """A run that failed with it; None unless it is verified."""
    applied: AppliedFault | None = None
    """What was changed, also where the fault is discarded; None when nothing was."""
    eligible_steps: tuple[int, ...] = field(default=())
    """The steps of the run that a fault could have been put into."""

    @property
    def is_verified(self) -> bool:
        """Whether the run fails with the fault, and succeeds without."""
        return self.discarded is None

    def labeled(
        self,
        *,
        question_id: str | None = None,
        reference: str | None = None,
        origin: Mapping[str, Json] | None = None,
    ) -> LabeledTrajectory:
        """The failed run with its label: the agent and step that the fault was put into.

        Args:
            question_id: Groups the runs of one question, for splits.
            reference: The expected answer, to be kept in the trajectory.
            origin: More entries of ``verification``, such as the architecture.

        Raises:
            FaultError: The fault is not verified.
        """
        applied, faulty, spec = self.applied, self.faulty, self.spec
        if self.discarded is not None or applied is None or faulty is None:
            raise FaultError(f"fault {spec.fault_id} was discarded ({self.discarded}), expected a verified one")
        reason = f"{applied.kind}: {applied.before[:_REASON_CHARS]!r} -> {applied.after[:_REASON_CHARS]!r}"
        kept = {"reference": reference if reference is not None else faulty.reference}
        return LabeledTrajectory(
            trajectory=faulty.model_copy(update=kept),
            decisive=DecisiveStep(agent=applied.agent, step=applied.step, error_mode=spec.mode, reason=reason),
            faults=(AgentFault(agent=applied.agent, error_mode=spec.mode),),
            label_source=LabelSource.INJECTED,
            question_id=question_id,
            seed=spec.seed,
            fault_id=spec.fault_id,
            verification={**(origin or {}), **self._evidence(applied)},
        )

    def _evidence(self, applied: AppliedFault) -> dict[str, Json]:
        checked = self.verification
        return {
            "strategy": self.spec.strategy.value,
            "kind": applied.kind,
            "writer": self.spec.writer,
            "clean_run_id": self.clean.run_id,
            "eligible_steps": list(self.eligible_steps),
            "faulty_runs": checked.faulty_runs,
            "faulty_failures": checked.faulty_failures,
            "control_runs": checked.control_runs,
            "control_passes": checked.control_passes,
            "runs": checked.runs,
            "tokens": checked.tokens,
            "seconds": round(checked.seconds, 3),
        }
