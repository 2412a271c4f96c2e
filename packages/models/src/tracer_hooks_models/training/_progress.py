"""Progress of a training run: on a console, in silence, and as a callback of transformers' Trainer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Protocol, Self

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
from transformers import TrainerCallback


class Progress(Protocol):
    """Reporter of the progress of a training run."""

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


class ProgressCallback(TrainerCallback):
    """Tells a progress how far a run is; a context manager, so that the bar ends with the run, however it ends."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._stack = progress, ExitStack()
        self._tell: Callable[[int, float], None] = lambda step, loss: None
        self._loss = float("nan")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """The number of steps is known now."""
        if state.is_world_process_zero:
            self._tell = self._stack.enter_context(self._progress.training(state.max_steps))

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **_: Any) -> None:
        """Keep the loss for the next step."""
        self._loss = float((logs or {}).get("loss", self._loss))

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Move the bar."""
        self._tell(state.global_step, self._loss)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """The bar ends."""
        self._stack.close()
