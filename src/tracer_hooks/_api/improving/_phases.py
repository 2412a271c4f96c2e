"""How far an improvement has come, told while it goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """What is being done."""

    BASELINE = "running the team as it is"
    SEARCH = "looking for better prompts"
    TRIAL = "trying them on other tasks"
    UNUSED = "running tasks that were never used"


@dataclass(frozen=True, kw_only=True)
class ImproveProgress:
    """Where the job stands."""

    phase: Phase
    """What is being done."""
    done: int
    """Runs of this phase that are done."""
    total: int
    """Runs that it takes at most."""
    passed: int
    """How many of those that are done passed."""
    said: str = ""
    """What has just happened, in words; empty where nothing is worth a word."""


class PhaseCounter:
    """Counts the runs of each phase, and tells of every one. Safe to use from several threads.

    Args:
        tell: Told where the job stands.
    """

    def __init__(self, tell: Callable[[ImproveProgress], None]) -> None:
        self._tell = tell
        self._totals = dict.fromkeys(Phase, 0)
        self._done = dict.fromkeys(Phase, (0, 0))
        self._lock = threading.Lock()

    def expect(self, phase: Phase, total: int) -> None:
        """Say how many runs a phase takes at most."""
        self._totals[phase] = total

    def count(self, phase: Phase, passed: bool) -> None:
        """Count a run."""
        with self._lock:
            done, passes = self._done[phase]
            self._done[phase] = done + 1, passes + passed
            self._say(phase)

    def say(self, phase: Phase, said: str) -> None:
        """Tell what has just happened."""
        with self._lock:
            self._say(phase, said)

    def _say(self, phase: Phase, said: str = "") -> None:
        done, passed = self._done[phase]
        total = max(done, self._totals[phase])
        self._tell(ImproveProgress(phase=phase, done=done, total=total, passed=passed, said=said))
