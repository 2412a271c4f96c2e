"""A figure with its interval."""

from __future__ import annotations

from pydantic import Field

from tracer_hooks.schema import Record


class Measure(Record):
    """One figure."""

    value: float
    """The figure, as a fraction."""
    low: float | None = None
    """Lower end of the 95 % bootstrap interval; None when there are no draws or fewer than two questions."""
    high: float | None = None
    """Upper end."""
    runs: int = Field(ge=0)
    """How many runs stand behind it."""
