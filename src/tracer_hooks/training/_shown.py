"""A Trainer's progress as ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, Self

from transformers import TrainerCallback

from tracer_hooks.training._progress import Progress


class Shown(TrainerCallback):
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
