"""Rules over the structure of a run: errors, tool results, values, repetition, hand-offs."""

from tracer_hooks.attribution._rules._attributor import RulesAttributor
from tracer_hooks.attribution._rules._registry import signals_of

__all__ = ["RulesAttributor", "signals_of"]
