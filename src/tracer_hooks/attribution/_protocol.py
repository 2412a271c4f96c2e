"""What every attributor offers."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from tracer_hooks.schema import Attribution, Trajectory


@runtime_checkable
class Attributor(Protocol):
    """Names the agent and the step that made a run fail.

    The contract, whatever the method:

    - An answer names only an agent and a step that stand in the trajectory, and the agent is the one that acted there.
    - The scores of the candidates sum to at most 1; ``confidence`` is a probability, not a rank.
    - Every quotation in ``evidence`` and ``spread`` stands word for word in the step that it names.
    - A trajectory that cannot be judged gives an abstention with its reason, never an exception.
    - The trajectory is not changed, and the same trajectory gives the same answer.
    """

    name: str
    """The name that :func:`~tracer_hooks.attribution.get_attributor` knows it by."""

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        """Diagnose one run.

        Args:
            trajectory: What happened.
            reference: The expected answer, when it may be used; ``trajectory.reference`` is not looked at.

        Returns:
            The answer, or an abstention with its reason.
        """
        ...


@runtime_checkable
class Concurrent(Protocol):
    """An attributor that may be asked about several runs at the same time; see ``diagnose_each``."""

    @property
    def concurrency(self) -> int:
        """How many."""
        ...
