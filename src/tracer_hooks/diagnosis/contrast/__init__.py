"""``contrast``: a failed run beside passing runs of the same team."""

from tracer_hooks.diagnosis.contrast._attributor import (
    NO_COMPARISON,
    ContrastAttributor,
    ContrastOptions,
    GivenRuns,
    RunSource,
)
from tracer_hooks.diagnosis.contrast._comparison import Alignment, align, partners_of_steps
from tracer_hooks.diagnosis.contrast._divergence import Divergences
from tracer_hooks.diagnosis.contrast._marks import DivergenceKind, Mark

__all__ = [
    "NO_COMPARISON",
    "Alignment",
    "ContrastAttributor",
    "ContrastOptions",
    "DivergenceKind",
    "Divergences",
    "GivenRuns",
    "Mark",
    "RunSource",
    "align",
    "partners_of_steps",
]
