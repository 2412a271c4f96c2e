"""How far a build is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a phase of a build is."""

    phase: str
    """``runs``, ``faults`` or ``failures``."""
    done: int
    """Units that are done, earlier sessions included."""
    total: int
    """All units of the phase."""
    kept: int
    """Of those, how many gave what was wanted: runs that succeeded, verified faults, labelled failures."""
    resumed: int = 0
    """Of those that are done, how many were done in earlier sessions."""
