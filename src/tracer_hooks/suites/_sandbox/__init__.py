"""Where the code of answers runs: in bubblewrap where that works, else in a process of its own with limits."""

from tracer_hooks.suites._sandbox._limits import SandboxLimits
from tracer_hooks.suites._sandbox._outcome import AssertOutcome, Isolation, SandboxResult
from tracer_hooks.suites._sandbox._probe import BubblewrapState, bubblewrap_state
from tracer_hooks.suites._sandbox._run import demand_isolation, isolation_in_words, run_python

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
