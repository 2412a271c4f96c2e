"""The suites by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tracer_hooks import tasks
from tracer_hooks.errors import ConfigError
from tracer_hooks.frameworks import RunResult, Verdict
from tracer_hooks.tasks import USER_SUITE, SuiteTask
from tracer_hooks_lab.suites._arithmetic import ARITHMETIC, WORD_SUMS
from tracer_hooks_lab.suites._code import CODE
from tracer_hooks_lab.suites._logic import LOGIC
from tracer_hooks_lab.suites._orders import ORDERS
from tracer_hooks_lab.suites._suite import Environment, Suite

_SUITES: Final[Mapping[str, Suite]] = {suite.name: suite for suite in (ARITHMETIC, CODE, LOGIC, ORDERS, WORD_SUMS)}


def suite_names() -> tuple[str, ...]:
    """The names of all suites, sorted."""
    return tuple(sorted(_SUITES))


def get_suite(name: str) -> Suite:
    """The suite called ``name``.

    Raises:
        ConfigError: There is none.
    """
    if name not in _SUITES:
        raise ConfigError(f"unknown suite {name!r}; expected one of {', '.join(suite_names())}")
    return _SUITES[name]


def check_of(task: SuiteTask, environment: Environment | None = None) -> Callable[[RunResult, str], Verdict]:
    """The check of ``task``, for ``tracer_hooks.hook(check=...)``.

    A task from a user's own file is compared with its reference.

    Args:
        task: The task that the team works on.
        environment: What the team's tools work on; needed for the suite ``orders``.

    Raises:
        ConfigError: The task's suite is unknown, or nothing is there that it could be graded by.
    """
    if task.suite == USER_SUITE:
        return tasks.check_of(task)
    suite = get_suite(task.suite)
    if environment is None and suite.environment(task).tools:
        raise ConfigError(f"task {task.id!r} changes its environment: pass the one that the team's tools work on")
    return lambda result, _text: suite.check(task, result, environment)
