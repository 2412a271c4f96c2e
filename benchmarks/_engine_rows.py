"""Which row of keys and values holds which tokens, so that a prompt is not read twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

Tokens = NDArray[np.int32]


def shared_length(one: Tokens, other: Tokens) -> int:
    """How many first tokens two sequences have in common."""
    length = min(len(one), len(other))
    differs = np.flatnonzero(one[:length] != other[:length])
    return int(differs[0]) if len(differs) else length


@dataclass
class Row:
    """One row of the store.

    Attributes:
        tokens: The sequence it is for; only the first ``filled`` have keys and values.
        busy: Whether a running request writes to it.
        used: When it last served, in admissions.
    """

    index: int
    tokens: Tokens = field(default_factory=lambda: np.empty(0, np.int32))
    filled: int = 0
    busy: bool = False
    used: int = 0


class Rows:
    """The rows of a store ``[layers, 2, rows, context, kv heads, head]``, with those of finished requests kept."""

    # To wait for another request's prefix is worth it from this many tokens on.
    WORTH = 16

    def __init__(self, store: torch.Tensor) -> None:
        self._store = store
        self._rows = [Row(index) for index in range(store.shape[2])]
        self._clock = 0

    def awaited(self, prompt: Tokens, have: int) -> bool:
        """Whether a running request will soon hold notably more of ``prompt`` than the ``have`` tokens held now."""
        limit = len(prompt) - 1
        for row in self._rows:
            if row.busy and row.filled < len(row.tokens):
                common = min(shared_length(row.tokens, prompt), limit)
                if common >= have + self.WORTH and common > row.filled:
                    return True
        return False

    def longest(self, prompt: Tokens) -> tuple[Row | None, int]:
        """The row that holds the longest part of ``prompt``, and its length; the last token is always left to read."""
        limit = len(prompt) - 1
        best, length = None, 0
        for row in self._rows:
            common = min(shared_length(row.tokens[: row.filled], prompt), limit)
            if common > length:
                best, length = row, common
        return best, length

    def take(self, prompt: Tokens) -> Row:
        """A free row for ``prompt``, its ``filled`` first tokens copied from where they are held."""
        self._clock += 1
        source, length = self.longest(prompt)
        if source is not None and not source.busy and source.filled == length:
            target = source
        else:
            target = min((row for row in self._rows if not row.busy), key=lambda row: row.used)
            if source is not None and source is not target:
                self._store[:, :, target.index, :length] = self._store[:, :, source.index, :length]
                source.used = self._clock
        target.tokens, target.filled, target.busy, target.used = prompt, length, True, self._clock
        return target

    def free(self, row: Row, tokens: Sequence[int], filled: int) -> None:
        """Keep ``row`` as one that holds the first ``filled`` of ``tokens``."""
        self._clock += 1
        row.tokens, row.filled = np.asarray(tokens[:filled], np.int32), filled
        row.busy, row.used = False, self._clock
