"""The plain retry."""

from __future__ import annotations

from tracer_hooks.repairs import Failure, Repair


class FromScratch:
    """Makes the whole run again and says nothing: what every other repair has to beat."""

    name = "from_scratch"

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        """See :class:`~tracer_hooks.repairs.RepairStrategy`; None at a step."""
        if step is not None:
            return None
        return Repair(strategy=self.name, reason="the whole run is made again, nothing is said")
