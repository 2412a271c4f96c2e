"""How much each step attends to each earlier step, added up while a model reads.

The attention of whole layers is never kept: the weights of one chunk of rows are summed by step at once, so that what
remains is one number for each pair of steps.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

IMPLEMENTATION = "tracer_hooks_recording"
"""Name under which transformers knows our attention function."""

_recorder: ContextVar[AttentionRecorder | None] = ContextVar("tracer_hooks_attention_recorder", default=None)


class AttentionRecorder:
    """Sums attention by pairs of steps over the heads of some layers.

    Args:
        torch: The module.
        steps: How many steps there are.
        layers: Indices of the layers to record.
        device: Where the sums are kept.
    """

    def __init__(self, torch: Any, *, steps: int, layers: frozenset[int], device: str) -> None:
        self._torch = torch
        self._layers = layers
        self._bins = steps + 1
        self.sums = torch.zeros((self._bins, self._bins), dtype=torch.float32, device=device)
        """Attention from the row's step to the column's, over tokens and layers; the last bin is all other text."""
        self.calls = 0
        """How many layers have been recorded so far."""
        self._rows: Any = None
        self._columns: Any = None

    def expect(self, rows: Any, columns: Any) -> None:
        """Say what the next chunk holds.

        Args:
            rows: The step that each token of the chunk belongs to; ``steps`` for a token that is not to be recorded.
            columns: The step of every token in view, the chunk included.
        """
        eye = self._torch.eye(self._bins, dtype=self._torch.float32, device=self.sums.device)
        self._rows, self._columns = eye[rows], eye[columns]

    def __enter__(self) -> AttentionRecorder:
        self._token = _recorder.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _recorder.reset(self._token)

    def record(self, module: Any, query: Any, key: Any, mask: Any, scaling: float | None) -> None:
        """Add one layer's attention of the chunk: ``query`` (1, heads, rows, size), ``key`` (1, groups, keys, size)."""
        if getattr(module, "layer_idx", None) not in self._layers:
            return
        weights = self._mean_weights(query, key, mask, scaling if scaling is not None else query.shape[-1] ** -0.5)
        # A layer with a sliding window holds only the newest keys.
        columns = self._columns[-key.shape[2] :]
        self.sums += self._rows.T @ (weights @ columns)
        self.calls += 1

    def _mean_weights(self, query: Any, key: Any, mask: Any, scaling: float) -> Any:
        """Attention of each row to each key, averaged over the heads; one head at a time, to save memory."""
        torch = self._torch
        heads, rows, keys = query.shape[1], query.shape[2], key.shape[2]
        allowed = _allowed(torch, rows, keys, mask, query.device)
        total = torch.zeros((rows, keys), dtype=torch.float32, device=query.device)
        for head in range(heads):
            group = key[0, head * key.shape[1] // heads]
            raw = torch.addmm(allowed, query[0, head].float(), group.float().T, alpha=scaling)
            total += torch.softmax(raw, dim=-1)
        return total / heads


def _allowed(torch: Any, rows: int, keys: int, mask: Any, device: Any) -> Any:
    """0 where a row may look, minus infinity elsewhere: no row ahead of itself, and what the model's mask says."""
    ahead = torch.arange(keys, device=device) > torch.arange(rows, device=device)[:, None] + keys - rows
    bias = torch.zeros((rows, keys), dtype=torch.float32, device=device).masked_fill_(ahead, float("-inf"))
    if mask is None:
        return bias
    part = mask[0, 0, :, :keys]
    return bias.masked_fill_(~part, float("-inf")) if part.dtype == torch.bool else bias + part.float()


def _attend(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **kwargs: Any) -> Any:
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    recorder = _recorder.get()
    if recorder is not None:
        recorder.record(module, query, key, attention_mask, kwargs.get("scaling"))
    return sdpa_attention_forward(module, query, key, value, attention_mask, **kwargs)


def register_recording() -> None:
    """Make our attention function known to transformers; it computes what its own does."""
    from transformers import AttentionInterface

    AttentionInterface.register(IMPLEMENTATION, _attend)
    try:
        from transformers import AttentionMaskInterface
        from transformers.masking_utils import sdpa_mask
    except ImportError:  # before 4.53, models made their masks themselves
        return
    AttentionMaskInterface.register(IMPLEMENTATION, sdpa_mask)
