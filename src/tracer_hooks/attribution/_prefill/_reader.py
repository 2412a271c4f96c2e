"""Reads a transcript once: the surprise of every token, hidden states by step, and attention between steps.

The model's cache holds at most one window of tokens. When it is full, reading goes on in a fresh window that begins
with the preamble and the newest half of the old one, so that the task stays in view, as the first tokens do in
streaming attention (Xiao et al. 2024), and no token is read without at least that much context. Nothing as
large as the square of the transcript's length is ever made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution._prefill._attention import AttentionRecorder
from tracer_hooks.attribution._prefill._model import LocalModel
from tracer_hooks.attribution._prefill._render import Transcript
from tracer_hooks.errors import AttributionError, ConfigError

_LOGIT_ROWS = 64
"""Rows of logits that are in float32 at once: a large vocabulary makes them the largest tensor of all."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a model noted while it read."""

    surprise: NDArray[np.float32]
    """Negative log-likelihood of each token in nats, shape (n,); nan for the first."""
    attention: NDArray[np.float32]
    """Share of a step's attention (row) that goes to each step, averaged over its tokens, the heads and the chosen
    layers, shape (steps, steps + 1); the last column is all other text, so that rows sum to 1. Zeros for a step
    without text."""
    hidden: NDArray[np.float32]
    """Mean state of each step's tokens, then the state of its last token, at the chosen layers; shape
    (steps, 2 * layers * width)."""
    tokens: int
    """Tokens that were read, those that were read again in a new window included."""


def read(model: LocalModel, transcript: Transcript, *, chunk: int) -> Reading:
    """Read a transcript; see :class:`Reading`.

    Raises:
        AttributionError: The model gives values that are not numbers.
        ConfigError: The preamble fills more than half of the window, or the model does not show its attention.
    """
    torch = model.torch
    if model.window < 2 * transcript.kept:
        raise ConfigError(
            f"the window is {model.window!r} tokens, expected at least {2 * transcript.kept}: twice the preamble. "
            "Use fewer task_tokens or a model with a longer context"
        )
    session = _Session(model, transcript)
    with torch.inference_mode(), session.recorder:
        for places, fresh in windows(len(transcript.tokens), transcript.kept, model.window):
            session.open_window(places, fresh)
            for start in range(0, len(places), chunk):
                session.advance(start, min(start + chunk, len(places)))
    return session.result()


def windows(length: int, kept: int, window: int) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Which tokens stand in each window, and how many of them, at its front, have been read before.

    Args:
        length: Tokens in all.
        kept: Tokens at the front that stand in every window.
        window: Most tokens of one window.
    """
    yield np.arange(min(length, window)), 0
    done = min(length, window)
    overlap = (window - kept) // 2
    while done < length:
        end = min(length, done + window - kept - overlap)
        yield np.concatenate([np.arange(kept), np.arange(done - overlap, end)]), kept + overlap
        done = end


class _Session:
    """The state of one reading."""

    def __init__(self, model: LocalModel, transcript: Transcript) -> None:
        torch = model.torch
        self._model, self._transcript, self._torch = model, transcript, torch
        self._steps = transcript.steps
        width = model.network.config.get_text_config().hidden_size * len(model.hidden_layers)
        self._sums = torch.zeros((self._steps + 1, width), dtype=torch.float32, device=model.device)
        self._last = torch.zeros((self._steps + 1, width), dtype=torch.float32, device=model.device)
        self._surprise = np.full(len(transcript.tokens), np.nan, dtype=np.float32)
        self._ends = _last_tokens(transcript)
        self._tokens = 0
        self.recorder = AttentionRecorder(torch, steps=self._steps, layers=model.flow_layers, device=model.device)

    def open_window(self, places: NDArray[np.int64], read_before: int) -> None:
        torch = self._torch
        owner = np.where(self._transcript.owner[places] < 0, self._steps, self._transcript.owner[places])
        rows = owner.copy()
        rows[:read_before] = self._steps
        self._places, self._read_before = places, read_before
        self._columns = torch.from_numpy(owner).to(self._model.device)
        self._rows = torch.from_numpy(rows).to(self._model.device)
        self._ids = torch.from_numpy(self._transcript.tokens[places]).to(self._model.device)
        self._cache: Any = None

    def advance(self, start: int, end: int) -> None:
        """Read the tokens ``start`` to ``end`` of the window."""
        self.recorder.expect(self._rows[start:end], self._columns[:end])
        output = self._model.network(
            input_ids=self._ids[None, start:end],
            past_key_values=self._cache,
            use_cache=True,
            output_hidden_states=True,
        )
        self._cache = output.past_key_values
        self._tokens += end - start
        self._note_surprise(output.logits[0], start, end)
        states = [output.hidden_states[layer][0].float() for layer in self._model.hidden_layers]
        self._note_states(self._torch.cat(states, dim=-1), start, end)

    def _note_surprise(self, logits: Any, start: int, end: int) -> None:
        targets = self._ids[start + 1 : end + 1]
        values = token_surprise(self._torch, logits[: len(targets)], targets)
        at = np.arange(start + 1, start + 1 + len(targets))
        new = at >= self._read_before
        self._surprise[self._places[at[new]]] = values[new]

    def _note_states(self, states: Any, start: int, end: int) -> None:
        rows = self._rows[start:end]
        eye = self._torch.eye(self._steps + 1, dtype=self._torch.float32, device=states.device)
        self._sums += eye[rows].T @ states
        for offset, place in enumerate(self._places[start:end]):
            step = self._ends.get(int(place))
            if step is not None and start + offset >= self._read_before:
                self._last[step] = states[offset]

    def result(self) -> Reading:
        if self.recorder.calls == 0:
            kind = self._model.network.config.model_type
            raise ConfigError(f"a model of type {kind!r} does not show its attention; expected a decoder such as Llama")
        counts = np.bincount(self._transcript.owner[self._transcript.owner >= 0], minlength=self._steps)
        share = np.maximum(counts, 1)[:, None].astype(np.float32)
        sums = self.recorder.sums[: self._steps].cpu().numpy() / len(self._model.flow_layers)
        means = self._sums[: self._steps].cpu().numpy() / share
        hidden = np.concatenate([means, self._last[: self._steps].cpu().numpy()], axis=1)
        if not (np.isfinite(self._surprise[1:]).all() and np.isfinite(hidden).all()):
            raise AttributionError(
                f"the language model gives values that are no numbers in {self._model.network.dtype}; "
                "expected finite ones. Use dtype='float32'"
            )
        return Reading(surprise=self._surprise, attention=sums / share, hidden=hidden, tokens=self._tokens)


def token_surprise(torch: Any, logits: Any, targets: Any) -> NDArray[np.float32]:
    """Negative log-likelihood of each target under its row of ``logits``, in nats."""
    found = np.empty(len(targets), dtype=np.float32)
    for start in range(0, len(targets), _LOGIT_ROWS):
        rows = logits[start : start + _LOGIT_ROWS].float()
        aim = targets[start : start + _LOGIT_ROWS]
        values = torch.logsumexp(rows, dim=-1) - rows.gather(1, aim[:, None])[:, 0]
        found[start : start + len(aim)] = values.cpu().numpy()
    return found


def _last_tokens(transcript: Transcript) -> dict[int, int]:
    """The place of each step's last token, as a mapping from place to step."""
    last = {int(step): place for place, step in enumerate(transcript.owner) if step >= 0}
    return {place: step for step, place in last.items()}
