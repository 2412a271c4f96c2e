"""What replay and fault injection need of a team: that it can be run again on the same task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tracer_hooks.frameworks import Intervention, Verdict
from tracer_hooks.replay._tape import Tape
from tracer_hooks.schema import RunKind, RunOutcome, Trajectory


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One run of the team, with everything that replay needs of it."""

    trajectory: Trajectory
    """What happened; its ``outcome`` is what the check said."""
    tape: Tape
    """Every model and tool reply of it."""
    output: str = ""
    """The answer as text."""
    error: BaseException | None = None
    """What the run raised."""
    duration_s: float = 0.0
    """How long it took, in seconds."""
    verdict: Verdict | None = None
    """What the check said; None without one, and for a run that raised."""

    @property
    def passed(self) -> bool:
        """Whether the check was satisfied."""
        return self.trajectory.outcome is RunOutcome.SUCCEEDED

    @property
    def failed(self) -> bool:
        """Whether the run failed; a run that was broken off neither passed nor failed."""
        return self.trajectory.outcome is RunOutcome.FAILED


class TeamRunner(Protocol):
    """Runs one team on one task, again and again, each time on a team that is as good as new.

    ``tracer_hooks.rerunner(build_team, task, check=...)`` makes one; it may be used from several threads.
    """

    @property
    def task(self) -> str:
        """What the team is asked to do."""
        ...

    def run(self, intervention: Intervention | None = None, *, kind: RunKind = RunKind.REPLAY) -> Trial:
        """Run the team once.

        Args:
            intervention: Asked before and after every model and tool call.
            kind: Why the run takes place; goes onto its spans.

        Raises:
            ReplayError: The intervention left its tape.
            AdapterError: The team could not be built.
        """
        ...
