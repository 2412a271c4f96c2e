"""Observe, diagnose and repair AutoGen teams with tracer-hooks."""

from tracer_hooks_autogen._adapter import AutoGenAdapter

__all__ = ["AutoGenAdapter"]
