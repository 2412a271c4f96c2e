"""What all training runs have in common: their folder, their options for transformers, and how they go."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import EarlyStoppingCallback, PrinterCallback

from tracer_hooks._atomic_files import write_files
from tracer_hooks.errors import TrainingError
from tracer_hooks.training import _checkpoints
from tracer_hooks.training._config import RunConfig
from tracer_hooks.training._guarded import TimeLimit
from tracer_hooks.training._progress import Progress
from tracer_hooks.training._shown import Shown

if TYPE_CHECKING:
    from transformers import Trainer

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
    found = _checkpoints.last_whole(config.out)
    if found is not None and not config.resume:
        raise TrainingError(
            f"{str(config.out)!r} holds checkpoints of an earlier run, the last one in {str(found)!r}: go on from it "
            "with --resume, or choose another folder"
        )
    if found is not None:
        _refuse_other(config)
    try:
        if is_first_process():
            _checkpoints.clear_broken(config.out)
            write_files({config.out / OPTIONS: _as_json(config)})
    except OSError as error:
        raise TrainingError(f"cannot write to {str(config.out)!r}: {error.strerror or error}") from error
    return found


def is_first_process() -> bool:
    """Whether this process writes and speaks for all that ``accelerate launch`` started."""
    return os.environ.get("RANK", "0") == "0"


def on_gpu(config: RunConfig) -> bool:
    """Whether the run computes on a GPU."""
    return torch.cuda.is_available() and config.device == "auto"


def computes_in_bfloat16(config: RunConfig) -> bool:
    """Whether matrix products are computed in bfloat16."""
    from tracer_hooks.attribution.encoder import has_bf16

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
    checkpoints = config.out / _checkpoints.FOLDER
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
        TrainingError: See :class:`~tracer_hooks.training._guarded.Guarded`.
    """
    trainer.remove_callback(PrinterCallback)
    if config.patience and trainer.args.load_best_model_at_end:
        trainer.add_callback(EarlyStoppingCallback(early_stopping_patience=config.patience))
    if config.max_minutes is not None:
        trainer.add_callback(TimeLimit(config.max_minutes))
    with Shown(progress) as shown:
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
