"""Exceptions by which CrewAI steers a run; they are not errors."""

from __future__ import annotations

_NAMES = frozenset({"HookAborted", "LegacyHookBlocked", "LLMCallBlockedError", "HumanFeedbackPending"})


def is_control_flow(error: BaseException) -> bool:
    """Whether ``error`` says that a hook stopped the work, or that a human has to answer first."""
    return _is_a(error, _NAMES)


def is_failure_policy(error: BaseException) -> bool:
    """Whether ``error`` only says that a tool failed and that the crew is to stop at failing tools."""
    return _is_a(error, frozenset({"ToolExecutionFailedError"}))


def _is_a(error: BaseException, names: frozenset[str]) -> bool:
    return any(base.__name__ in names and base.__module__.startswith("crewai") for base in type(error).__mro__)
