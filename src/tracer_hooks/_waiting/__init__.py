"""Work in the background, and how long a process waits for it at its end. Stands beside all layers."""

from tracer_hooks._waiting._at_exit import Pending, before_exit, wait_at_exit, wait_for_all, waits_at_exit
from tracer_hooks._waiting._daemon import in_daemon_thread, start_daemon
from tracer_hooks._waiting._lane import Lane
from tracer_hooks._waiting._moment import Moment

__all__ = [
    "Lane",
    "Moment",
    "Pending",
    "before_exit",
    "in_daemon_thread",
    "start_daemon",
    "wait_at_exit",
    "wait_for_all",
    "waits_at_exit",
]
