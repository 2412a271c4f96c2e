"""Which candidates a report shows."""

from __future__ import annotations

from typing import Final

from tracer_hooks.schema import Attribution, Candidate

ON_PAGE: Final = 8
"""How many a page lists, and marks in its timeline."""
_LEAST: Final = 0.005  # below it a belief reads 0%


def visible(attribution: Attribution) -> list[Candidate]:
    """The candidates, best first, without those whose belief would read 0%."""
    return [each for each in attribution.candidates if each.score >= _LEAST]
