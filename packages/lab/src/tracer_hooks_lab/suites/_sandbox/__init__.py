"""Where the code of answers runs: in bubblewrap where that works, else in a process of its own with limits."""

from tracer_hooks_lab.suites._sandbox._bubblewrap import BubblewrapState, bubblewrap_state
from tracer_hooks_lab.suites._sandbox._job import AssertOutcome, Isolation, SandboxLimits, SandboxResult
from tracer_hooks_lab.suites._sandbox._run import demand_isolation, isolation_in_words, run_python

__all__ = [
    "AssertOutcome",
    "BubblewrapState",
    "Isolation",
    "SandboxLimits",
    "SandboxResult",
    "bubblewrap_state",
    "demand_isolation",
    "isolation_in_words",
    "run_python",
]
