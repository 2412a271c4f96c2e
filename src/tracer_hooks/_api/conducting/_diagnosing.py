"""A diagnosis that is about the run: what an attributor answers is looked at before anybody acts on it."""

from __future__ import annotations

from tracer_hooks._guard import warn_once
from tracer_hooks.attribution import Attributor, fault_of_answer
from tracer_hooks.schema import Attribution, Trajectory


def checked_diagnosis(
    attributor: Attributor, trajectory: Trajectory, reference: str | None = None
) -> Attribution | None:
    """What ``attributor`` answers; None, with one warning, for an answer about agents or steps that are not there."""
    answer: object = attributor.attribute(trajectory, reference=reference)
    fault = fault_of_answer(answer, trajectory)
    if fault is None:
        return answer  # type: ignore[return-value]  # an Attribution, as the function has just seen
    name = getattr(attributor, "name", type(attributor).__name__)
    warn_once(f"{name}: {fault}", "tracer-hooks leaves out a diagnosis: the attributor %r %s", name, fault)
    return None
