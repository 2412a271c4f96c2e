"""The encoder with what trains it: losses in, one number out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from tracer_hooks.attribution.encoder import EncoderModel, HeadOutput, Reading, StepTokenizer, stack
from tracer_hooks.schema import ErrorMode, Step, Trajectory
from tracer_hooks.training._batches import stack_labels
from tracer_hooks.training._contrast import (
    Prototypes,
    asymmetric,
    at_place,
    hierarchy,
    infonce,
    modes_of,
    supervised,
)
from tracer_hooks.training._examples import Example
from tracer_hooks.training._losses import Targets, loss_of

Contrast = Literal["supervised", "infonce", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastOptions:
    """How much the parts of the objective count."""

    contrast: Contrast = "supervised"
    contrast_weight: float = 0.4
    hierarchy_weight: float = 0.6
    temperature: float = 0.07
    size: int = 128
    selected: int = 3


@dataclass(frozen=True, slots=True)
class Item:
    """One row of a batch."""

    example: Example
    clean: Reading | None = None
    """The passing run to it."""
    vectors: Tensor | None = None
    """The steps' vectors, where the step encoder is not trained."""


class ContrastiveModel(nn.Module):
    """An encoder in training.

    Each tower has its own losses, so that neither leans on the other; the contrast is on the tower that reads words,
    or on the only one that is trained.

    Args:
        encoder: Trained in place.
        options: What counts for how much.
        mode_vectors: (14, V): see :func:`mode_vectors`.
    """

    def __init__(self, encoder: EncoderModel, options: ContrastOptions, mode_vectors: Tensor) -> None:
        super().__init__()
        self.encoder, self.options = encoder, options
        self.prototypes = (
            None
            if options.contrast == "none"
            else Prototypes(encoder.head.config.width, mode_vectors, size=options.size, selected=options.selected)
        )

    def forward(self, items: Sequence[Item]) -> dict[str, Tensor]:
        """The loss of a batch under ``loss``."""
        readings = [item.example.reading for item in items]
        vectors = self._vectors(items)
        given = stack(readings, vectors)
        targets = stack_labels([item.example.labels for item in items], self.encoder.device)
        trained = [tower for tower in self.encoder.head.towers if next(tower.parameters()).requires_grad]
        loss = torch.zeros((), device=self.encoder.device)
        for position, tower in enumerate(trained):
            states = tower.hidden(given)
            output = tower.outputs(*states, given)
            loss = loss + loss_of(output, targets)
            if position == 0 and self.prototypes is not None:
                again = tower.hidden(given) if self.options.contrast == "infonce" else None
                clean = self._clean_states(items, tower) if self.options.contrast == "supervised" else None
                loss = loss + self._contrast(states, again, clean, output, targets)
        return {"loss": loss}

    def _vectors(self, items: Sequence[Item]) -> list[Tensor]:
        if all(item.vectors is not None for item in items):
            return [item.vectors.to(self.encoder.device) for item in items if item.vectors is not None]
        return self.encoder.vectors([item.example.reading for item in items])

    def _contrast(
        self,
        states: tuple[Tensor, Tensor],
        again: tuple[Tensor, Tensor] | None,
        clean: tuple[Tensor, list[int]] | None,
        output: HeadOutput,
        targets: Targets,
    ) -> Tensor:
        assert self.prototypes is not None
        options, prototypes = self.options, self.prototypes
        evidence = prototypes(*states, output.steps)
        logits = prototypes.mode_logits(evidence.bags)
        if again is not None:
            near = infonce(evidence.bags, prototypes(*again, output.steps).bags, temperature=options.temperature)
        else:
            passing = None
            if clean is not None:
                projected = torch.nn.functional.normalize(prototypes.step(clean[0]), dim=-1)
                passing = at_place(projected, evidence.top, clean[1])
            near = supervised(evidence, prototypes.modes, targets, temperature=options.temperature, clean=passing)
        return (
            asymmetric(logits, modes_of(targets))
            + options.contrast_weight * near
            + options.hierarchy_weight * hierarchy(output, logits, targets)
        )

    def _clean_states(self, items: Sequence[Item], tower: nn.Module) -> tuple[Tensor, list[int]] | None:
        """States of the passing runs' steps, and how many there are: none for an item without a passing run."""
        if not any(item.clean is not None and len(item.clean.steps) for item in items):
            return None
        filled = [item.clean if item.clean is not None else item.example.reading for item in items]
        given = stack(filled, self.encoder.vectors(filled))
        lengths = [0 if item.clean is None else len(item.clean.steps) for item in items]
        return tower.hidden(given)[0], lengths  # type: ignore[operator]


def mode_vectors(encoder: EncoderModel, tokenizer: StepTokenizer) -> Tensor:
    """(14, V): what the step encoder makes of the name and the definition of each error mode."""
    from tracer_hooks.attribution.encoder import read

    steps = tuple(
        Step(index=place, agent="mode", content=f"{mode.title}: {mode.definition}")
        for place, mode in enumerate(ErrorMode)
    )
    reading = read(Trajectory(run_id="modes", steps=steps), tokenizer, ())
    with torch.no_grad():
        return encoder.vectors([reading])[0].float().cpu()
