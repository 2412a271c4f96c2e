"""Texts that are nearly the same."""

from __future__ import annotations

from collections.abc import Sequence

from tracer_hooks.datasets._audit._duplicates import clusters


def near_duplicates(texts: Sequence[str], *, similarity: float = 0.8) -> list[tuple[int, ...]]:
    """Positions of texts that are nearly the same, in groups of two or more.

    Args:
        texts: Any texts; those of fewer than three words stand in no group.
        similarity: The least share of word triples that two texts have in common, of all that either has.
    """
    return [one.members for one in clusters(texts, similarity=similarity)]
