"""Programming exercises with their tests and right solutions, written for this library."""

from tracer_hooks.suites._exercises._easy import EASY
from tracer_hooks.suites._exercises._exercise import Exercise
from tracer_hooks.suites._exercises._hard import HARD
from tracer_hooks.suites._exercises._medium import MEDIUM

__all__ = ["EASY", "HARD", "MEDIUM", "Exercise"]
