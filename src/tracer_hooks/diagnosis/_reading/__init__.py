"""Reading a trajectory: roles, passages, numbers, and what is known of its outcome."""

from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis._reading._trace import Trace, expected_values

__all__ = ["Role", "Trace", "expected_values"]
