"""Reading a trajectory: roles, passages, numbers, and what is known of its outcome."""

from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis._reading._run import RunReading

__all__ = ["Role", "RunReading"]
