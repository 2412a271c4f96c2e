"""What both ways of training a judge do before and after: libraries, figures and the card."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import torch

from tracer_hooks._optional import require
from tracer_hooks.training._answers import Figures, figures_of
from tracer_hooks.training._config import JudgeConfig
from tracer_hooks.training._language_model import EXTRA, LanguageModel, write_judge
from tracer_hooks.training._material import Material
from tracer_hooks.training._model_card import Card, write_card
from tracer_hooks.training._progress import Progress
from tracer_hooks.training._run import options_of, write_metrics
from tracer_hooks.training.data import LabeledRow, prompt_rows
from tracer_hooks.training.rewards import RewardOptions

MOST_ASKED = 100
"""So many rows of each part are answered for the figures."""
LIBRARIES = ("trl", "peft", "accelerate", "datasets")


def require_libraries(feature: str) -> None:
    """Say what to install where something is missing.

    Raises:
        MissingExtraError: It is.
    """
    for module in LIBRARIES:
        require(module, extra=EXTRA, feature=feature)


def finish(
    trainer: Any,
    config: JudgeConfig,
    material: Material,
    training: dict[str, Any],
    *,
    kind: str,
    rewarded: RewardOptions | None,
    progress: Progress,
) -> dict[str, Any]:
    """Answer what was held out, and write the model, its figures and its card; gives ``metrics.json``."""
    model = trainer.accelerator.unwrap_model(trainer.model)
    language = LanguageModel(model, trainer.processing_class, None)
    figures: dict[str, Figures | None] = {}
    if trainer.accelerator.num_processes == 1:  # a sharded model cannot be asked from one process
        with progress.phase("answering") as tick, torch.autocast("cpu", enabled=False):
            figures = {
                name: _figures(language, rows, config, rewarded, tick)
                for name, rows in (
                    ("other questions", material.splits.valid),
                    ("teams left out", material.splits.left_out),
                )
            }
    write_judge(trainer, config)
    parts = {
        "trained on": len(material.splits.train),
        "other questions": len(material.splits.valid),
        "teams left out": len(material.splits.left_out),
    }
    metrics = {
        "kind": kind,
        "training": training,
        "trajectories": parts,
        "left_out": dict(material.left_out),
        "figures": {name: None if one is None else asdict(one) for name, one in figures.items()},
    }
    if trainer.args.should_save:
        write_metrics(config, metrics)
        _write_card(config, kind, material, figures, parts)
    return metrics


def _figures(
    language: LanguageModel,
    rows: Sequence[LabeledRow],
    config: JudgeConfig,
    rewarded: RewardOptions | None,
    tick: Callable[[], None],
) -> Figures | None:
    asked = prompt_rows(rows, config.asked, language.count_tokens).rows
    if len(asked) > MOST_ASKED:
        asked = tuple(random.Random(config.seed).sample(asked, MOST_ASKED))
    return figures_of(
        language.model, language.tokenizer, asked, max_tokens=config.reply_tokens, rewarded=rewarded, tick=tick
    )


def _write_card(
    config: JudgeConfig,
    kind: str,
    material: Material,
    figures: dict[str, Figures | None],
    parts: dict[str, int],
) -> None:
    what = {
        "verdict": "names agent, step and error mode of a failed run",
        "shortlist": "says which of the first three candidates of `structural` is the decisive error step",
    }[config.task]
    write_card(
        config.out,
        Card(
            title=f"{config.out.name}: a judge of failed runs",
            summary=f"A language model that {what}, trained from `{config.model.name}` by {kind}.",
            options=options_of(config),
            parts=parts,
            left_out=material.left_out,
            figures=dict(figures),
        ),
    )
