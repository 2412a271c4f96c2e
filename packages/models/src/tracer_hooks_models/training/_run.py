"""Course of a training run: folder, options for transformers, whole checkpoints, rows, errors that name the step."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import EarlyStoppingCallback, PrinterCallback, TrainerCallback

from tracer_hooks.errors import TrainingError
from tracer_hooks.extension import brief, write_files
from tracer_hooks_models.training._config import RunConfig
from tracer_hooks_models.training._progress import Progress, ProgressCallback
from tracer_hooks_models.training.data import LabeledRows, Splits, read_labeled, split_rows

if TYPE_CHECKING:
    from transformers import Trainer

FOLDER = "checkpoints"
"""Where a run keeps them, in its folder."""
_WHOLE = "whole.json"
_NAME = re.compile(r"checkpoint-(\d+)")


def mark_whole(checkpoint: Path) -> None:
    """Say that everything of a checkpoint is on the disk, with the size of each file.

    Raises:
        OSError: The mark cannot be written; the checkpoint then counts as broken off.
    """
    sizes = {str(path.relative_to(checkpoint)): path.stat().st_size for path in _files(checkpoint)}
    write_files({checkpoint / _WHOLE: (json.dumps(sizes, indent=1, sort_keys=True) + "\n").encode()})


def is_whole(checkpoint: Path) -> bool:
    """Tell whether a checkpoint was written to its end and has every file in its size."""
    try:
        sizes = json.loads((checkpoint / _WHOLE).read_text(encoding="utf-8"))
        return bool(sizes) and all((checkpoint / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError, TypeError):
        return False


def last_whole(out: Path) -> Path | None:
    """The last checkpoint of a run that is whole; None when there is none."""
    return next((one for one in reversed(_checkpoints(out)) if is_whole(one)), None)


def clear_broken(out: Path) -> list[Path]:
    """Remove checkpoints that a crash broke off; gives those that were."""
    broken = [one for one in _checkpoints(out) if not is_whole(one)]
    for one in broken:
        shutil.rmtree(one)
    return broken


def _checkpoints(out: Path) -> list[Path]:
    folder = out / FOLDER
    found = [one for one in folder.iterdir() if _NAME.fullmatch(one.name)] if folder.is_dir() else []
    return sorted(found, key=lambda one: int(one.name.rpartition("-")[2]))


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != _WHOLE)


if TYPE_CHECKING:
    Mixin = Any
else:
    Mixin = object
_NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "defaultcpuallocator")


class GuardedTrainer(Mixin):  # type: ignore[misc]
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
                mark_whole(Path(self.args.output_dir) / f"checkpoint-{self.state.global_step}")
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
        found = last_whole(Path(self.args.output_dir).parent)
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


METRICS, OPTIONS = "metrics.json", "training.json"
MAY_CHANGE = {"resume", "max_minutes", "threads", "log_every", "tensorboard", "device"}
"""Options that do not decide what a run gives."""


def begin(config: RunConfig) -> Path | None:
    """Make the run's folder ready; gives the checkpoint to go on from, if there is one.

    Raises:
        TrainingError: The folder holds another run, or cannot be written.
    """
    if config.threads:
        torch.set_num_threads(config.threads)
    found = last_whole(config.out)
    if found is not None and not config.resume:
        raise TrainingError(
            f"{str(config.out)!r} holds checkpoints of an earlier run, the last one in {str(found)!r}: go on from it "
            "with --resume, or choose another folder"
        )
    if found is not None:
        _refuse_other(config)
    try:
        if is_first_process():
            clear_broken(config.out)
            write_files({config.out / OPTIONS: _as_json(config)})
    except OSError as error:
        raise TrainingError(f"cannot write to {str(config.out)!r}: {error.strerror or error}") from error
    return found


def is_first_process() -> bool:
    """Tell whether this process writes and speaks for all that ``accelerate launch`` started."""
    return os.environ.get("RANK", "0") == "0"


def on_gpu(config: RunConfig) -> bool:
    """Tell whether the run computes on a GPU."""
    return torch.cuda.is_available() and config.device == "auto"


def computes_in_bfloat16(config: RunConfig) -> bool:
    """Tell whether matrix products are computed in bfloat16."""
    from tracer_hooks_models.encoder import has_bf16

    if config.precision != "auto":
        return config.precision == "bfloat16"
    return has_bf16(torch.device("cuda" if on_gpu(config) else "cpu"))


def arguments_of(config: RunConfig, *, rate: float, validates: bool, **more: Any) -> dict[str, Any]:
    """Arguments for ``TrainingArguments`` and its kin.

    Args:
        config: The run.
        rate: Highest learning rate.
        validates: Whether there is something to validate on.
        more: What only this kind of run sets, and what it sets otherwise.
    """
    checkpoints = config.out / FOLDER
    if config.tensorboard and find_spec("tensorboard") is not None:
        os.environ["TENSORBOARD_LOGGING_DIR"] = str(config.out / "tensorboard")
        report = ["tensorboard"]
    else:
        report = []
    return {
        "output_dir": str(checkpoints),
        "seed": config.seed,
        "data_seed": config.seed,
        "num_train_epochs": config.epochs,
        "max_steps": config.max_steps or -1,
        "per_device_train_batch_size": config.batch,
        "per_device_eval_batch_size": config.batch,
        "gradient_accumulation_steps": config.accumulation,
        "learning_rate": rate,
        "lr_scheduler_type": "cosine",
        "warmup_steps": config.warm_up,  # below 1: a share of all steps
        "weight_decay": config.weight_decay,
        "max_grad_norm": config.clip,
        "bf16": computes_in_bfloat16(config),
        "use_cpu": not on_gpu(config),
        "save_strategy": "steps",
        "save_steps": config.checkpoint_every,
        "save_total_limit": config.checkpoints_kept,
        "eval_strategy": "steps" if validates else "no",
        "eval_steps": config.checkpoint_every,
        "load_best_model_at_end": validates,
        "logging_steps": config.log_every,
        "logging_nan_inf_filter": False,
        "report_to": report,
        "disable_tqdm": True,
        "dataloader_num_workers": 0,
        "dataloader_pin_memory": on_gpu(config),
        "remove_unused_columns": False,
        **more,
    }


def train(trainer: Trainer, config: RunConfig, checkpoint: Path | None, progress: Progress) -> dict[str, Any]:
    """Run a trainer to its end; gives what ``metrics.json`` says of the training itself.

    Raises:
        TrainingError: See :class:`~tracer_hooks_models.training._run.GuardedTrainer`.
    """
    trainer.remove_callback(PrinterCallback)
    if config.patience and trainer.args.load_best_model_at_end:
        trainer.add_callback(EarlyStoppingCallback(early_stopping_patience=config.patience))
    if config.max_minutes is not None:
        trainer.add_callback(TimeLimit(config.max_minutes))
    with ProgressCallback(progress) as shown:
        trainer.add_callback(shown)
        done = trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    state = trainer.state
    return {
        "steps": state.global_step,
        "of_steps": state.max_steps,
        "loss": done.training_loss,
        "seconds": round(done.metrics.get("train_runtime", 0.0), 1),
        "best_step": state.best_global_step,
        "best": state.best_metric,
        "stopped": _why_stopped(trainer, config),
    }


def options_of(config: RunConfig) -> dict[str, Any]:
    """The run's options as plain JSON."""
    found: dict[str, Any] = json.loads(_as_json(config))
    return found


def _why_stopped(trainer: Trainer, config: RunConfig) -> str:
    state = trainer.state
    if state.global_step >= state.max_steps:
        return "done"
    return "no improvement" if config.max_minutes is None else "time or no improvement"


def _refuse_other(config: RunConfig) -> None:
    try:
        before = json.loads((config.out / OPTIONS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        before = {}
    now = options_of(config)
    for key in now:
        if key not in MAY_CHANGE and key in before and before[key] != now[key]:
            raise TrainingError(
                f"the checkpoint in {str(config.out)!r} is of a run with {key} = {before[key]!r}, not {now[key]!r}: "
                "give the same options, or choose another folder"
            )


def _as_json(config: RunConfig) -> bytes:
    values = {one.name: asdict(config)[one.name] for one in fields(config)}
    return (json.dumps(values, indent=1, default=str) + "\n").encode()


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """Labelled trajectories, read and dealt out."""

    found: LabeledRows
    splits: Splits
    left_out: Counter[str]
    """What was left out or completed; builders add to it."""


def read_training_rows(
    config: RunConfig, progress: Progress, drawn: Callable[[LabeledRows], LabeledRows] = lambda found: found
) -> TrainingRows:
    """Read and deal out the rows of a run.

    Args:
        config: Which rows, and how they are dealt out.
        progress: Told of it.
        drawn: Which of the rows are dealt out; all by default.

    Raises:
        TrainingError: There is nothing to train on, or a row cannot be used.
    """
    with progress.phase("reading"):
        found = drawn(read_labeled(config.data, bad_rows=config.bad_rows))
        splits = split_rows(found, config.splits)
    left_out = Counter(found.left_out)
    if splits.near_duplicates:
        left_out["near-duplicate of a row of another part"] = splits.near_duplicates
    return TrainingRows(found, splits, left_out)
