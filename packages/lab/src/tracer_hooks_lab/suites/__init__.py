"""Offline tasks with graders, and team architectures that work on them: to build labelled data without any service."""

from typing import TYPE_CHECKING

from tracer_hooks.extension import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.endpoint import Endpoint
    from tracer_hooks.tasks import SuiteTask, load_tasks, save_tasks
    from tracer_hooks_lab.suites._registry import check_of, get_suite, suite_names
    from tracer_hooks_lab.suites._sandbox import (
        AssertOutcome,
        BubblewrapState,
        Isolation,
        SandboxLimits,
        SandboxResult,
        bubblewrap_state,
        isolation_in_words,
        run_python,
    )
    from tracer_hooks_lab.suites._suite import Difficulty, Environment, Suite

__all__ = [
    "AssertOutcome",
    "BubblewrapState",
    "Difficulty",
    "Endpoint",
    "Environment",
    "Isolation",
    "SandboxLimits",
    "SandboxResult",
    "Suite",
    "SuiteTask",
    "bubblewrap_state",
    "check_of",
    "get_suite",
    "isolation_in_words",
    "load_tasks",
    "run_python",
    "save_tasks",
    "suite_names",
]

lazy_names(
    __name__,
    {
        "tracer_hooks.endpoint": ("Endpoint",),
        "tracer_hooks.tasks": (
            "SuiteTask",
            "load_tasks",
            "save_tasks",
        ),
        "._registry": (
            "check_of",
            "get_suite",
            "suite_names",
        ),
        "._sandbox": (
            "AssertOutcome",
            "BubblewrapState",
            "Isolation",
            "SandboxLimits",
            "SandboxResult",
            "bubblewrap_state",
            "isolation_in_words",
            "run_python",
        ),
        "._suite": (
            "Difficulty",
            "Environment",
            "Suite",
        ),
    },
)
