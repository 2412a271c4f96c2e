"""The training loop: seeded, and resumable at any step."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tracer_hooks.attribution.encoder import EncoderModel, HeadOutput, stack
from tracer_hooks.errors import TrainingError
from tracer_hooks.training._batches import stack_labels
from tracer_hooks.training._examples import Example
from tracer_hooks.training._losses import loss_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopOptions:
    """What decides the result of a training run, beside the data and the first weights."""

    epochs: float = 1.5
    seed: int = 0
    batch: int = 8
    """Trajectories in a batch."""
    per_architecture: int = 1000
    """Of each architecture, an epoch takes at most so many trajectories, drawn anew each time."""
    rate: float = 5e-5
    """Highest learning rate of the step encoder."""
    head_rate: float = 5e-4
    """Highest learning rate of the trajectory head."""
    warm_up: float = 0.06
    """Share of the run in which the learning rates rise; afterwards they fall linearly to nothing."""


class Trainer:
    """Fits a model to examples, one batch at a time.

    The order of the examples follows from the seed and the step, and a checkpoint holds the rest: a run that was
    killed and resumed gives the weights that an undisturbed run gives.

    Args:
        model: Trained in place; parameters that need no gradient stay as they are.
        examples: Those with a faulty agent that acts.
        options: See there.
        vectors: The candidate steps' vectors of each example, when only the head is to be trained.

    Raises:
        TrainingError: There is no example.
    """

    def __init__(
        self,
        model: EncoderModel,
        examples: Sequence[Example],
        options: LoopOptions,
        vectors: Sequence[Tensor] | None = None,
    ) -> None:
        if not examples:
            raise TrainingError("there is no labelled trajectory with a faulty agent to train on: check --data")
        self.model, self.examples, self.options = model, examples, options
        self._vectors = vectors
        self.step_number = 0
        self.loss = math.nan
        self._by_architecture = _grouped(examples)
        epoch = sum(min(len(rows), options.per_architecture) for rows in self._by_architecture)
        self._batches = math.ceil(epoch / options.batch)
        self.total = max(1, round(options.epochs * self._batches))
        self._plan: tuple[int, list[list[int]]] | None = None
        self._optimizer = torch.optim.AdamW(
            [
                {"params": group, "peak": peak}
                for group, peak in (
                    ([p for p in model.backbone.parameters() if p.requires_grad], options.rate),
                    ([p for p in model.head.parameters() if p.requires_grad], options.head_rate),
                )
                if group
            ],
            weight_decay=0.02,
        )
        torch.manual_seed(options.seed)

    @property
    def done(self) -> bool:
        """Whether every step has been taken."""
        return self.step_number >= self.total

    def step(self) -> float:
        """Train on the next batch; returns its loss, before the step."""
        self.model.train()
        rows = self._batch(self.step_number)
        batch = [self.examples[k] for k in rows]
        for group in self._optimizer.param_groups:
            group["lr"] = group["peak"] * self._pace()
        targets = stack_labels([example.labels for example in batch], self.model.device)
        loss = torch.stack([loss_of(output, targets) for output in self._outputs(rows)]).sum()
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        signs = self.model.head.signs
        for part in (self.model.backbone, self.model.head.words, *(() if signs is None else (signs,))):
            torch.nn.utils.clip_grad_norm_(part.parameters(), 1.0)  # each for itself: none slows another
        self._optimizer.step()
        self.step_number += 1
        found = float(loss.detach())
        self.loss = found if math.isnan(self.loss) else 0.95 * self.loss + 0.05 * found
        return found

    def save(self, path: Path) -> None:
        """Write a checkpoint, in one go: a crash leaves the one before."""
        state = {
            "options": asdict(self.options),
            "examples": len(self.examples),
            "step": self.step_number,
            "loss": self.loss,
            "model": self.model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "random": torch.get_rng_state(),
            "random_cuda": torch.cuda.get_rng_state_all() if self.model.device.type == "cuda" else [],
        }
        fresh = path.with_suffix(".part")
        torch.save(state, fresh)
        os.replace(fresh, path)

    def resume(self, path: Path) -> None:
        """Go on from a checkpoint.

        Raises:
            TrainingError: It is of a run with other options or other data.
        """
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        if (state["options"], state["examples"]) != (asdict(self.options), len(self.examples)):
            raise TrainingError(
                f"the checkpoint {str(path)!r} is of a run with other options or data: "
                "give the same ones, or leave out --resume to start again"
            )
        self.model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self.step_number, self.loss = state["step"], state["loss"]
        torch.set_rng_state(state["random"])
        if state["random_cuda"]:
            torch.cuda.set_rng_state_all(state["random_cuda"])

    def _outputs(self, rows: Sequence[int]) -> list[HeadOutput]:
        readings = [self.examples[k].reading for k in rows]
        vectors = self.model.vectors(readings) if self._vectors is None else [self._vectors[k] for k in rows]
        return self.model.head.trained(stack(readings, vectors))

    def _pace(self) -> float:
        share = (self.step_number + 1) / self.total
        warm = self.options.warm_up
        return share / warm if share < warm else max(0.0, 1.0 - (share - warm) / (1.0 - warm)) + 1e-3

    def _batch(self, step: int) -> list[int]:
        epoch, place = divmod(step, self._batches)
        if self._plan is None or self._plan[0] != epoch:
            self._plan = (epoch, self._order(epoch))
        return self._plan[1][place]

    def _order(self, epoch: int) -> list[list[int]]:
        random = np.random.default_rng([self.options.seed, epoch])
        drawn = [random.permutation(rows)[: self.options.per_architecture] for rows in self._by_architecture]
        order = random.permutation(np.concatenate(drawn)).tolist()
        return [order[k : k + self.options.batch] for k in range(0, len(order), self.options.batch)]


def _grouped(examples: Sequence[Example]) -> list[list[int]]:
    groups: dict[str, list[int]] = {}
    for k, example in enumerate(examples):
        groups.setdefault(example.architecture, []).append(k)
    return [groups[name] for name in sorted(groups)]
