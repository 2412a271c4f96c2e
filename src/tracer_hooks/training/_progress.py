"""How a training run tells of its progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress


class Progress(Protocol):
    """What a training run reports to."""

    def phase(self, name: str) -> AbstractContextManager[Callable[[], None]]:
        """A phase of unknown length begins; the function is called for each thing done."""
        ...

    def training(self, total: int) -> AbstractContextManager[Callable[[int, float], None]]:
        """Training begins; the function is told the step and the running mean of the loss."""
        ...


class Silent:
    """Reports nothing."""

    @contextmanager
    def phase(self, name: str) -> Iterator[Callable[[], None]]:
        """See :class:`Progress`."""
        yield lambda: None

    @contextmanager
    def training(self, total: int) -> Iterator[Callable[[int, float], None]]:
        """See :class:`Progress`."""
        yield lambda step, loss: None


class OnConsole:
    """Bars on a terminal; elsewhere one line now and then, for a log.

    Args:
        console: Where to.
        every: Without a terminal, training says how it goes every so many steps.
    """

    def __init__(self, console: Console, every: int = 20) -> None:
        self._console = console
        self._every = every

    @contextmanager
    def phase(self, name: str) -> Iterator[Callable[[], None]]:
        """See :class:`Progress`."""
        if not self._console.is_terminal:
            self._console.print(f"{name} …")
            yield lambda: None
            return
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TextColumn("{task.completed}"),
            TimeElapsedColumn(),
        )
        with RichProgress(*columns, console=self._console) as bar:
            task = bar.add_task(name, total=None)
            yield lambda: bar.advance(task)

    @contextmanager
    def training(self, total: int) -> Iterator[Callable[[int, float], None]]:
        """See :class:`Progress`."""
        if not self._console.is_terminal:
            yield lambda step, loss: self._line(step, total, loss)
            return
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        with RichProgress(*columns, console=self._console) as bar:
            task = bar.add_task("training", total=total)
            yield lambda step, loss: bar.update(task, completed=step, description=f"training, loss {loss:.3f}")

    def _line(self, step: int, total: int, loss: float) -> None:
        if step % self._every == 0 or step == total:
            self._console.print(f"step {step}/{total}, loss {loss:.3f}")
