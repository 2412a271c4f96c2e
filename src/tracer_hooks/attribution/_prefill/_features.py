"""What one reading of a trajectory gives, as arrays that can be kept."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracer_hooks._private_files import make_folder, seal
from tracer_hooks.attribution._prefill._alone import read_alone
from tracer_hooks.attribution._prefill._model import LocalModel
from tracer_hooks.attribution._prefill._options import PrefillOptions
from tracer_hooks.attribution._prefill._reader import read
from tracer_hooks.attribution._prefill._render import Transcript, shorten, step_text, transcribe
from tracer_hooks.schema import Trajectory

_PEAK_TOKENS = 12
"""Tokens of the passage that is quoted as a step's most surprising one."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillFeatures:
    """What a language model noted while it read a trajectory; one row for each step."""

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
        """What :meth:`save` wrote; None when there is nothing that can be read."""
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


def observe(model: LocalModel, transcript: Transcript, *, chunk: int) -> PrefillFeatures:
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


def _by_step(transcript: Transcript, surprise: Floats) -> Floats:
    found = np.zeros((transcript.steps, 3), dtype=np.float32)
    for step in range(transcript.steps):
        values = surprise[transcript.owner == step]
        if len(values):
            found[step] = values.mean(), np.quantile(values, 0.9), values.sum()
    return found


def _peaks(transcript: Transcript, surprise: Floats) -> NDArray[np.int64]:
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
