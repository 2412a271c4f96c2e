"""What can be set about a comparison."""

from __future__ import annotations

from dataclasses import dataclass

from tracer_hooks.attribution._contrast._formulas import Formula
from tracer_hooks.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastOptions:
    """How runs are compared.

    Raises:
        ConfigError: A number is out of its range.
    """

    nearest: int = 6
    """How many passing runs a run is aligned with: the nearest by task, then by alignment."""
    at_most: int = 20
    """How many runs of either outcome are read at all."""
    formula: Formula = Formula.JACCARD
    """How the spectrum of several runs of one task is weighed. Jaccard counts most that several runs fail in the same
    way; the others differ little from it but for Tarantula, which does not count that at all."""
    without_passing: bool = False
    """Whether runs of the same task that did not pass may stand in when none passed. What only one of them does is
    then suspicious, which finds faults that differ from run to run and misses those that all of them share."""

    def __post_init__(self) -> None:
        if self.nearest < 1:
            raise ConfigError(f"nearest is {self.nearest!r}, expected at least 1")
        if self.at_most < self.nearest:
            raise ConfigError(f"at_most is {self.at_most!r}, expected at least nearest, {self.nearest!r}")
