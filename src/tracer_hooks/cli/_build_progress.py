"""A build on a terminal: a bar for each phase, and what Ctrl-C does."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tracer_hooks.cli._bars import ProgressDisplay
from tracer_hooks.cli._console import err
from tracer_hooks.datasets import Progress

_WORDS = {
    "runs": ("running teams", "succeeded"),
    "faults": ("injecting faults", "verified"),
    "failures": ("replaying failures", "labelled"),
}


class BuildProgress(ProgressDisplay):
    """Shows how far each phase is: bars on a terminal, else a line when a phase begins and ends.

    Args:
        console: Where to.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(
            console, TextColumn("{task.description:<18}"), BarColumn(), MofNCompleteColumn(),
            TextColumn("{task.fields[kept]}"), TimeElapsedColumn(), TimeRemainingColumn(), on_terminals_only=True,
        )  # fmt: skip
        self._console = console
        self._tasks: dict[str, TaskID] = {}

    def tell(self, progress: Progress) -> None:
        """Show one step forward."""
        name, word = _WORDS[progress.phase]
        kept = f"{progress.kept} {word}"
        if progress.resumed:
            kept += f" ({progress.resumed} done before)"
        is_new = progress.phase not in self._tasks
        if is_new:
            self._tasks[progress.phase] = self._bars.add_task(
                name, total=progress.total, completed=progress.done, kept=kept
            )
        else:
            self._bars.update(self._tasks[progress.phase], completed=progress.done, kept=kept)
        if not self._console.is_terminal and (is_new or progress.done == progress.total):
            self._console.print(f"{name}: {progress.done} of {progress.total}, {kept}", soft_wrap=True)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C and a termination signal end the work in good order, and say so the first time."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        err().print("stopping; runs that have begun are finished first, Ctrl-C again does not wait for them")
        for one in before:
            signal.signal(one, signal.default_int_handler)
        raise KeyboardInterrupt

    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    for one in before:
        signal.signal(one, stop)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
