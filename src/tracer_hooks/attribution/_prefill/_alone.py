"""The surprise of each step's text when only the task stands before it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution._prefill._model import LocalModel
from tracer_hooks.attribution._prefill._reader import token_surprise
from tracer_hooks.attribution._prefill._render import Transcript


def read_alone(model: LocalModel, transcript: Transcript, *, batch_tokens: int) -> tuple[NDArray[np.float32], int]:
    """Read every step by itself, in batches that share the cache of the preamble.

    Args:
        model: The model.
        transcript: What is read.
        batch_tokens: Most tokens of one batch, padding included; a single step may be longer.

    Returns:
        The surprise of each token of the transcript, nan outside of steps, shape (n,); and how many tokens were read.
    """
    torch = model.torch
    found = np.full(len(transcript.tokens), np.nan, dtype=np.float32)
    read = transcript.kept
    with torch.inference_mode():
        front = torch.from_numpy(transcript.tokens[: transcript.kept]).to(model.device)
        shared = model.network(input_ids=front[None], use_cache=True, logits_to_keep=1).past_key_values
        for batch in _batches(transcript, batch_tokens):
            longest = max(end - start for start, end in batch)
            read += longest * len(batch)
            # Padding stands at the end, where the causal mask hides it from every token that counts.
            ids = torch.zeros((len(batch), longest), dtype=torch.long, device=model.device)
            for row, (start, end) in enumerate(batch):
                ids[row, : end - start] = torch.from_numpy(transcript.tokens[start:end])
            logits = model.network(input_ids=ids, past_key_values=_repeated(shared, len(batch)), use_cache=True).logits
            for row, (start, end) in enumerate(batch):
                size = end - start
                found[start + 1 : end] = token_surprise(torch, logits[row, : size - 1], ids[row, 1:size])
    found[transcript.owner < 0] = np.nan
    return found, read


def _repeated(cache: Any, times: int) -> Any:
    own = copy.deepcopy(cache)
    own.batch_repeat_interleave(times)
    return own


def _batches(transcript: Transcript, batch_tokens: int) -> Iterator[list[tuple[int, int]]]:
    """Steps with text, those of like length together."""
    filled = np.unique(transcript.owner[transcript.owner >= 0])
    pieces = sorted((transcript.pieces[step] for step in filled), key=lambda piece: piece[1] - piece[0])
    batch: list[tuple[int, int]] = []
    for piece in pieces:
        if batch and (piece[1] - piece[0]) * (len(batch) + 1) > batch_tokens:
            yield batch
            batch = []
        batch.append(piece)
    if batch:
        yield batch
