"""Contrastive training of the attributor ``encoder``: what ``tracer-hooks train contrastive`` does."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tracer_hooks.errors import TrainingError
from tracer_hooks.extension import require
from tracer_hooks_models.encoder import (
    CONFIG,
    TOKENIZER,
    WEIGHTS,
    EncoderInput,
    EncoderModel,
    HeadConfig,
    StepEncoder,
    StepTokenizer,
    TrajectoryHead,
    feature_names,
    load_model,
    read,
    save_model,
)
from tracer_hooks_models.training._config import ContrastiveConfig
from tracer_hooks_models.training._contrastive_model import (
    ContrastiveLossOptions,
    ContrastiveModel,
    Item,
    mode_vectors,
)
from tracer_hooks_models.training._examples import (
    Example,
    architecture_of,
    figures_of,
    labels_of,
    mode_threshold_of,
    scores_of,
    vectors_of,
)
from tracer_hooks_models.training._outcome import Outcome, write_outcome
from tracer_hooks_models.training._progress import Progress, Silent
from tracer_hooks_models.training._run import (
    arguments_of,
    begin,
    computes_in_bfloat16,
    on_gpu,
    read_training_rows,
    train,
)
from tracer_hooks_models.training.data import (
    LabeledRow,
    LabeledRows,
    Splits,
    bags_of,
    pairs_of,
)

__all__ = ["ContrastiveConfig", "train_contrastive"]

_EXTRA = "train"
_OF_BERT = ("config.json", "model.safetensors", TOKENIZER)
_OF_OURS = (CONFIG, WEIGHTS, TOKENIZER)


@dataclass(frozen=True, slots=True)
class Parts:
    """Rows as the model reads them."""

    train: list[Item]
    valid: list[Item]
    left_out: list[Item]


def train_contrastive(config: ContrastiveConfig, progress: Progress | None = None) -> dict[str, Any]:
    """Train an encoder and write it to ``config.out``.

    Args:
        config: What to train on, and how.
        progress: Told how it goes.

    Returns:
        What stands in ``metrics.json``: how training went, how many trajectories each part has, what was left out, and
        the figures on other questions and on teams that were left out.

    Raises:
        TrainingError: The data or the base cannot be used, or training cannot go on; the row or the step is named.
        MissingExtraError: Something is not installed.
    """
    require("accelerate", extra=_EXTRA, feature="tracer-hooks train contrastive")
    progress = progress or Silent()
    _refuse_base(config)
    checkpoint = begin(config)
    torch.manual_seed(config.seed)
    encoder, names = _fresh(config)
    if on_gpu(config):
        encoder.to("cuda")  # what is encoded once is encoded there too
    tokenizer = StepTokenizer(config.base)
    material = read_training_rows(config, progress, lambda found: _drawn(found, config))
    frozen = encoder if config.heads_only else None
    parts = _parts(material.splits, material.found, tokenizer, names, frozen, progress)
    model = ContrastiveModel(encoder, _objective(config), mode_vectors(encoder, tokenizer))
    trainer = trainer_of(config, model, parts)
    done = train(trainer, config, checkpoint, progress)
    return _finish(config, encoder, parts, done, material.left_out, progress)


def _refuse_base(config: ContrastiveConfig) -> None:
    files = _OF_OURS if (config.base / WEIGHTS).is_file() else _OF_BERT
    for file in files:
        if not (config.base / file).is_file():
            raise TrainingError(f"{str(config.base)!r} holds no {file!r}: base wants the folder of a small BERT")


def _fresh(config: ContrastiveConfig) -> tuple[EncoderModel, tuple[str, ...]]:
    earlier = load_model(config.base)[0] if (config.base / WEIGHTS).is_file() else None
    backbone = earlier.backbone if earlier is not None else StepEncoder.from_base(config.base)
    backbone.freeze(len(backbone.bert.encoder.layer) if config.heads_only else config.freeze)
    names = feature_names() if config.features else ()
    shape = HeadConfig(
        vectors=backbone.width,
        width=config.width,
        layers=config.layers,
        heads=config.heads,
        dropout=config.dropout,
        features=names,
    )
    model = EncoderModel(backbone, TrajectoryHead(shape))
    model.in_bfloat16 = computes_in_bfloat16(config)
    if earlier is not None:
        model.head.words.load_state_dict(earlier.head.words.state_dict())
        model.head.words.requires_grad_(not config.heads_only)
    return model, names


def _objective(config: ContrastiveConfig) -> ContrastiveLossOptions:
    return ContrastiveLossOptions(
        contrast=config.contrast,
        contrast_weight=config.contrast_weight,
        hierarchy_weight=config.hierarchy_weight,
        temperature=config.contrast_temperature,
        size=config.projection,
        selected=config.evidence_steps,
    )


def _drawn(found: LabeledRows, config: ContrastiveConfig) -> LabeledRows:
    if config.per_team is None:
        return found
    groups: dict[str, list[LabeledRow]] = {}
    for row in found.rows:
        groups.setdefault(row.team, []).append(row)
    chance = random.Random(config.seed)
    kept: list[LabeledRow] = []
    for team in sorted(groups):
        chance.shuffle(groups[team])
        kept += groups[team][: config.per_team]
    return LabeledRows(tuple(kept), found.clean, found.left_out)


def _parts(
    splits: Splits,
    found: LabeledRows,
    tokenizer: StepTokenizer,
    names: Sequence[str],
    frozen: EncoderModel | None,
    progress: Progress,
) -> Parts:
    """Items of each part; with a frozen step encoder, those to train on have their vectors computed once."""
    passing = {id(pair.bag.labeled): pair.clean for pair in pairs_of(bags_of(splits.train), found.clean)}
    made = []
    with progress.phase("encoding") as tick:
        for rows in (splits.train, splits.valid, splits.left_out):
            items = []
            for row in rows:
                tick()
                item = _item(row, tokenizer, names)
                clean = passing.get(id(row.labeled))
                if item is not None:
                    items.append(item if clean is None else Item(item.example, read(clean, tokenizer, names)))
            made.append(items)
    if not made[0]:
        raise TrainingError("there is no labelled trajectory with a faulty agent to train on: check data")
    if frozen is not None:
        vectors = vectors_of(frozen, [item.example for item in made[0]])
        made[0] = [Item(item.example, item.clean, one.cpu()) for item, one in zip(made[0], vectors, strict=True)]
    return Parts(*made)


def _item(row: LabeledRow, tokenizer: StepTokenizer, names: Sequence[str]) -> Item | None:
    reading: EncoderInput = read(row.trajectory, tokenizer, names)
    labels = labels_of(row.labeled, reading)
    if not labels.useful:
        return None
    question = row.labeled.question_id or row.trajectory.task
    return Item(Example(reading, labels, question, architecture_of(row.trajectory.agent_names)))


def trainer_of(config: ContrastiveConfig, model: ContrastiveModel, parts: Parts) -> Any:
    """A Trainer of transformers for a model in training."""
    from transformers import Trainer, TrainingArguments

    from tracer_hooks_models.training._run import GuardedTrainer

    class ContrastiveTrainer(GuardedTrainer, Trainer):
        """Own learning rates and gradient limits for the step encoder and for what is above it."""

        def create_optimizer(self, *_: Any, **__: Any) -> Any:
            if self.optimizer is None:
                backbone = [one for one in model.encoder.backbone.parameters() if one.requires_grad]
                lower = {id(one) for one in backbone}
                head = [one for one in model.parameters() if one.requires_grad and id(one) not in lower]
                groups = [{"params": backbone, "lr": config.highest_rate}, {"params": head, "lr": config.head_rate}]
                self.optimizer = torch.optim.AdamW(
                    [group for group in groups if group["params"]], weight_decay=config.weight_decay
                )
            return self.optimizer

        def _clip_grad_norm(self, _: Any) -> torch.Tensor:
            head = model.encoder.head
            parts = (model.encoder.backbone, head.words, head.signs, model.prototypes)
            norms = [  # each for itself: none slows another
                torch.nn.utils.clip_grad_norm_(part.parameters(), config.clip) for part in parts if part is not None
            ]
            total: torch.Tensor = torch.stack(norms).norm()
            return total

        def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
            metrics = _validated(model, parts.valid, config.batch)
            self.log(metrics)
            self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
            return metrics

    arguments = arguments_of(
        config,
        rate=config.highest_rate,
        validates=bool(parts.valid),
        lr_scheduler_type="linear",
        metric_for_best_model="eval_loss" if parts.valid else None,
        greater_is_better=False if parts.valid else None,
        bf16=False,  # the step encoder sees to its own; the heads are small
    )
    return ContrastiveTrainer(
        model=model,
        args=TrainingArguments(**arguments),
        train_dataset=parts.train,
        eval_dataset=parts.valid or None,
        data_collator=lambda items: {"items": list(items)},
    )


def _validated(model: ContrastiveModel, items: Sequence[Item], batch: int) -> dict[str, float]:
    """Loss and area on the validation part, both of the encoder as it diagnoses: without contrast."""
    from tracer_hooks_models.training._contrastive_model import loss_of, stack_labels

    examples = [item.example for item in items]
    was_training = model.training
    model.eval()
    total = 0.0
    with torch.inference_mode():
        for start in range(0, len(examples), batch):
            some = examples[start : start + batch]
            targets = stack_labels([one.labels for one in some], model.encoder.device)
            total += float(loss_of(model.encoder([one.reading for one in some]), targets)) * len(some)
    scores = scores_of(model.encoder, examples)
    model.train(was_training)
    area = figures_of(examples, scores, 0.0)["all"]["agent_auc"]
    return {"eval_loss": total / len(examples), "eval_agent_auc": area if area is not None else 0.5}


def _finish(
    config: ContrastiveConfig,
    encoder: EncoderModel,
    parts: Parts,
    done: dict[str, Any],
    left_out: Mapping[str, int],
    progress: Progress,
) -> dict[str, Any]:
    named = {"other questions": parts.valid, "teams left out": parts.left_out}
    with progress.phase("validating") as tick:
        scores = {name: scores_of(encoder, _examples(items), tick) for name, items in named.items() if items}
    valid = scores.get("other questions")
    threshold = mode_threshold_of(_examples(parts.valid), valid) if valid is not None else 0.0
    figures = {
        name: figures_of(_examples(items), scores[name], threshold) if name in scores else None
        for name, items in named.items()
    }
    counts = {"trained on": len(parts.train), **{name: len(items) for name, items in named.items()}}
    how = {"supervised": "with supervised contrast", "infonce": "with InfoNCE", "none": "without contrast"}
    outcome = Outcome(
        kind="contrastive",
        title="an encoder of failed runs",
        summary=f"A step encoder with a trajectory transformer, trained from `{config.base.name}` "
        f"{how[config.contrast]}.",
        training=done,
        trajectories=counts,
        left_out=left_out,
        figures=figures,
        card_figures={name: None if one is None else one["all"] for name, one in figures.items()},
        more={"mode_threshold": threshold},
    )
    try:
        save_model(encoder, config.base / TOKENIZER, config.out, {"mode_threshold": threshold})
        write_outcome(config, outcome)
    except OSError as error:
        raise TrainingError(f"cannot write the encoder to {str(config.out)!r}: {error.strerror or error}") from error
    return outcome.metrics


def _examples(items: Sequence[Item]) -> list[Example]:
    return [item.example for item in items]
