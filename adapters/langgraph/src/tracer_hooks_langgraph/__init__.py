"""Observe, diagnose and repair LangGraph teams with tracer-hooks."""
