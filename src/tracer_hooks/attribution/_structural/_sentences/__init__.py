"""One plain sentence for each feature that may be shown as evidence."""

from tracer_hooks.attribution._structural._sentences._table import SENTENCES
from tracer_hooks.attribution._structural._sentences._telling import Said, Sentence
from tracer_hooks.attribution._structural._sentences._values import carried_on

__all__ = ["SENTENCES", "Said", "Sentence", "carried_on"]
