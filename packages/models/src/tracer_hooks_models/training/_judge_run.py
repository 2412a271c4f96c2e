"""Before and after the training of a judge: libraries, replies to held-out questions, figures and the card."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from tracer_hooks.extension import require
from tracer_hooks_models.teaching import JudgeAnswer, prompt_ids, read_choice, read_verdict
from tracer_hooks_models.training._config import JudgeConfig
from tracer_hooks_models.training._language_model import EXTRA, LanguageModel, as_written, write_judge
from tracer_hooks_models.training._outcome import Outcome, write_outcome
from tracer_hooks_models.training._progress import Progress
from tracer_hooks_models.training._run import TrainingRows
from tracer_hooks_models.training.data import LabeledRow, PromptRow, prompt_rows
from tracer_hooks_models.training.rewards import RewardOptions, reward


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Shares among questions, from 0 to 1."""

    questions: int
    valid: float
    """Replies that the judge would accept."""
    step: float | None
    """Exact steps, among labels with a step."""
    agent: float
    """Exact agents; of a label with several, any of them."""
    reward: float
    """Mean reward."""


def reply(model: Any, tokenizer: Any, ids: Sequence[int], *, max_tokens: int) -> str:
    """The greedy reply to a prompt, as the attributor ``judge`` gets it."""
    given = torch.tensor([list(ids)], device=next(model.parameters()).device)
    with torch.inference_mode():
        written = model.generate(
            input_ids=given,
            attention_mask=torch.ones_like(given),
            do_sample=False,
            max_new_tokens=max_tokens,
            pad_token_id=tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id,
        )
    return str(tokenizer.decode(written[0, given.shape[1] :], skip_special_tokens=True))


def answer_in(text: str, row: PromptRow) -> JudgeAnswer | None:
    """Read a reply to a row; None for one that the judge would not accept."""
    if row.options:
        return read_choice(text, row.options, row.trajectory)
    return read_verdict(text, row.trajectory)


def figures_of(
    model: Any,
    tokenizer: Any,
    rows: Sequence[PromptRow],
    *,
    max_tokens: int,
    rewarded: RewardOptions | None = None,
    tick: Callable[[], None] = lambda: None,
) -> Figures | None:
    """Measure a model's answers to some questions; None where there are none."""
    if not rows:
        return None
    was_training = model.training
    model.eval()
    answers = []
    for row in rows:
        text = reply(model, tokenizer, prompt_ids(tokenizer, row.messages), max_tokens=max_tokens)
        answers.append(answer_in(text, row))
        tick()
    model.train(was_training)
    with_step = [(one, row.gold) for one, row in zip(answers, rows, strict=True) if row.gold.step is not None]
    agents = [(one, {agent for agent, _ in row.gold.pairs}) for one, row in zip(answers, rows, strict=True)]
    return Figures(
        questions=len(rows),
        valid=_share([one is not None for one in answers]),
        step=_share([one is not None and one.step == gold.step for one, gold in with_step]) if with_step else None,
        agent=_share([one is not None and one.agent in known for one, known in agents]),
        reward=sum(reward(one, row.gold, rewarded) for one, row in zip(answers, rows, strict=True)) / len(rows),
    )


def _share(right: Sequence[bool]) -> float:
    return sum(right) / len(right)


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
    material: TrainingRows,
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
