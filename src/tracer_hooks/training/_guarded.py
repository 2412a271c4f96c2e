"""What every trainer here does beside training: it stops with the step's name when something goes wrong."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import TrainerCallback

from tracer_hooks._limits import brief
from tracer_hooks.errors import TrainingError
from tracer_hooks.training import _checkpoints

if TYPE_CHECKING:
    Mixin = Any
else:
    Mixin = object

_NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "defaultcpuallocator")


class Guarded(Mixin):  # type: ignore[misc]
    """Mixed into a Trainer of transformers, before it.

    A loss that is no number, a device without memory and a checkpoint that cannot be written end the run with an error
    that names the step and the last good checkpoint. No checkpoint is written of weights that are no numbers.
    """

    def training_step(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """One batch; see the base."""
        try:
            loss: torch.Tensor = super().training_step(*args, **kwargs)
        except (RuntimeError, MemoryError) as error:
            if isinstance(error, MemoryError) or any(one in str(error).lower() for one in _NO_MEMORY):
                raise TrainingError(
                    f"{self._where}: the device has no memory left ({brief(str(error))}). {self._kept}. Halve batch "
                    "and double accumulation, set gradient_checkpointing = true, or set context_tokens lower"
                ) from error
            raise
        if not bool(torch.isfinite(loss).all()):
            raise TrainingError(
                f"{self._where}: the loss is {float(loss.mean())}. {self._kept}. Set rate lower, or "
                "precision = 'float32'"
            )
        return loss

    def _save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
        bad = next((name for name, one in self.model.named_parameters() if not bool(torch.isfinite(one).all())), None)
        if bad is not None:
            raise TrainingError(f"{self._after}: the weight {bad!r} is no number any more. {self._kept}")
        try:
            super()._save_checkpoint(*args, **kwargs)
            if self.args.should_save:
                _checkpoints.mark_whole(Path(self.args.output_dir) / f"checkpoint-{self.state.global_step}")
        except (OSError, RuntimeError) as error:  # torch tells a full disk as RuntimeError
            raise TrainingError(
                f"{self._after}: the checkpoint cannot be written: {brief(str(error))}. {self._kept}. Make room, and "
                "run the same command with --resume"
            ) from error

    @property
    def _where(self) -> str:
        return f"step {self.state.global_step + 1} of {self.state.max_steps}"

    @property
    def _after(self) -> str:
        return f"after step {self.state.global_step} of {self.state.max_steps}"

    @property
    def _kept(self) -> str:
        found = _checkpoints.last_whole(Path(self.args.output_dir).parent)
        return "There is no checkpoint yet" if found is None else f"The last good checkpoint is {str(found)!r}"


class TimeLimit(TrainerCallback):
    """Ends training after some minutes, with a checkpoint."""

    def __init__(self, minutes: float) -> None:
        self._minutes, self._began = minutes, time.monotonic()

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """The time begins with the first step."""
        self._began = time.monotonic()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Look at the clock."""
        if time.monotonic() - self._began > 60 * self._minutes:
            control.should_training_stop = control.should_save = True
