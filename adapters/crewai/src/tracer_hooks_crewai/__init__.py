"""Observe, diagnose and repair CrewAI teams with tracer-hooks."""
