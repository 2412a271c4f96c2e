"""``contrast``: a failed run beside passing runs of the same team."""

from tracer_hooks.attribution._contrast._alignment import Alignment, align
from tracer_hooks.attribution._contrast._attributor import NO_COMPARISON, ContrastAttributor
from tracer_hooks.attribution._contrast._divergence import Divergences
from tracer_hooks.attribution._contrast._formulas import Formula, famas, scaled, suspiciousness
from tracer_hooks.attribution._contrast._marks import Divergence, Mark
from tracer_hooks.attribution._contrast._options import ContrastOptions
from tracer_hooks.attribution._contrast._sources import GivenRuns, RunSource

__all__ = [
    "NO_COMPARISON",
    "Alignment",
    "ContrastAttributor",
    "ContrastOptions",
    "Divergence",
    "Divergences",
    "Formula",
    "GivenRuns",
    "Mark",
    "RunSource",
    "align",
    "famas",
    "scaled",
    "suspiciousness",
]
