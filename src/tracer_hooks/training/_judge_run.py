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
from tracer_hooks.training._language_model import EXTRA, LanguageModel, as_written, write_judge
from tracer_hooks.training._material import Material
from tracer_hooks.training._outcome import Outcome, write_outcome
from tracer_hooks.training._progress import Progress
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
    model = as_written(trainer, config)
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
    what = {
        "verdict": "names agent, step and error mode of a failed run",
        "shortlist": "says which of the first three candidates of `structural` is the decisive error step",
    }[config.task]
    outcome = Outcome(
        kind=kind,
        title="a judge of failed runs",
        summary=f"A language model that {what}, trained from `{config.model.name}` by {kind}.",
        training=training,
        trajectories={
            "trained on": len(material.splits.train),
            "other questions": len(material.splits.valid),
            "teams left out": len(material.splits.left_out),
        },
        left_out=material.left_out,
        figures={name: None if one is None else asdict(one) for name, one in figures.items()},
    )
    write_judge(trainer, config, model)
    if trainer.args.should_save:
        write_outcome(config, outcome)
    return outcome.metrics


def _figures(
    language: LanguageModel,
    rows: Sequence[LabeledRow],
    config: JudgeConfig,
    rewarded: RewardOptions | None,
    tick: Callable[[], None],
) -> Figures | None:
    asked = prompt_rows(rows, config.asked, language.count_tokens, bad_rows=config.bad_rows).rows
    if len(asked) > MOST_ASKED:
        asked = tuple(random.Random(config.seed).sample(asked, MOST_ASKED))
    return figures_of(
        language.model, language.tokenizer, asked, max_tokens=config.reply_tokens, rewarded=rewarded, tick=tick
    )
