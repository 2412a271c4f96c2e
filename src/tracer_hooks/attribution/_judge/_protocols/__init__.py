"""The ways of asking a judge which step was the decisive error."""

from tracer_hooks.attribution._judge._protocols._all_at_once import all_at_once
from tracer_hooks.attribution._judge._protocols._binary_search import binary_search
from tracer_hooks.attribution._judge._protocols._ranked import ranked
from tracer_hooks.attribution._judge._protocols._shortlist import shortlist
from tracer_hooks.attribution._judge._protocols._step_by_step import step_by_step
from tracer_hooks.attribution._judge._protocols._windowed import windowed

__all__ = ["all_at_once", "binary_search", "ranked", "shortlist", "step_by_step", "windowed"]
