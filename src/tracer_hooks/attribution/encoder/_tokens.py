"""Step texts as token ids of a fixed, short length."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tracer_hooks._file_bytes import read_bytes
from tracer_hooks._limits import brief
from tracer_hooks._optional import require
from tracer_hooks.attribution._weight_files import reason_of, refuse_changed
from tracer_hooks.attribution.encoder._texts import StepText
from tracer_hooks.errors import AttributionError

if TYPE_CHECKING:
    from tokenizers import Tokenizer


TOKENIZER = "tokenizer.json"
"""The tokenizer's file in a model's folder."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How many tokens each part of a step may take; of :attr:`own_head` and :attr:`own_tail` the middle is left out."""

    task: int = 10
    before: int = 16
    own_head: int = 40
    own_tail: int = 30
    after: int = 10


@dataclass(frozen=True, slots=True)
class StepTokens:
    """One step's token ids."""

    ids: tuple[int, ...]
    """The whole sequence, special tokens included."""
    own: tuple[int, int]
    """Where the step's own words begin and end in it."""


class StepTokenizer:
    """Cuts step texts into token ids.

    Args:
        directory: A folder with ``tokenizer.json``.
        budget: Tokens for each part.
    """

    def __init__(self, directory: Path, budget: Budget | None = None) -> None:
        tokenizers = require("tokenizers", extra="model", feature="the attributor 'encoder'")
        path = directory / TOKENIZER
        refuse_changed(path)
        try:
            self._tokenizer: Tokenizer = tokenizers.Tokenizer.from_str(read_bytes(path).decode("utf-8"))
        except Exception as error:  # the library raises a bare Exception
            raise AttributionError(
                f"{str(path)!r} is no tokenizer ({brief(reason_of(error))}): fetch or train the encoder again"
            ) from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._budget = budget or Budget()
        self._cls, self._sep = self._special("[CLS]"), self._special("[SEP]")
        self._known: dict[str, list[int]] = {}

    def tokens_of(self, steps: tuple[StepText, ...]) -> list[StepTokens]:
        """One sequence for each step."""
        self._read({text for step in steps for text in (step.task, step.before, step.own, step.after)})
        found = [self._one(step) for step in steps]
        self._known.clear()
        return found

    def _read(self, texts: set[str]) -> None:
        ordered = sorted(texts)
        encoded = self._tokenizer.encode_batch(ordered, add_special_tokens=False)
        self._known = {text: one.ids for text, one in zip(ordered, encoded, strict=True)}

    def _one(self, step: StepText) -> StepTokens:
        budget, known = self._budget, self._known
        own = known[step.own]
        if len(own) > budget.own_head + budget.own_tail:
            own = [*own[: budget.own_head], self._sep, *own[len(own) - budget.own_tail :]]
        before = known[step.before]
        ids = [self._cls, *known[step.task][: budget.task], self._sep]
        ids += [*before[max(0, len(before) - budget.before) :], self._sep]
        start = len(ids)
        ids += [*own, self._sep]
        return StepTokens((*ids, *known[step.after][: budget.after], self._sep), (start, start + max(1, len(own))))

    def _special(self, token: str) -> int:
        found = self._tokenizer.token_to_id(token)
        if found is None:
            raise ValueError(f"the tokenizer has no token {token!r}")
        return found
