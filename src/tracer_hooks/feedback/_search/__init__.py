"""Which repair to try next: what is known of each kind, what is believed of this run, and a choice between them."""

from tracer_hooks.feedback._search._counts import CountRow, EffectCounts
from tracer_hooks.feedback._search._features import FROM_SCRATCH, RESAMPLE
from tracer_hooks.feedback._search._search import RepairSearch

__all__ = ["FROM_SCRATCH", "RESAMPLE", "CountRow", "EffectCounts", "RepairSearch"]
