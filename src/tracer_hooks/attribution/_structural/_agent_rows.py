"""What the agents of one trajectory look like: their steps' features and words, brought to one row for each agent."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution._features import FeatureTable
from tracer_hooks.attribution._reading._roles import Role, roles_of
from tracer_hooks.attribution._reading._trace import EXACT_STEPS, text_limit
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import Trajectory

SUMMARIES = ("mean", "highest", "lowest", "level")
"""How a feature of an agent's steps becomes one number: mean, highest and lowest of the feature standardised within the
trajectory, and the mean of the feature as it is."""
WORD, SEAT = "word", "seat"
"""The other kinds of columns: log count of a word in the agent's text, and 1 for one named agent of one known kind of
team."""

_FRAME = frozenset({"system"})
"""Speakers that are the frame around a team."""
_WORDS = re.compile(r"[a-z]{3,}")
_CHARS = 6_000
"""Characters of a step that words are counted in."""


@dataclass(frozen=True, slots=True)
class AgentRows:
    """One row for each agent that can be at fault: no person, and nobody who only reports what a machine printed."""

    names: tuple[str, ...]
    """The agents, as they stand in the trajectory, in order of their first step."""
    features: tuple[str, ...]
    """Names of the features of a step."""
    summaries: NDArray[np.float64]
    """(agents, 4 x features): the features by :data:`SUMMARIES`, one summary after the other."""
    words: tuple[Counter[str], ...]
    """How often each agent says each word."""
    team: str | None = None
    """The known kind of team that the trajectory's roster belongs to."""

    def matrix(self, columns: tuple[str, ...]) -> NDArray[np.float64]:
        """(agents, columns): the columns of these names.

        Raises:
            AttributionError: A column is of no known kind, or names a feature that is not read any more.
        """
        found = np.zeros((len(self.names), len(columns)))
        plan = _plan(columns, self.features)
        found[:, plan.to] = self.summaries[:, plan.of]
        for row, (agent, counts) in enumerate(zip(self.names, self.words, strict=True)):
            for word in plan.words.keys() & counts.keys():
                found[row, plan.words[word]] = np.log1p(counts[word])
            found[row, plan.seats.get(seat_of(self.team, agent), ())] = 1.0
        return found


def rows_of(table: FeatureTable, trajectory: Trajectory, *, team: str | None = None) -> AgentRows:
    """The agents of a trajectory, from the features of its steps.

    Args:
        table: The features of this trajectory.
        trajectory: With one step for each row of the table.
        team: The known kind of team, when the roster is one that was learnt from.
    """
    acting = dict.fromkeys(
        step.agent
        for step, role in zip(trajectory.steps, roles_of(trajectory), strict=True)
        if role is Role.AGENT and folded(step.agent) not in _FRAME
    )
    places: dict[str, list[int]] = defaultdict(list)
    for place, step in enumerate(trajectory.steps):
        places[step.agent].append(place)
    count = len(trajectory.steps)
    most = min(_CHARS, text_limit(count)) if count > EXACT_STEPS else _CHARS
    standard = table.standardised()
    rows, words = [np.zeros((0, len(SUMMARIES) * len(table.names)))], []
    for name in acting:
        own = places[name]
        parts = (standard[own].mean(axis=0), standard[own].max(axis=0), standard[own].min(axis=0))
        rows.append(np.concatenate([*parts, table.values[own].mean(axis=0)])[None])
        words.append(counted(trajectory.steps[place].content[:most] for place in own))
    return AgentRows(tuple(acting), table.names, np.concatenate(rows), tuple(words), team)


def counted(texts: Iterable[str]) -> Counter[str]:
    """How often each word of three letters or more stands in the texts; the head of a long text is read."""
    found: Counter[str] = Counter()
    for text in texts:
        found.update(_WORDS.findall(text[:_CHARS].lower()))
    return found


def folded(name: str) -> str:
    """An agent's name without regard to case and to space around it."""
    return name.strip().casefold()


def seat_of(team: str | None, agent: str) -> str:
    """The seat that an agent has in a known kind of team."""
    return f"{team}/{folded(agent)}"


def column_of(kind: str, name: str) -> str:
    """The name of a column."""
    return f"{kind}: {name}"


@dataclass(frozen=True, slots=True)
class _Plan:
    """Where each column comes from."""

    to: list[int] = field(default_factory=list)
    of: list[int] = field(default_factory=list)
    words: dict[str, list[int]] = field(default_factory=dict)
    seats: dict[str, list[int]] = field(default_factory=dict)


@lru_cache(maxsize=16)
def _plan(columns: tuple[str, ...], features: tuple[str, ...]) -> _Plan:
    starts = {summary: place * len(features) for place, summary in enumerate(SUMMARIES)}
    where = {name: place for place, name in enumerate(features)}
    plan = _Plan()
    for place, column in enumerate(columns):
        kind, _, name = column.partition(": ")
        if kind in starts and name in where:
            plan.to.append(place)
            plan.of.append(starts[kind] + where[name])
        elif kind == WORD:
            plan.words[name] = [place]
        elif kind == SEAT:
            plan.seats[name] = [place]
        else:
            raise AttributionError(
                f"the agent weights read {column!r}, which no feature gives: write them again with "
                "`python benchmarks/aegis_structural.py --write-weights FILE`"
            )
    return plan
