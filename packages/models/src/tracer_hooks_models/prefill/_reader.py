"""Reading of a transcript: surprise of every token, hidden states by step, attention; kept on disk by content."""

from __future__ import annotations

import copy
import hashlib
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.errors import AttributionError, ConfigError
from tracer_hooks.extension import make_folder, seal
from tracer_hooks.schema import Trajectory
from tracer_hooks_models.prefill._model import AttentionRecorder, LocalModel, PrefillOptions
from tracer_hooks_models.prefill._render import (
    RenderedRun,
    header_of,
    shorten,
    step_text,
    transcribe,
)

_LOGIT_ROWS = 64
"""Rows of logits that are in float32 at once: a large vocabulary makes them the largest tensor of all."""


@dataclass(frozen=True, slots=True)
class TokenReading:
    """Signals that a model noted while it read."""

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


def read(model: LocalModel, transcript: RenderedRun, *, chunk: int) -> TokenReading:
    """Read a transcript; see :class:`TokenReading`.

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
    """Yield the tokens that stand in each window, and how many of them, at its front, have been read before.

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

    def __init__(self, model: LocalModel, transcript: RenderedRun) -> None:
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

    def result(self) -> TokenReading:
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
        return TokenReading(surprise=self._surprise, attention=sums / share, hidden=hidden, tokens=self._tokens)


def token_surprise(torch: Any, logits: Any, targets: Any) -> NDArray[np.float32]:
    """Negative log-likelihood of each target under its row of ``logits``, in nats."""
    found = np.empty(len(targets), dtype=np.float32)
    for start in range(0, len(targets), _LOGIT_ROWS):
        rows = logits[start : start + _LOGIT_ROWS].float()
        aim = targets[start : start + _LOGIT_ROWS]
        values = torch.logsumexp(rows, dim=-1) - rows.gather(1, aim[:, None])[:, 0]
        found[start : start + len(aim)] = values.cpu().numpy()
    return found


def _last_tokens(transcript: RenderedRun) -> dict[int, int]:
    """The place of each step's last token, as a mapping from place to step."""
    last = {int(step): place for place, step in enumerate(transcript.owner) if step >= 0}
    return {place: step for step, place in last.items()}


def read_alone(model: LocalModel, transcript: RenderedRun, *, batch_tokens: int) -> tuple[NDArray[np.float32], int]:
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


def _batches(transcript: RenderedRun, batch_tokens: int) -> Iterator[list[tuple[int, int]]]:
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


_PEAK_TOKENS = 12
"""Tokens of the passage that is quoted as a step's most surprising one."""
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillFeatures:
    """Notes of a language model while it read a trajectory; one row for each step."""

    surprise: Floats
    """Mean, 90th percentile and sum of the surprise of the step's tokens in context, in nats; shape (steps, 3)."""
    alone: Floats
    """The same when only the task stands before the step; shape (steps, 3)."""
    counts: NDArray[np.int64]
    """Tokens of the step that were read; shape (steps,)."""
    attention: Floats
    """Share of a step's attention that goes to each step, and in the last column to all other text; shape
    (steps, steps + 1)."""
    hidden: NDArray[np.float16]
    """Hidden states, pooled; shape (steps, values)."""
    peaks: NDArray[np.int64]
    """Where the most surprising passage of the step's text begins and ends; shape (steps, 2)."""
    tokens: NDArray[np.int64]
    """Tokens that the model read, of the transcript and of the steps alone; shape (2,)."""

    def save(self, path: Path) -> None:
        """Write the arrays to an ``.npz`` file, all or nothing."""
        make_folder(path.parent)
        draft = path.with_name(f"{path.stem}.{id(self):x}.draft.npz")
        np.savez_compressed(draft, **{one.name: getattr(self, one.name) for one in fields(self)})
        seal([draft])
        draft.replace(path)

    @classmethod
    def load(cls, path: Path) -> PrefillFeatures | None:
        """Read what :meth:`save` wrote; None when there is nothing that can be read."""
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                return cls(**{one.name: arrays[one.name] for one in fields(cls)})
        except (OSError, KeyError, ValueError, zipfile.BadZipFile):
            return None


def extract(model: LocalModel, trajectory: Trajectory, options: PrefillOptions) -> PrefillFeatures:
    """Read a trajectory, and each of its steps alone."""
    texts = [shorten(model.tokenizer, step_text(step), options.step_tokens, options.cut) for step in trajectory.steps]
    transcript = transcribe(model.tokenizer, trajectory, texts, task_tokens=options.task_tokens)
    alone, alone_read = read_alone(model, transcript, batch_tokens=options.alone_tokens)
    found = observe(model, transcript, chunk=options.chunk)
    return replace(found, alone=_by_step(transcript, alone), tokens=found.tokens + np.array([0, alone_read]))


def observe(model: LocalModel, transcript: RenderedRun, *, chunk: int) -> PrefillFeatures:
    """Read a transcript once; what only a reading of the steps alone would tell is 0."""
    reading = read(model, transcript, chunk=chunk)
    return PrefillFeatures(
        surprise=_by_step(transcript, reading.surprise),
        alone=np.zeros((transcript.steps, 3), dtype=np.float32),
        counts=np.bincount(transcript.owner[transcript.owner >= 0], minlength=transcript.steps),
        attention=reading.attention,
        hidden=np.clip(reading.hidden, -65_000, 65_000).astype(np.float16),
        peaks=_peaks(transcript, reading.surprise),
        tokens=np.array([reading.tokens, 0]),
    )


def _by_step(transcript: RenderedRun, surprise: Floats) -> Floats:
    found = np.zeros((transcript.steps, 3), dtype=np.float32)
    for step in range(transcript.steps):
        values = surprise[transcript.owner == step]
        if len(values):
            found[step] = values.mean(), np.quantile(values, 0.9), values.sum()
    return found


def _peaks(transcript: RenderedRun, surprise: Floats) -> NDArray[np.int64]:
    """The window of a few tokens with the highest mean surprise, as places in the step's text."""
    found = np.zeros((transcript.steps, 2), dtype=np.int64)
    for step in range(transcript.steps):
        places = np.flatnonzero(transcript.owner == step)
        if not len(places):
            continue
        size = min(_PEAK_TOKENS, len(places))
        means = np.convolve(surprise[places], np.ones(size) / size, mode="valid")
        first = int(means.argmax())
        spans: Any = transcript.spans[places[first : first + size]]
        # Tokens from both sides of a gap: only the first side is one passage.
        jumps = np.flatnonzero(np.diff(places[first : first + size]) > 1)
        spans = spans[: jumps[0] + 1] if len(jumps) else spans
        found[step] = spans[0][0], spans[-1][1]
    return found


_FORMAT = 1
"""Raised when a reading means something else than before."""
DEFAULT_CACHE = Path(".tracer_hooks") / "prefill"


def reading_name(trajectory: Trajectory, *, fingerprint: str, settings: dict[str, object]) -> str:
    """A name that is the same for the same text, model and settings only."""
    content = {
        "format": _FORMAT,
        "model": fingerprint,
        "settings": settings,
        "task": trajectory.task,
        "steps": [[header_of(step), step_text(step)] for step in trajectory.steps],
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def cached(directory: Path, name: str, make: Callable[[], PrefillFeatures]) -> PrefillFeatures:
    """The reading of that name, made and kept when it is not there yet."""
    path = directory / name[:2] / f"{name}.npz"
    found = PrefillFeatures.load(path)
    if found is None:
        found = make()
        found.save(path)
    return found
