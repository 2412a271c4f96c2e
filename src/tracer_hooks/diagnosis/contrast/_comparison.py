"""Comparison of a run with passing ones: its steps paired with theirs, by alignment and by how alike they are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis.contrast._run_view import Act, Claim, RunView
from tracer_hooks.schema import StepKind, Trajectory

Matrix: TypeAlias = NDArray[np.float64]
MATCH_FROM = 0.5
"""Similarity from which it pays to put two steps beside each other."""
GAP_OPEN, GAP_EXTEND = 0.15, 0.05
"""Cost of the first and of each further step of a gap; opening must not be cheaper than extending."""
_DIAGONAL, _UP = 0, 1


@dataclass(frozen=True, slots=True)
class Alignment:
    """Which step of the first sequence stands beside which step of the second."""

    partners: tuple[int, ...]
    """For each step of the first sequence the step beside it, or -1."""
    score: float
    """Sum of the similarities above :data:`MATCH_FROM` less the gap costs; the same whichever sequence is first."""


def align(similarity: Matrix) -> Alignment:
    """Align two sequences.

    Args:
        similarity: One row a step of the first, one column a step of the second sequence, in [0, 1].

    Returns:
        The best alignment; of equally good ones that which pairs steps early, so that of a step done twice the second
        one is left over.
    """
    rows, columns = similarity.shape
    table = _Table(rows, columns)
    # The way back through the table pairs what it meets first; with both sequences reversed that is their beginning.
    for row in range(1, rows + 1):
        table.fill(row, similarity[rows - row, ::-1] - MATCH_FROM)
    reversed_partners = table.partners()
    partners = tuple(columns - 1 - column if column >= 0 else -1 for column in reversed(reversed_partners))
    return Alignment(partners, float(table.best[rows, columns]))


class _Table:
    """The dynamic programme, filled row by row: only the gaps along a row depend on the row itself."""

    def __init__(self, rows: int, columns: int) -> None:
        self._columns = np.arange(columns + 1)
        self._slope = GAP_EXTEND * self._columns
        edge = np.where(self._columns > 0, -(GAP_OPEN - GAP_EXTEND) - self._slope, 0.0)
        self.best = np.zeros((rows + 1, columns + 1))
        self.best[0] = edge
        self._vertical = np.full(columns + 1, -np.inf)
        self._how = np.zeros((rows + 1, columns + 1), dtype=np.int8)
        self._gap_goes_on = np.zeros((rows + 1, columns + 1), dtype=bool)
        self._left_to = np.tile(self._columns, (rows + 1, 1))
        self._left_to[0] = 0

    def fill(self, row: int, gains: Matrix) -> None:
        above = self.best[row - 1]
        opened, extended = above - GAP_OPEN, self._vertical - GAP_EXTEND
        self._gap_goes_on[row] = extended > opened
        self._vertical = np.maximum(opened, extended)
        reached = self._vertical.copy()
        beside = above[:-1] + gains
        self._how[row] = _UP
        self._how[row, 1:][beside >= reached[1:]] = _DIAGONAL
        reached[1:] = np.maximum(reached[1:], beside)
        self._fill_leftwards(row, reached)

    def _fill_leftwards(self, row: int, reached: Matrix) -> None:
        lifted = reached + self._slope
        highest = np.maximum.accumulate(lifted)
        where = np.maximum.accumulate(np.where(lifted >= highest, self._columns, 0))
        gaps = np.full_like(reached, -np.inf)
        gaps[1:] = highest[:-1] - GAP_OPEN + GAP_EXTEND - self._slope[1:]
        is_gap = gaps > reached
        self._left_to[row, 1:] = np.where(is_gap[1:], where[:-1], self._columns[1:])
        self.best[row] = np.maximum(reached, gaps)

    def partners(self) -> tuple[int, ...]:
        row, column = self.best.shape[0] - 1, self.best.shape[1] - 1
        found = [-1] * row
        while row > 0:
            column = int(self._left_to[row, column])
            if self._how[row, column] == _DIAGONAL and column > 0:
                row, column = row - 1, column - 1
                found[row] = column
                continue
            while self._gap_goes_on[row, column]:
                row -= 1
            row -= 1
        return tuple(found)


Rows: TypeAlias = NDArray[np.float32]
_MAX_COLUMNS = 20_000
"""Terms that are compared at most; only runs of more than a megabyte have more that stand in two steps."""
_VALUE_WEIGHT = 2.0
"""How much more a token with a digit weighs than a word."""


class TermVectors:
    """The steps of several runs as vectors of one vocabulary; terms that stand in many of the steps count little."""

    def __init__(self, runs: Sequence[RunView]) -> None:
        spread = Counter(term for run in runs for step in run.steps for term in step.terms)
        documents = sum(len(run.steps) for run in runs)
        self._weights = {
            term: (_VALUE_WEIGHT if any(map(str.isdigit, term)) else 1.0) * math.log(1.0 + documents / count)
            for term, count in spread.items()
        }
        # A term of one step only adds to its length: it can be in no product.
        shared = (term for term, count in spread.most_common(_MAX_COLUMNS) if count > 1)
        self._columns = {term: column for column, term in enumerate(shared)}

    def of(self, run: RunView) -> Rows:
        """One row a step; rows have length 1 over all of the step's terms, and a step without terms is a row of 0."""
        rows = np.zeros((len(run.steps), len(self._columns)), dtype=np.float32)
        for step in run.steps:
            self._fill(rows[step.index], step.terms)
        return rows

    def _fill(self, row: Rows, terms: Mapping[str, int]) -> None:
        values = {term: self._weights[term] * (1.0 + math.log(count)) for term, count in terms.items()}
        length = math.sqrt(sum(value * value for value in values.values()))
        for term, value in values.items():
            column = self._columns.get(term)
            if column is not None:
                row[column] = value / length


def cosine_of_words(first: Mapping[str, int], second: Mapping[str, int]) -> float:
    """Cosine of two word counts; 1 when both are empty, 0 when one is."""
    if not first or not second:
        return float(not first and not second)
    product = sum(count * second.get(word, 0) for word, count in first.items())
    lengths = math.sqrt(sum(n * n for n in first.values()) * sum(n * n for n in second.values()))
    return min(1.0, product / lengths)


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
    def likeness(self) -> float:
        """How alike the runs are, in [0, 1]: the similarity of the pairs, as a share of all steps."""
        alike = sum(float(self.similarity[row, column]) for row, column in enumerate(self.partners) if column >= 0)
        total = len(self.run.steps) + len(self.other.steps)
        return 2.0 * alike / total if total else 1.0

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
    """Align two runs, whose contents are given as :class:`TermVectors` over both gives them."""
    are_empty = [np.array([not step.terms for step in view.steps], dtype=bool) for view in (run, other)]
    cosines = np.where(np.outer(*are_empty), 1.0, (rows @ other_rows.T).astype(np.float64))
    content = np.clip(cosines, 0.0, 1.0)
    similarity = np.clip(_acts(run, other) + _CONTENT * content, 0.0, 1.0)
    aligned = list(align(similarity).partners)
    moved = _moved(run, other, similarity, aligned)
    return Pairing(run, other, similarity, content, tuple(aligned), moved)


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
        one, another = run.steps[row], other.steps[column]
        same_part = (one.act.agent, one.role is Role.PERSON) == (another.act.agent, another.role is Role.PERSON)
        if row not in loose or column not in free or not same_part or partners[row] == column:
            continue
        left = beside.get(column)
        if left is not None and partners[left] == column:
            partners[left] = -1
        partners[row] = column
        loose.remove(row)
        free.remove(column)
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


SAME_TASK = 0.9
"""Likeness of the tasks from which two runs count as runs of one task."""
_UNKNOWN_AGREEMENT = 0.6
"""How alike passing runs are taken to be when there is only one."""


@dataclass(frozen=True)
class ContrastedRuns:
    """A run, paired with each of the others."""

    run: RunView
    pairings: tuple[Pairing, ...]
    """One for each of the others; at least one."""
    closeness: tuple[float, ...]
    """How alike the tasks are, in [0, 1]: what a run of another task says is no measure."""
    agreement: float
    """How alike the nearest of the others is to the rest of them, in [0, 1]: where they differ much, a difference means
    little."""

    @cached_property
    def weights(self) -> tuple[float, ...]:
        """The share of each of the others: nearer runs count more; sums to 1."""
        raw = [near * near * (0.1 + one.likeness) ** 2 for near, one in zip(self.closeness, self.pairings, strict=True)]
        total = sum(raw)
        return tuple(value / total for value in raw) if total else tuple(1.0 / len(raw) for _ in raw)

    @cached_property
    def nearness(self) -> float:
        """How near the others' tasks are on the whole, in [0, 1]."""
        return sum(weight * near for weight, near in zip(self.weights, self.closeness, strict=True))

    @cached_property
    def nearest_first(self) -> tuple[int, ...]:
        """The positions of the others, the nearest first."""
        return tuple(sorted(range(len(self.pairings)), key=lambda position: -self.weights[position]))

    @cached_property
    def path_trust(self) -> float:
        """How much a difference in the path means, in [0, 1]: more when the passing runs themselves are alike."""
        return self.agreement * (0.5 + 0.5 * self.nearness)

    def partners_of(self, index: int) -> Iterator[tuple[int, int]]:
        """The steps beside a step of the run, each with the position of its run, the nearest run first."""
        for position in self.nearest_first:
            partner = self.pairings[position].partners[index]
            if partner >= 0:
                yield position, partner

    def foreignness(self, claim: Claim) -> float:
        """1 for a claim that none of the others has, falling fast to 0 with the share of those that have it."""
        lacking = (
            weight for weight, one in zip(self.weights, self.pairings, strict=True) if claim not in one.other.known
        )
        return float(sum(lacking) ** 3)


def task_closeness(run: RunView, other: RunView) -> float:
    """How alike two runs' tasks are, in [0, 1]; runs without a task are taken to have the same."""
    if run.trajectory.task.strip() == other.trajectory.task.strip():
        return 1.0
    return cosine_of_words(run.task_words, other.task_words)


def compare(run: RunView, others: Sequence[RunView]) -> ContrastedRuns:
    """Pair a run with each of ``others``, of which there must be one at least, the nearest first."""
    vectors = TermVectors([run, *others])
    rows, nearest = vectors.of(run), vectors.of(others[0])
    pairings = [pair(run, others[0], rows, nearest)]
    likeness = []
    for other in others[1:]:  # one after the other, since the rows of many long runs would fill the memory
        theirs = vectors.of(other)
        pairings.append(pair(run, other, rows, theirs))
        likeness.append(pair(others[0], other, nearest, theirs).likeness)
    return ContrastedRuns(
        run=run,
        pairings=tuple(pairings),
        closeness=tuple(task_closeness(run, other) for other in others),
        agreement=fmean(likeness) if likeness else _UNKNOWN_AGREEMENT,
    )


def partners_of_steps(run: Trajectory, other: Trajectory) -> tuple[int, ...]:
    """For each step of ``run`` the step of ``other`` that it is beside, or -1."""
    if not run.steps or not other.steps:
        return (-1,) * len(run.steps)
    return compare(RunView(run), [RunView(other)]).pairings[0].partners
