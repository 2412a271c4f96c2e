"""The rule-based attributor and its rules."""

from tracer_hooks.attribution._structural._attributor import StructuralAttributor
from tracer_hooks.attribution._structural._outcome import expected_values

__all__ = ["StructuralAttributor", "expected_values"]
