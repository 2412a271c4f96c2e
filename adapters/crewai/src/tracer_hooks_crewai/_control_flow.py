"""Exceptions by which CrewAI steers a run; they are not errors."""

from __future__ import annotations

_NAMES = frozenset({"HookAborted", "LegacyHookBlocked", "LLMCallBlockedError", "HumanFeedbackPending"})


def is_control_flow(error: BaseException) -> bool:
    """Whether ``error`` says that a hook stopped the work, or that a human has to answer first."""
    return any(base.__name__ in _NAMES and base.__module__.startswith("crewai") for base in type(error).__mro__)
