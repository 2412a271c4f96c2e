"""Supervised fine-tuning of a judge: what ``tracer-hooks train sft`` does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracer_hooks.errors import TrainingError
from tracer_hooks_models.teaching import prompt_ids
from tracer_hooks_models.training._config import SFTConfig
from tracer_hooks_models.training._judge_run import finish, require_libraries
from tracer_hooks_models.training._language_model import IGNORED, LanguageModel, load_language_model
from tracer_hooks_models.training._progress import Progress, Silent
from tracer_hooks_models.training._run import arguments_of, begin, read_training_rows, train
from tracer_hooks_models.training.data import SFTRow, sft_rows

__all__ = ["SFTConfig", "token_rows", "train_sft"]


def train_sft(config: SFTConfig, progress: Progress | None = None) -> dict[str, Any]:
    """Fine-tune a language model on the replies that a judge should give, and write it to ``config.out``.

    The prompts are those of the attributor ``judge``, token for token; the loss counts the reply only.

    Args:
        config: What to train on, and how.
        progress: Told how it goes.

    Returns:
        What stands in ``metrics.json``: how training went, how many trajectories each part has, what was left out, and
        the shares of right answers on other questions and on teams that were left out.

    Raises:
        TrainingError: The data cannot be used, or training cannot go on; the row or the step is named.
        ConfigError: The model cannot be loaded, or options contradict each other.
        MissingExtraError: Something is not installed.
    """
    require_libraries("tracer-hooks train sft")
    progress = progress or Silent()
    checkpoint = begin(config)
    language = load_language_model(config)
    material = read_training_rows(config, progress)
    with progress.phase("building rows") as tick:
        trained, valid = (
            sft_rows(part, config.asked, language.count_tokens, bad_rows=config.bad_rows, tick=tick)
            for part in (material.splits.train, material.splits.valid)
        )
    material.left_out.update(trained.left_out + valid.left_out)
    trainer = _trainer(
        config, language, token_rows(trained.rows, language, config), token_rows(valid.rows, language, config)
    )
    done = train(trainer, config, checkpoint, progress)
    return finish(trainer, config, material, done, kind="supervised fine-tuning", rewarded=None, progress=progress)


def token_rows(rows: Sequence[SFTRow], language: LanguageModel, config: SFTConfig) -> list[dict[str, list[int]]]:
    """Rows as token ids, with labels on the reply and the token that ends it.

    Raises:
        TrainingError: A reply is longer than ``reply_tokens``: the judge would cut it off.
    """
    found = []
    for row in rows:
        prompt = prompt_ids(language.tokenizer, row.messages)
        said = [*language.tokenizer.encode(row.completion, add_special_tokens=False), language.ends]
        if len(said) > config.reply_tokens:
            raise TrainingError(
                f"{row.source}: the reply takes {len(said)} tokens, reply_tokens is {config.reply_tokens}. "
                "Set reply_tokens higher"
            )
        found.append({"input_ids": prompt + said, "labels": [IGNORED] * len(prompt) + said})
    return found


def _trainer(
    config: SFTConfig, language: LanguageModel, rows: list[dict[str, list[int]]], valid: list[dict[str, list[int]]]
) -> Any:
    from datasets import Dataset
    from trl import SFTConfig as Arguments
    from trl import SFTTrainer

    from tracer_hooks_models.training._language_model import ReplyLoss
    from tracer_hooks_models.training._run import GuardedTrainer

    class GuardedSFT(GuardedTrainer, ReplyLoss, SFTTrainer):  # type: ignore[misc]
        """Supervised training that names the step where something goes wrong."""

    if not rows:
        raise TrainingError(
            "no labelled trajectory gave a row to train on: the labelled step is in no window or among no candidates. "
            "Set context_tokens or top_k higher, or task = 'verdict'"
        )
    arguments = arguments_of(
        config,
        rate=config.highest_rate,
        validates=bool(valid),
        metric_for_best_model="eval_loss" if valid else None,
        greater_is_better=False if valid else None,
        max_length=None,  # rows are built to fit; none is cut
        dataset_kwargs={"skip_prepare_dataset": True},
        completion_only_loss=False,  # the labels say so already
        activation_checkpointing=config.gradient_checkpointing,
    )
    return GuardedSFT(
        model=language.model,
        args=Arguments(**arguments),
        train_dataset=Dataset.from_list(rows),
        eval_dataset=Dataset.from_list(valid) if valid else None,
        processing_class=language.tokenizer,
        peft_config=language.adapter,
    )
