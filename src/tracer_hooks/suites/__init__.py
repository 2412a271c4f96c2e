"""Offline tasks with graders, and team architectures that work on them: to build labelled data without any service."""

from tracer_hooks.suites._endpoint import Endpoint
from tracer_hooks.suites._registry import check_of, get_suite, suite_names
from tracer_hooks.suites._sandbox import AssertOutcome, SandboxLimits, SandboxResult, run_python
from tracer_hooks.suites._suite import Difficulty, Environment, Suite
from tracer_hooks.suites._task import SuiteTask, load_tasks, save_tasks

__all__ = [
    "AssertOutcome",
    "Difficulty",
    "Endpoint",
    "Environment",
    "SandboxLimits",
    "SandboxResult",
    "Suite",
    "SuiteTask",
    "check_of",
    "get_suite",
    "load_tasks",
    "run_python",
    "save_tasks",
    "suite_names",
]
