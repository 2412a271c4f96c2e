"""How findings are put before a reader: readable quotations, short pieces of text, one line for each passage."""

from tracer_hooks.attribution._wording._grouping import grouped
from tracer_hooks.attribution._wording._quoting import one_line, readable, sentence, words_listed

__all__ = ["grouped", "one_line", "readable", "sentence", "words_listed"]
