"""Observe, diagnose and repair CrewAI teams with tracer-hooks."""

from tracer_hooks_crewai._adapter import CrewAIAdapter

__all__ = ["CrewAIAdapter"]
