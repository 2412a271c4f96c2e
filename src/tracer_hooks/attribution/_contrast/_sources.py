"""Where the runs come from that a run is compared with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from tracer_hooks.errors import ConfigError
from tracer_hooks.schema import Trajectory


@runtime_checkable
class RunSource(Protocol):
    """Something that finds runs to compare a run with: a run store, a folder."""

    def runs_like(self, trajectory: Trajectory) -> Sequence[Trajectory]:
        """Runs of the same team, the most useful first, of a bounded number.

        Runs of the same task should come before others, and newer before older ones. The run itself may be among
        them; it is left out of the comparison by its id.
        """
        ...


Runs: TypeAlias = "RunSource | Iterable[Trajectory]"


class GivenRuns:
    """Runs that are there already.

    Args:
        runs: Any number; read once.

    Raises:
        ConfigError: One of them is no trajectory.
    """

    def __init__(self, runs: Iterable[Trajectory]) -> None:
        self._runs = tuple(runs)
        for run in self._runs:
            if not isinstance(run, Trajectory):
                raise ConfigError(f"expected trajectories to compare with, got {run!r:.80}")

    def runs_like(self, trajectory: Trajectory) -> Sequence[Trajectory]:
        """All of them, in the order in which they were given."""
        return self._runs


def source_of(runs: object) -> RunSource:
    """A source for whatever a caller gave.

    Raises:
        ConfigError: It is neither a source nor an iterable of trajectories.
    """
    if isinstance(runs, RunSource):
        return runs
    if runs is None:
        return GivenRuns(())
    if isinstance(runs, (str, bytes, Trajectory)) or not isinstance(runs, Iterable):
        raise ConfigError(
            f"expected trajectories or an object with runs_like() to compare with, got {type(runs).__name__}. "
            "Next: pass [trajectory, ...], or the files with tracer-hooks diagnose --passing PATH"
        )
    return GivenRuns(runs)
