"""A sentence on what a trace lacks."""

from __future__ import annotations

from tracer_hooks.datasets import lacks
from tracer_hooks.schema import Trajectory

_ANSWER = "the final answer"


def missing_from(trajectory: Trajectory) -> tuple[str, ...]:
    """What the run lacks, in words; a conversation's last message is its answer, so that it lacks none."""
    found = lacks(trajectory)
    return found if trajectory.trace_id is not None else tuple(one for one in found if one != _ANSWER)


def fidelity_line(missing: tuple[str, ...]) -> str:
    """One sentence for people; empty where nothing is missing."""
    if not missing:
        return ""
    listed = missing[0] if len(missing) == 1 else f"{', '.join(missing[:-1])} and {missing[-1]}"
    return f"This trace lacks {listed}: expect lower accuracy."
