"""Linear layers for a CPU: in float32, in bfloat16 with weights packed once, and in int8."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

Linear = Callable[[torch.Tensor], torch.Tensor]

FORMATS = ("float32", "bfloat16", "int8")


def linear(weight: torch.Tensor, bias: torch.Tensor | None, number_format: str) -> Linear:
    """A function from rows ``[n, in]`` to rows ``[n, out]``.

    Args:
        weight: ``[out, in]``.
        bias: ``[out]``, if the layer has one.
        number_format: One of ``FORMATS``.
    """
    if number_format == "int8":
        return Int8Linear(weight, bias)
    if number_format == "bfloat16" and torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return PackedLinear(weight.bfloat16(), bias)
    return PlainLinear(weight, bias)


class PlainLinear:
    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        self._weight = weight
        self._bias = bias

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        return functional.linear(rows, self._weight, self._bias)


class PackedLinear:
    """Weights in oneDNN's own order: plain ``linear`` would put them into that order again at each call."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), 16)
        self._bias = None if bias is None else bias.bfloat16()

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = torch.ops.mkldnn._linear_pointwise(rows, self._weight, self._bias, "none", [], "")
        return out


class Int8Linear:
    """Both sides in eight bits: one scale for each output channel, and one for each row at the time of the call.

    Rows go in and come out in float32. A row becomes unsigned with a zero point of 128, which is what the CPU's
    instruction for dot products of bytes takes. A CPU without it (VNNI) adds two products at a time in sixteen bits,
    which hold them only if the weights have seven.
    """

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        full = weight.float()
        most = 127 if torch.cpu._is_vnni_supported() else 63
        self._scale = full.abs().amax(1).clamp_min(1e-8) / most
        whole = (full / self._scale[:, None]).round_().clamp_(-most, most).to(torch.int8)
        self._weight = torch.ops.onednn.qlinear_prepack(whole, None)
        self._zero = torch.zeros(len(full), dtype=torch.int32)
        self._bias = None if bias is None else bias.float()

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        scale = rows.abs().amax(1, keepdim=True).clamp_min_(1e-8).div_(127)
        # The conversion cuts the fraction off, so that adding 128.5 rounds.
        whole = torch.mul(rows, scale.reciprocal()).add_(128.5).to(torch.uint8)
        out: torch.Tensor = torch.ops.onednn.qlinear_pointwise(
            whole, 1.0, 128, self._weight, self._scale, self._zero, None, 1.0, 0, torch.float32, "none", [], ""
        )
        out.mul_(scale)
        return out if self._bias is None else out.add_(self._bias)
