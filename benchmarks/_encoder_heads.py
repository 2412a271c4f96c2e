"""Trajectory heads trained over vectors that stay as they are, and what they say of the rows that were left out."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from _encoder_rows import Part, StudyRow
from numpy.typing import NDArray
from torch import Tensor

from tracer_hooks.attribution.encoder import EncoderModel, HeadConfig, StepEncoder, TrajectoryHead, stack
from tracer_hooks.training import ContrastiveConfig, contrastive
from tracer_hooks.training._contrastive_model import ContrastiveModel, ContrastOptions, Item

TOWERS = ("words", "features", "both")
Contrast = Literal["none", "infonce", "supervised"]
Logits = list[NDArray[np.float32]]
"""For each tested row, (agents, 15): log-odds that an agent is at fault, and that it is with each mode."""
_BATCH = 32


@dataclass(frozen=True)
class HeadStudy:
    """Trains and tests heads; what was once trained is read from ``folder``."""

    backbone: StepEncoder
    config: HeadConfig
    rows: Sequence[StudyRow]
    vectors: Sequence[Tensor]
    modes: Tensor
    """(14, width): where the prototypes of the modes begin."""
    epochs: float
    folder: Path

    def logits(self, contrast: Contrast, part: Part, seed: int) -> dict[str, Logits]:
        """By tower, what a head trained with one contrast and one seed says of the part's tested rows.

        The contrast is on the tower that reads words, and neither tower knows of the other: the one that reads features
        is trained once, and given for itself, without contrast.
        """
        file = self.folder / f"{contrast}-{part.name}-{seed}.npz"
        if not file.is_file():
            head = self._trained(contrast, part, seed)
            told = self._told(head.eval(), part.test)
            unfinished = file.with_suffix(".part.npz")
            np.savez(unfinished, allow_pickle=False, **{tower: np.concatenate(found) for tower, found in told.items()})
            unfinished.replace(file)
        counts = np.cumsum([len(self.rows[k].encoder.labels.agents) for k in part.test])[:-1]
        with np.load(file) as stored:
            found = {tower: np.split(stored[tower], counts) for tower in stored.files}
        if contrast == "none":
            return found
        features, share = self.logits("none", part, seed)["features"], TrajectoryHead(self.config).share
        both = [share * one + (1 - share) * other for one, other in zip(found["words"], features, strict=True)]
        return {"words": found["words"], "both": both}

    def _trained(self, contrast: Contrast, part: Part, seed: int) -> TrajectoryHead:
        torch.manual_seed(seed)
        config = self.config if contrast == "none" else replace(self.config, features=())
        model = EncoderModel(self.backbone, TrajectoryHead(config))
        items = [Item(self.rows[k].encoder, vectors=self.vectors[k]) for k in part.train]
        with tempfile.TemporaryDirectory() as folder:
            told = ContrastiveConfig(
                data=(Path(folder),),
                base=Path(folder),
                out=Path(folder),
                epochs=self.epochs,
                batch=_BATCH,
                seed=seed,
                head_rate=1e-3,
                contrast=contrast,
                checkpoint_every=10**9,
                device="cpu",
                tensorboard=False,
            )
            training = ContrastiveModel(model, ContrastOptions(contrast=contrast), self.modes)
            contrastive.trainer_of(told, training, contrastive.Parts(items, [], [])).train()
        return model.head

    def _told(self, head: TrajectoryHead, tested: Sequence[int]) -> dict[str, Logits]:
        found: dict[str, Logits] = {tower: [] for tower in TOWERS[: len(head.towers)]}
        if len(head.towers) > 1:
            found["both"] = []
        for start in range(0, len(tested), _BATCH):
            batch = tested[start : start + _BATCH]
            given = stack([self.rows[k].encoder.reading for k in batch], [self.vectors[k] for k in batch])
            with torch.inference_mode():
                own = [tower(given) for tower in head.towers]
                outputs = dict(zip(found, (*own, head.combined(own)), strict=False))
            for place, k in enumerate(batch):
                count = len(self.rows[k].encoder.labels.agents)
                for tower, output in outputs.items():
                    agents, modes = output.agents[place, :count], output.modes[place, :count]
                    found[tower].append(torch.cat([agents[:, None], modes], 1).numpy())
        return found
