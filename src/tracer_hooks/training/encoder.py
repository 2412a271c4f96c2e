"""Training of the attributor ``encoder``: what ``tracer-hooks train encoder`` does."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from tracer_hooks.attribution.encoder import (
    TOKENIZER,
    WEIGHTS,
    EncoderModel,
    HeadConfig,
    StepEncoder,
    StepTokenizer,
    TrajectoryHead,
    feature_names,
    load_model,
    save_model,
)
from tracer_hooks.training._data import drawn, examples_of, labeled_in, split
from tracer_hooks.training._evaluation import figures_of, mode_threshold_of, scores_of, vectors_of
from tracer_hooks.training._examples import Example
from tracer_hooks.training._job import CHECKPOINT, METRICS, EncoderTraining
from tracer_hooks.training._progress import OnConsole, Progress, Silent
from tracer_hooks.training._trainer import LoopOptions, Trainer

__all__ = ["EncoderTraining", "HeadConfig", "LoopOptions", "OnConsole", "Progress", "Silent", "train_encoder"]


def train_encoder(job: EncoderTraining, progress: Progress | None = None) -> dict[str, Any]:
    """Train an encoder and write it to ``job.out``.

    Args:
        job: What to train on, and how.
        progress: Told how it goes.

    Returns:
        What stands in ``metrics.json``: the options, the times, and the figures on held-out questions and, when
        architectures were left out, on those.

    Raises:
        TrainingError: The data or the base cannot be used, or there is nothing to resume.
    """
    progress = progress or Silent()
    job.check()
    torch.manual_seed(job.loop.seed)
    model, names = _fresh(job)
    tokenizer = StepTokenizer(job.base)
    with progress.phase("reading") as tick:
        examples = examples_of(
            drawn(labeled_in(job.data), job.per_architecture, job.loop.seed), tokenizer, names, tick=tick
        )
    train, valid, left_out = split(examples, job.leave_out)
    trainer = Trainer(model, train, job.loop, _vectors(model, train, progress) if job.heads_only else None)
    seconds = _fit(trainer, job, progress)
    metrics = _measure(model, valid, left_out, progress) | {
        "training": {
            "trajectories": len(train),
            "steps": trainer.step_number,
            "of_steps": trainer.total,
            "seconds": round(seconds),
            "loss": trainer.loss,
            "loop": asdict(job.loop),
            "freeze": job.freeze,
            "heads_only": job.heads_only,
            "leave_out": list(job.leave_out),
        }
    }
    save_model(model, job.base / TOKENIZER, job.out, {"mode_threshold": metrics["mode_threshold"]})
    (job.out / METRICS).write_text(json.dumps(metrics, indent=1) + "\n", encoding="utf-8")
    return metrics


def _fresh(job: EncoderTraining) -> tuple[EncoderModel, tuple[str, ...]]:
    earlier = load_model(job.base)[0] if (job.base / WEIGHTS).is_file() else None
    backbone = earlier.backbone if earlier is not None else StepEncoder.from_base(job.base)
    backbone.freeze(len(backbone.bert.encoder.layer) if job.heads_only else job.freeze)
    names = feature_names() if job.features else ()
    head = HeadConfig(**{**asdict(job.head), "vectors": backbone.width, "features": names})
    model = EncoderModel(backbone, TrajectoryHead(head))
    if earlier is not None:
        model.head.words.load_state_dict(earlier.head.words.state_dict())
        model.head.words.requires_grad_(not job.heads_only)
    return model.to(job.device), names


def _vectors(model: EncoderModel, examples: Sequence[Example], progress: Progress) -> list[Tensor]:
    """The steps' vectors, computed once; nothing but zeros where no tower that is being trained reads them."""
    if not model.head.reads_anew:
        return [torch.zeros(len(one.reading.steps), model.backbone.width, device=model.device) for one in examples]
    with progress.phase("encoding") as tick:
        return vectors_of(model, examples, tick)


def _fit(trainer: Trainer, job: EncoderTraining, progress: Progress) -> float:
    path = job.out / CHECKPOINT
    job.out.mkdir(parents=True, exist_ok=True)
    if job.resume:
        trainer.resume(path)
    began = saved = time.monotonic()
    with progress.training(trainer.total) as tell:
        while not trainer.done and time.monotonic() - began < 60 * job.max_minutes:
            trainer.step()
            tell(trainer.step_number, trainer.loss)
            if time.monotonic() - saved > 60 * job.checkpoint_minutes:
                trainer.save(path)
                saved = time.monotonic()
    trainer.save(path)
    return time.monotonic() - began


def _measure(
    model: EncoderModel, valid: Sequence[Example], left_out: Sequence[Example], progress: Progress
) -> dict[str, Any]:
    with progress.phase("validating") as tick:
        scores = scores_of(model, valid, tick) if valid else None
        other = scores_of(model, left_out, tick) if left_out else None
    threshold = mode_threshold_of(valid, scores) if scores is not None else 0.0
    return {
        "mode_threshold": threshold,
        "held_out_questions": figures_of(valid, scores, threshold) if scores is not None else None,
        "left_out": figures_of(left_out, other, threshold) if other is not None else None,
    }
