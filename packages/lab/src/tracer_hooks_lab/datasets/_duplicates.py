"""Near-duplicates: texts of different questions, tasks over parts, faulty steps (MinHash over shingles)."""

from __future__ import annotations

import itertools
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracer_hooks.datasets import LabeledSet
from tracer_hooks.extension import step_text
from tracer_hooks_lab.datasets._audit_records import AuditedRun, AuditFinding, AuditOptions, NearDuplicate

_WORD = re.compile(r"\w+")
_TRIPLE = 3
_HASHES, _ROWS = 128, 4
_PRIME = np.uint64((1 << 31) - 1)
_Shingles = frozenset[int]


@dataclass(frozen=True, slots=True)
class Cluster:
    """Positions of texts, each a near-duplicate of another one before it but for the first."""

    members: tuple[int, ...]


def clusters(texts: Sequence[str], *, similarity: float) -> list[Cluster]:
    """Groups of two or more near-duplicates, in the order of their first text.

    Texts of fewer than three words have no triple and stand in no group.
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
    return [Cluster(tuple(alike)) for _, alike in sorted(members.items()) if len(alike) > 1]


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


_EXCERPT = 120


def duplicate_tasks(
    dataset: LabeledSet, splits: Mapping[str, LabeledSet] | None, options: AuditOptions
) -> list[NearDuplicate]:
    """Tasks that are nearly the same, and tasks of one text in several parts: first those that cross parts."""
    parts_of: dict[str, set[str]] = {}
    for name, part in {"": dataset, **(splits or {})}.items():
        for item in (*part.labeled, *part.clean):
            parts_of.setdefault(" ".join(item.trajectory.task.split()), set()).add(name)
    tasks = sorted(parts_of)
    groups = [[task] for task in tasks if len(parts_of[task] - {""}) > 1]
    groups += [[tasks[k] for k in one.members] for one in clusters(tasks, similarity=options.similarity)]
    found = [_alike_tasks(group, set().union(*(parts_of[task] for task in group)) - {""}) for group in groups]
    return sorted(found, key=lambda one: (not one.parts, -one.size))


def _alike_tasks(tasks: Sequence[str], parts: set[str]) -> NearDuplicate:
    shown = tuple(sorted(parts)) if len(parts) > 1 else ()
    return NearDuplicate(kind="task", size=len(tasks), text=tasks[0][:_EXCERPT], parts=shown)


def duplicate_steps(cases: Sequence[AuditedRun], options: AuditOptions) -> list[NearDuplicate]:
    """Decisive steps of different questions that are nearly the same, and more often so than the clean counterparts."""
    paired = [case for case in cases if case.clean is not None]
    faulty = _shared([step_text(case.run.steps[case.step]) for case in paired], paired, options)
    clean = _shared([step_text(case.clean.steps[case.step]) for case in paired if case.clean], paired, options)
    if sum(one.size for one in faulty) - sum(one.size for one in clean) <= options.marker_share * len(paired):
        return []
    return faulty


def duplicate_findings(found: Sequence[NearDuplicate], *, pairs: int) -> list[AuditFinding]:
    """A failure for a task in several parts of the split and for faulty steps of one pattern; else notes.

    Tasks that are only nearly the same are often one kind of question with other numbers, and are notes.
    """
    crossing = [one for one in found if one.parts and one.size == 1]
    tasks = [one for one in found if one.kind == "task" and one.size > 1]
    steps = [one for one in found if one.kind == "faulty step"]
    findings = []
    if crossing:
        message = f"{len(crossing)} tasks stand in several parts of the split: {crossing[0].text!r}"
        findings.append(AuditFinding(kind="near-duplicate", severity="fail", name="split", message=message))
    if steps:
        message = f"{sum(one.size for one in steps)} questions of {pairs} pairs have nearly the same faulty steps, "
        message += f"far more than have the same clean ones: {steps[0].text!r}"
        findings.append(AuditFinding(kind="near-duplicate", severity="fail", name="faulty steps", message=message))
    if tasks:
        across = sum(bool(one.parts) for one in tasks)
        message = f"{sum(one.size for one in tasks)} tasks in {len(tasks)} groups are nearly the same, {across} groups "
        message += f"of them in several parts of the split: {tasks[0].text!r}"
        findings.append(AuditFinding(kind="near-duplicate", severity="note", name="tasks", message=message))
    return findings


def _shared(texts: Sequence[str], cases: Sequence[AuditedRun], options: AuditOptions) -> list[NearDuplicate]:
    found = []
    for cluster in clusters(texts, similarity=options.similarity):
        questions = {cases[k].group for k in cluster.members}
        if len(questions) > 1:
            text = texts[cluster.members[0]][:_EXCERPT]
            found.append(NearDuplicate(kind="faulty step", size=len(questions), text=text))
    return sorted(found, key=lambda one: -one.size)


def near_duplicates(texts: Sequence[str], *, similarity: float = 0.8) -> list[tuple[int, ...]]:
    """Positions of texts that are nearly the same, in groups of two or more.

    Args:
        texts: Any texts; those of fewer than three words stand in no group.
        similarity: The least share of word triples that two texts have in common, of all that either has.
    """
    return [one.members for one in clusters(texts, similarity=similarity)]
