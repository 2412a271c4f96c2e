"""Texts that are nearly the same: word triples, MinHash signatures in bands (Broder 1997), Jaccard similarity."""

from __future__ import annotations

import itertools
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

_WORD = re.compile(r"\w+")
_TRIPLE = 3
_HASHES, _ROWS = 128, 4
_PRIME = np.uint64((1 << 31) - 1)
_Shingles = frozenset[int]


def near_duplicates(texts: Sequence[str], *, similarity: float = 0.8) -> list[tuple[int, ...]]:
    """Positions of texts that are nearly the same, in groups of two or more, in the order of their first text.

    Args:
        texts: Any texts; those of fewer than three words have no triple and stand in no group.
        similarity: The least share of word triples that two texts have in common, of all that either has.
    """
    shingles = [_shingles(text) for text in texts]
    first_of: dict[_Shingles, int] = {}
    leader: dict[int, int] = {}
    for position, found in enumerate(shingles):
        if found:
            leader[position] = first_of.setdefault(found, position)
    different = list(first_of.values())
    for one, other in sorted(_candidates({k: shingles[k] for k in different})):
        if _jaccard(shingles[one], shingles[other]) >= similarity and leader[other] == other:
            leader[other] = leader[one]
    members: dict[int, list[int]] = defaultdict(list)
    for position in leader:
        members[_root(leader, position)].append(position)
    return [tuple(alike) for _, alike in sorted(members.items()) if len(alike) > 1]


def _root(leader: Mapping[int, int], position: int) -> int:
    while leader[position] != position:
        position = leader[position]
    return position


def _shingles(text: str) -> _Shingles:
    words = _WORD.findall(text.casefold())
    triples = (" ".join(words[k : k + _TRIPLE]) for k in range(len(words) - _TRIPLE + 1))
    return frozenset(zlib.crc32(triple.encode()) & 0x7FFFFFFF for triple in triples)


def _candidates(shingles: Mapping[int, _Shingles]) -> set[tuple[int, int]]:
    """Pairs that agree in a band: each text with the first one of its bucket and with its neighbour in it."""
    pairs = set()
    for bucket in _buckets(shingles):
        for before, position in itertools.pairwise(bucket):
            pairs |= {(bucket[0], position), (before, position)}
    return pairs


def _buckets(shingles: Mapping[int, _Shingles]) -> Iterator[list[int]]:
    rng = np.random.default_rng(0)
    factors = rng.integers(1, int(_PRIME), _HASHES, dtype=np.uint64)[:, None]
    offsets = rng.integers(0, int(_PRIME), _HASHES, dtype=np.uint64)[:, None]
    signatures = {position: _signature(one, factors, offsets) for position, one in shingles.items()}
    for start in range(0, _HASHES, _ROWS):
        buckets: dict[bytes, list[int]] = defaultdict(list)
        for position, signature in signatures.items():
            buckets[signature[start : start + _ROWS].tobytes()].append(position)
        yield from (bucket for bucket in buckets.values() if len(bucket) > 1)


def _signature(
    shingles: _Shingles, factors: npt.NDArray[np.uint64], offsets: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    values = np.fromiter(shingles, dtype=np.uint64, count=len(shingles))[None, :]
    smallest: npt.NDArray[np.uint64] = ((factors * values + offsets) % _PRIME).min(axis=1)
    return smallest


def _jaccard(one: _Shingles, other: _Shingles) -> float:
    return len(one & other) / len(one | other)
