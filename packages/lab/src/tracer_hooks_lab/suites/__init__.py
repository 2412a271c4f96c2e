"""Offline tasks with graders, and team architectures that work on them: to build labelled data without any service."""

from typing import TYPE_CHECKING

from tracer_hooks.extension import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.endpoint import Endpoint as Endpoint
    from tracer_hooks.tasks import SuiteTask as SuiteTask
    from tracer_hooks.tasks import load_tasks as load_tasks
    from tracer_hooks.tasks import save_tasks as save_tasks
    from tracer_hooks_lab.suites._registry import check_of as check_of
    from tracer_hooks_lab.suites._registry import get_suite as get_suite
    from tracer_hooks_lab.suites._registry import suite_names as suite_names
    from tracer_hooks_lab.suites._sandbox import AssertOutcome as AssertOutcome
    from tracer_hooks_lab.suites._sandbox import BubblewrapState as BubblewrapState
    from tracer_hooks_lab.suites._sandbox import Isolation as Isolation
    from tracer_hooks_lab.suites._sandbox import SandboxLimits as SandboxLimits
    from tracer_hooks_lab.suites._sandbox import SandboxResult as SandboxResult
    from tracer_hooks_lab.suites._sandbox import bubblewrap_state as bubblewrap_state
    from tracer_hooks_lab.suites._sandbox import isolation_in_words as isolation_in_words
    from tracer_hooks_lab.suites._sandbox import run_python as run_python
    from tracer_hooks_lab.suites._suite import Difficulty as Difficulty
    from tracer_hooks_lab.suites._suite import Environment as Environment
    from tracer_hooks_lab.suites._suite import Suite as Suite

__all__ = lazy_names(__name__)
