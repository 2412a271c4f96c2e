"""What every way of repairing offers, ours and a third party's."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from tracer_hooks.repairs._failure import Failure
from tracer_hooks.repairs._repair import Repair


@runtime_checkable
class RepairStrategy(Protocol):
    """Proposes repairs of a failed run.

    It never sees the expected answer, and its text is checked for it all the same: one that holds it is a failed trial,
    and is not run. A strategy may raise; the trial is then a plain one.
    """

    name: str
    """Name that its repairs are signed with; what is known of its success is counted under it."""

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        """Propose what a trial is to change.

        Args:
            failure: The failed run, and what was tried before.
            step: The step that the trial resumes at; None for a run from scratch.

        Returns:
            The repair, with this step as its ``resume_from``; None where the strategy has nothing to propose there.
        """
        ...
