"""A trajectory as the text that the language model reads, with every token's place in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.schema import Step, Trajectory
from tracer_hooks_models.prefill._model import Cut

GAP = " [...] "
_PREAMBLE = (
    "This is the record of a team of agents that worked on a task and failed. The record is shortened: [...] marks "
    "text that was left out, which is no error of an agent.\n\nTask: "
)
_CHARS_PER_TOKEN = 12
"""No more characters than this are tokenised for one token that is kept, so that a megabyte costs nothing."""


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """Tokens of a text of which the middle or the end may be left out."""

    tokens: tuple[int, ...]
    """Token ids."""
    spans: tuple[tuple[int, int], ...]
    """Where each token stands in the text; ``(-1, -1)`` for the mark of what was left out."""


@dataclass(frozen=True, slots=True)
class RenderedRun:
    """A whole trajectory in tokens."""

    tokens: NDArray[np.int64]
    """Token ids, shape (n,)."""
    owner: NDArray[np.int64]
    """Index of the step that a token is the text of, shape (n,); -1 for headers, the preamble and marks."""
    spans: NDArray[np.int64]
    """Where a token stands in its step's text, shape (n, 2)."""
    kept: int
    """Tokens at the front, the preamble with the task, that stay in view in every window."""
    pieces: tuple[tuple[int, int], ...]
    """For each step, where its header begins and its text ends."""

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.pieces)


def step_parts(step: Step) -> list[tuple[str, str]]:
    """List the texts of a step, as (name, text); the names are those of :mod:`tracer_hooks.diagnosis`."""
    parts = [("content", step.content)] if step.content.strip() else []
    if step.error:
        parts.append(("error", step.error))
    for call in step.tool_calls:
        given = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)
        parts.append(("call", f"calls {call.name}({given})"))
        if call.result:
            parts.append(("result", call.result))
        if call.error:
            parts.append(("tool error", call.error))
    return parts


def step_text(step: Step) -> str:
    """Join the texts of a step."""
    return "\n".join(text for _, text in step_parts(step))


def part_at(step: Step, place: int) -> tuple[str, str, int]:
    """The part of :func:`step_text` that holds a place: its name, its text, and the place within it."""
    start = 0
    parts = step_parts(step)
    for name, text in parts:
        if place <= start + len(text):
            return name, text, max(0, place - start)
        start += len(text) + 1
    name, text = parts[-1]
    return name, text, len(text)


def shorten(tokenizer: Any, text: str, limit: int, cut: Cut) -> TokenizedText:
    """At most ``limit`` tokens of a text; when it is longer, a mark stands for the rest."""
    room = limit * _CHARS_PER_TOKEN
    if len(text) <= 2 * room:
        ids, spans = _encode(tokenizer, text, 0)
        if len(ids) <= limit:
            return TokenizedText(tuple(ids), tuple(spans))
        head, tail = (ids, spans), (ids, spans)
    else:
        head = _encode(tokenizer, text[:room], 0)
        tail = _encode(tokenizer, text[-room:], len(text) - room)
    gap, _ = _encode(tokenizer, GAP, 0)
    marks = [(-1, -1)] * len(gap)
    first = limit if cut == "head" else limit - limit // 2
    last = limit - first
    ends = (tail[0][-last:], tail[1][-last:]) if last else ([], [])
    return TokenizedText(
        tuple(head[0][:first]) + tuple(gap) + tuple(ends[0]), tuple(head[1][:first]) + tuple(marks) + tuple(ends[1])
    )


def preamble_tokens(tokenizer: Any, trajectory: Trajectory, limit: int) -> list[int]:
    """Return the tokens before the steps: what the text is, and the task."""
    opening = list(tokenizer(_PREAMBLE)["input_ids"])  # with the beginning-of-text token, for models that have one
    if tokenizer.eos_token_id is not None and opening[-1] == tokenizer.eos_token_id:
        opening.pop()
    task = shorten(tokenizer, trajectory.task.strip() or "(not recorded)", limit, "head_tail")
    return [*opening, *task.tokens, *_encode(tokenizer, "\n\n", 0)[0]]


def header_of(step: Step) -> str:
    """The line above a step."""
    target = f" -> {step.recipient}" if step.recipient else ""
    return f"[Step {step.index}] {step.agent}{target}: "


def transcribe(
    tokenizer: Any,
    trajectory: Trajectory,
    texts: Sequence[TokenizedText],
    *,
    task_tokens: int,
    notes: dict[int, str] | None = None,
) -> RenderedRun:
    """Put a trajectory together.

    Args:
        tokenizer: The model's tokenizer.
        trajectory: What happened.
        texts: The tokens of each step's text.
        task_tokens: Most tokens of the task.
        notes: Lines that stand before a step, by the step's index.
    """
    tokens = preamble_tokens(tokenizer, trajectory, task_tokens)
    kept = len(tokens)
    owner, spans, pieces = [-1] * kept, [(-1, -1)] * kept, []
    end, _ = _encode(tokenizer, "\n\n", 0)
    for step, text in zip(trajectory.steps, texts, strict=True):
        note = (notes or {}).get(step.index)
        before = _encode(tokenizer, f"{note}\n\n", 0)[0] if note else []
        head = _encode(tokenizer, header_of(step), 0)[0]
        begin = len(tokens) + len(before)
        tokens += [*before, *head, *text.tokens, *end]
        owner += [-1] * (len(before) + len(head))
        owner += [step.index if span[0] >= 0 else -1 for span in text.spans] + [-1] * len(end)
        spans += [(-1, -1)] * (len(before) + len(head)) + list(text.spans) + [(-1, -1)] * len(end)
        pieces.append((begin, len(tokens) - len(end)))
    return RenderedRun(
        tokens=np.asarray(tokens, dtype=np.int64),
        owner=np.asarray(owner, dtype=np.int64),
        spans=np.asarray(spans, dtype=np.int64).reshape(-1, 2),
        kept=kept,
        pieces=tuple(pieces),
    )


def _encode(tokenizer: Any, text: str, offset: int) -> tuple[list[int], list[tuple[int, int]]]:
    found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    return list(found["input_ids"]), [(start + offset, end + offset) for start, end in found["offset_mapping"]]
