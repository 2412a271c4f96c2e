"""Rules over the structure of a run: errors, tool results, values, repetition, hand-offs.

The attributor that answers by them alone is in ``_attributor``: it abstains like all others, and what decides about
that rests on these rules.
"""

from tracer_hooks.diagnosis._rules._registry import signals_of

__all__ = ["signals_of"]
