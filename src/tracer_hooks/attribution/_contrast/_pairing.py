"""One run beside another: which steps correspond, which were moved, and where each missing one would have stood."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracer_hooks._lazy import cached_property
from tracer_hooks.attribution._contrast._alignment import MATCH_FROM, align
from tracer_hooks.attribution._contrast._run_view import Act, RunView
from tracer_hooks.attribution._contrast._term_vectors import Rows
from tracer_hooks.attribution._reading._roles import Role
from tracer_hooks.schema import StepKind

Matrix: TypeAlias = NDArray[np.float64]

_AGENT, _ACT, _CONTENT = 0.4, 0.2, 0.4
"""Shares of agent, kind of act and content in the similarity of two steps."""
MOVED_FROM = 0.7
"""Similarity from which a step that stands elsewhere in the other run is the same step, done in another order."""


@dataclass(frozen=True)
class Pairing:
    """One run aligned with another."""

    run: RunView
    other: RunView
    similarity: Matrix
    """One row a step of ``run``, one column a step of ``other``, in [0, 1]."""
    content: Matrix
    """The share of it that the contents make up: their cosine."""
    partners: tuple[int, ...]
    """For each step of ``run`` the step of ``other`` beside it, or -1."""
    moved: frozenset[int]
    """Those steps of ``run`` whose partner stands elsewhere than the order of the steps would have it."""

    @cached_property
    def quality(self) -> tuple[float, ...]:
        """How alike each step of ``run`` and its partner are; 0 without a partner."""
        return tuple(
            float(self.similarity[row, column]) if column >= 0 else 0.0 for row, column in enumerate(self.partners)
        )

    @property
    def likeness(self) -> float:
        """How alike the runs are, in [0, 1]: the similarity of the pairs, as a share of all steps."""
        total = len(self.run.steps) + len(self.other.steps)
        return 2.0 * sum(self.quality) / total if total else 1.0

    @cached_property
    def missing(self) -> tuple[int, ...]:
        """The steps of members of the team in ``other`` that ``run`` has no partner for."""
        taken = set(self.partners)
        return tuple(index for index in self.other.acts if index not in taken)

    def place_of(self, column: int) -> int:
        """Where step ``column`` of ``other`` stands in ``run``: its partner, or the step that came in its stead.

        Past the last step of ``run``, the number of steps of ``run``.
        """
        after = -1
        for row, partner in enumerate(self.partners):
            if partner == column:
                return row
            if 0 <= partner < column and row not in self.moved:
                after = row
        return after + 1


def pair(run: RunView, other: RunView, rows: Rows, other_rows: Rows) -> Pairing:
    """Align two runs.

    Args:
        run: The run whose steps are to be judged.
        other: The run that it is compared with.
        rows: The contents of ``run`` as :class:`TermVectors` over both gives them.
        other_rows: Those of ``other``.
    """
    content = _content(run, other, (rows @ other_rows.T).astype(np.float64))
    similarity = np.clip(_acts(run, other) + _CONTENT * content, 0.0, 1.0)
    aligned = list(align(similarity).partners)
    moved = _moved(run, other, similarity, aligned)
    return Pairing(run, other, similarity, content, tuple(aligned), moved)


def _content(run: RunView, other: RunView, cosines: Matrix) -> Matrix:
    empty = np.array([not step.terms for step in run.steps], dtype=bool)[:, None]
    both_empty = empty & np.array([not step.terms for step in other.steps], dtype=bool)[None, :]
    return np.clip(np.where(both_empty, 1.0, cosines), 0.0, 1.0)


def _acts(run: RunView, other: RunView) -> Matrix:
    here, rows = _distinct([step.act for step in run.steps])
    there, columns = _distinct([step.act for step in other.steps])
    likeness = np.array([[_act_likeness(one, another) for another in there] for one in here])
    return likeness.reshape(len(here), len(there))[np.ix_(rows, columns)]


def _distinct(acts: list[Act]) -> tuple[list[Act], list[int]]:
    """The different acts, and for each act which of them it is."""
    places = {act: place for place, act in enumerate(dict.fromkeys(acts))}
    return list(places), [places[act] for act in acts]


def _act_likeness(one: Act, other: Act) -> float:
    same_agent = _AGENT if one.agent == other.agent else 0.0
    if one.kind is not other.kind:
        return same_agent
    if one.target == other.target:
        return same_agent + _ACT
    if one.kind is not StepKind.TOOL_CALL:
        return same_agent
    tools, others = set(one.target.split("+")), set(other.target.split("+"))
    return same_agent + _ACT * len(tools & others) / len(tools | others)


def _moved(run: RunView, other: RunView, similarity: Matrix, partners: list[int]) -> frozenset[int]:
    """Pair up what the alignment left over or put together badly, the most alike first; ``partners`` is changed."""
    beside = {column: row for row, column in enumerate(partners) if column >= 0}
    loose = {row for row, column in enumerate(partners) if column < 0 or similarity[row, column] < MATCH_FROM}
    free = {column for column in range(len(other.steps)) if column not in beside or beside[column] in loose}
    moved: set[int] = set()
    for row, column in _most_alike(similarity, sorted(loose), sorted(free)):
        if row not in loose or column not in free or not _same_part(run, other, row, column):
            continue
        if partners[row] == column:
            continue
        left = beside.get(column)
        if left is not None and partners[left] == column:
            partners[left] = -1
        partners[row] = column
        loose.discard(row)
        free.discard(column)
        moved.add(row)
    return frozenset(moved)


def _most_alike(similarity: Matrix, rows: list[int], columns: list[int]) -> Iterator[tuple[int, int]]:
    if not rows or not columns:
        return
    part = similarity[np.ix_(rows, columns)]
    for flat in np.argsort(-part, axis=None, kind="stable"):
        row, column = rows[flat // len(columns)], columns[flat % len(columns)]
        if similarity[row, column] < MOVED_FROM:
            return
        yield row, column


def _same_part(run: RunView, other: RunView, row: int, column: int) -> bool:
    one, another = run.steps[row], other.steps[column]
    return one.act.agent == another.act.agent and (one.role is Role.PERSON) is (another.role is Role.PERSON)
