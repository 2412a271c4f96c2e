"""Texts that reach somebody: not every team shows us what its models are asked."""

from __future__ import annotations

from tracer_hooks._guard import warn_once
from tracer_hooks.repairs import Failure, Repair, RepairStrategy, RepairTarget


class Deliverable:
    """A strategy as far as it can be carried out.

    What is added to the task or to a message goes through the team's model calls, and where none was recorded there is
    no way in. A repair in another's name, or of something that is no repair, is left out, too.

    Args:
        strategy: The strategy.
    """

    def __init__(self, strategy: RepairStrategy) -> None:
        self.name = strategy.name
        self._strategy = strategy

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        """See :class:`~tracer_hooks.repairs.RepairStrategy`.

        Raises:
            TypeError: The strategy gave something else than a repair.
        """
        repair: object = self._strategy.propose(failure, step)
        if repair is None:
            return None
        if not isinstance(repair, Repair):
            raise TypeError(f"the strategy {self.name!r} gave {type(repair).__name__!r}, expected a Repair or None")
        if repair.target is RepairTarget.REPLY:
            self._leave_out("proposed what an agent says: such a run is not the team's own work")
            return None
        if repair.target in (RepairTarget.TASK, RepairTarget.MESSAGE) and not failure.steps:
            return None
        if repair.resume_from is not None and repair.resume_from not in failure.steps:
            self._leave_out("proposed to resume at a step that the run cannot be resumed at")
            return None
        return repair.model_copy(update={"strategy": self.name})

    def _leave_out(self, why: str) -> None:
        warn_once(
            f"repair strategy {self.name} {why}",
            "repair strategy %r %s. That proposal is left out; this is said once",
            self.name,
            why,
        )
