"""The two towers of the encoder: one reads the words, the other the structural features."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from tracer_hooks.attribution.encoder._head import HeadConfig, HeadInput, HeadOutput, Tower


class TrajectoryHead(nn.Module):
    """Logits from step vectors and structural features, which join at the end.

    One tower over both may lean on the vectors, which tell the teams of the training data apart. Two towers, each with
    its own loss, keep what either is worth, and either can be trained again without the other.

    Args:
        config: Of the tower that reads words; with features there is a second tower of the same size for those.
        share: Weight of the words, above 0 and below 1, where there are two towers.
    """

    def __init__(self, config: HeadConfig, share: float = 0.25) -> None:
        super().__init__()
        self.config, self.share = config, share
        self.words = Tower(replace(config, features=()))
        self.signs = Tower(replace(config, vectors=0)) if config.features else None

    @property
    def towers(self) -> list[Tower]:
        """The towers that there are, the words' first."""
        return [self.words] if self.signs is None else [self.words, self.signs]

    @property
    def reads_anew(self) -> bool:
        """Whether the tower that reads words is being trained."""
        return next(self.words.parameters()).requires_grad

    def trained(self, given: HeadInput) -> list[HeadOutput]:
        """The own logits of each tower that is being trained."""
        return [tower(given) for tower in self.towers if next(tower.parameters()).requires_grad]

    def forward(self, given: HeadInput) -> HeadOutput:
        """The weighted mean of the towers' logits; what is used."""
        return self.combined([tower(given) for tower in self.towers])

    def combined(self, outputs: list[HeadOutput]) -> HeadOutput:
        """The weighted mean of what the towers gave."""
        if len(outputs) == 1:
            return outputs[0]
        words, signs = outputs
        return HeadOutput(
            *(self.share * one + (1 - self.share) * other for one, other in zip(words, signs, strict=True))
        )

    def states(self, given: HeadInput) -> tuple[Tensor, HeadOutput]:
        """What the pointers read, (B, T, width) or twice as wide with two towers, and the logits."""
        hidden = [(tower, tower.hidden(given)) for tower in self.towers]
        outputs = [tower.outputs(steps, agents, given) for tower, (steps, agents) in hidden]
        return torch.cat([steps for _, (steps, _) in hidden], -1), self.combined(outputs)
