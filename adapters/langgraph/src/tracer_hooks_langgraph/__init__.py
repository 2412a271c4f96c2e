"""Observe, diagnose and repair LangGraph teams with tracer-hooks."""

from tracer_hooks_langgraph._adapter import LangGraphAdapter

__all__ = ["LangGraphAdapter"]
