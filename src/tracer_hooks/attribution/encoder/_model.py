"""The whole encoder: step texts in, logits out."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from tracer_hooks.attribution.encoder._backbone import StepEncoder, pad
from tracer_hooks.attribution.encoder._given import Reading
from tracer_hooks.attribution.encoder._head import HeadOutput
from tracer_hooks.attribution.encoder._stack import stack
from tracer_hooks.attribution.encoder._tokens import StepTokens
from tracer_hooks.attribution.encoder._towers import TrajectoryHead

_CHUNK = 48


class EncoderModel(nn.Module):
    """A step encoder and the trajectory head over its vectors."""

    def __init__(self, backbone: StepEncoder, head: TrajectoryHead) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head
        self.in_bfloat16: bool | None = None
        """Whether steps are encoded in bfloat16; None: where that is fast."""

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.head.parameters()).device

    def vectors(self, readings: Sequence[Reading]) -> list[Tensor]:
        """For each trajectory, (n, width): the vectors of its candidate steps; equal steps are encoded once."""
        order: dict[StepTokens, int] = {}
        for reading in readings:
            for tokens in reading.tokens:
                order.setdefault(tokens, 0)
        ranked = sorted(order, key=lambda tokens: len(tokens.ids))  # of like length together: little padding
        order = {tokens: row for row, tokens in enumerate(ranked)}
        if not ranked:
            return [torch.zeros(0, self.backbone.width, device=self.device) for _ in readings]
        found = torch.cat([self._encoded(ranked[k : k + _CHUNK]) for k in range(0, len(ranked), _CHUNK)])
        return [found[[order[tokens] for tokens in reading.tokens]] for reading in readings]

    def forward(self, readings: Sequence[Reading]) -> HeadOutput:
        """Logits of a batch of trajectories."""
        output: HeadOutput = self.head(stack(readings, self.vectors(readings)))
        return output

    def _encoded(self, steps: list[StepTokens]) -> Tensor:
        ids, mask, own = (tensor.to(self.device) for tensor in pad(steps))
        is_half = has_bf16(self.device) if self.in_bfloat16 is None else self.in_bfloat16
        with torch.autocast(self.device.type, torch.bfloat16, enabled=is_half):
            found: Tensor = self.backbone(ids, mask, own)
        return found.float()


def has_bf16(device: torch.device) -> bool:
    """Whether matrix products in bfloat16 are faster than in float32 there.

    A processor without instructions for them takes many times longer.
    """
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    checks = (getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"))
    return any(check is not None and check() for check in checks)
