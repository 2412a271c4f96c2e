"""Agents at fault, and their error modes: linear models for known rosters, and a short one for any other team."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.diagnosis import StepScores
from tracer_hooks.errors import AttributionError
from tracer_hooks.extension import EXACT_STEPS, FeatureTable, Role, read_weights, roles_of, text_limit
from tracer_hooks.schema import AgentFault, ErrorMode, Trajectory
from tracer_hooks_models._shipped import AGENT_HEAD, REINSTALL, refuse_changed

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
    """Count the words of three letters or more in the texts; the head of a long text is read."""
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


@dataclass(frozen=True, slots=True)
class _Plan:
    """Sources of each column."""

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


MODES = tuple(ErrorMode)
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class AgentScores:
    """Beliefs about the agents of one trajectory."""

    agents: Mapping[str, float]
    """Log-odds that each agent is at fault, each for itself, by the name that stands in the trajectory; persons and
    those who only report what a machine printed are left out."""
    modes: Mapping[tuple[str, ErrorMode], float]
    """Log-odds of each pair of agent and error mode."""
    team: str | None = None
    """The kind of team that the roster belongs to; None for a team that was not learnt from."""


@dataclass(frozen=True, slots=True)
class LinearScores:
    """Weighted sums of columns, one for each output."""

    columns: tuple[str, ...]
    """Names of the columns; see :class:`~tracer_hooks_models.agent_head.AgentRows`."""
    weights: NDArray[np.float64]
    """(columns, outputs)."""
    intercepts: NDArray[np.float64]
    """(outputs,)."""
    against_run: bool = False
    """Whether the columns are taken less their mean over the agents of the run."""

    def matrix(self, rows: AgentRows) -> NDArray[np.float64]:
        """(agents, columns): what the weights are for."""
        found = rows.matrix(self.columns)
        return found - found.mean(axis=0) if self.against_run and len(found) else found

    def to_json(self) -> dict[str, Any]:
        """As plain JSON: for each column its weights, rounded to four significant digits."""
        rounded = {name: [_short(value) for value in row] for name, row in zip(self.columns, self.weights, strict=True)}
        intercepts = [_short(value) for value in self.intercepts]
        return {"against_run": self.against_run, "intercepts": intercepts, "weights": rounded}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LinearScores:
        """Read what :meth:`to_json` wrote."""
        intercepts = np.array(data["intercepts"], dtype=np.float64)
        weights = np.array(list(data["weights"].values()), dtype=np.float64)
        shaped = weights.reshape(len(data["weights"]), len(intercepts))
        return cls(tuple(data["weights"]), shaped, intercepts, bool(data["against_run"]))


@dataclass(frozen=True, slots=True)
class FaultModel:
    """Log-odds of agents and of pairs, and how many pairs to name."""

    scores: LinearScores
    """Fifteen outputs: the agent is at fault, and is at fault with each mode."""
    threshold: float
    """Log-odds from which a pair is named; chosen for the best micro-F1 of pairs."""
    agent_threshold: float
    """Log-odds from which an agent is named, if need be without a mode; chosen for the best micro-F1 of agents."""

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        limits = {"threshold": _short(self.threshold), "agent_threshold": _short(self.agent_threshold)}
        return {**limits, **self.scores.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FaultModel:
        """Read what :meth:`to_json` wrote."""
        return cls(LinearScores.from_json(data), float(data["threshold"]), float(data["agent_threshold"]))


@dataclass(frozen=True, slots=True)
class LinearAgentHead:
    """Says which agents are at fault and how; see the module."""

    any_team: FaultModel
    """For teams that were not learnt from."""
    known_teams: FaultModel | None = None
    """For rosters that were learnt from; its seat columns hold how often each seat is labelled there."""
    rosters: Mapping[frozenset[str], str] = field(default_factory=dict)
    """Kind of team by the folded names of all who speak."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """What the weights were learnt from, and how good they were on what they were not learnt from."""

    def score(self, table: FeatureTable, trajectory: Trajectory) -> AgentScores:
        """Log-odds of the agents, and of the pairs of agent and error mode.

        Args:
            table: The features of this trajectory.
            trajectory: With one step for each row of the table.

        Raises:
            AttributionError: The weights read a feature that the table does not have.
        """
        team = self.team_of(trajectory)
        return self.score_rows(rows_of(table, trajectory, team=team))

    def score_rows(self, rows: AgentRows) -> AgentScores:
        """The same for agents that are read already."""
        scores = self._model(rows.team).scores
        odds = scores.matrix(rows) @ scores.weights + scores.intercepts
        return AgentScores(
            agents={name: float(row[0]) for name, row in zip(rows.names, odds, strict=True)},
            modes={
                (name, mode): float(value)
                for name, row in zip(rows.names, odds, strict=True)
                for mode, value in zip(MODES, row[1:], strict=True)
            },
            team=rows.team,
        )

    def knows(self, trajectory: Trajectory) -> bool:
        """Tell whether a run is of a kind of team that was learnt from."""
        return self.team_of(trajectory) is not None

    def log_odds(
        self, table: FeatureTable, trajectory: Trajectory
    ) -> tuple[Mapping[str, float], Mapping[tuple[str, ErrorMode], float]]:
        """Log-odds of the agents, and of the pairs; see :class:`tracer_hooks.extension.AgentHead`."""
        scores = self.score(table, trajectory)
        return scores.agents, scores.modes

    def faults_of(self, scores: StepScores, trajectory: Trajectory) -> tuple[AgentFault, ...]:
        """Name those at fault in a team of a kind that was learnt from; nobody in every other team."""
        team = self.team_of(trajectory)
        if team is None:
            return ()
        return self.faults(AgentScores(agents=scores.agents, modes=scores.modes, team=team))

    def faults(self, scores: AgentScores) -> tuple[AgentFault, ...]:
        """Name those at fault, the likeliest first within each part: pairs, then agents whose mode cannot be told.

        Pairs and agents have thresholds of their own. When nothing passes, the likeliest pair is named; a trajectory
        without agents has no faults.
        """
        model = self._model(scores.team)
        ranked = sorted(scores.modes.items(), key=lambda pair: -pair[1])
        pairs = [pair for pair in ranked if pair[1] >= model.threshold]
        named = {agent for (agent, _), _ in pairs}
        agents = sorted(scores.agents.items(), key=lambda one: -one[1])
        others = [one for one in agents if one[1] >= model.agent_threshold and one[0] not in named]
        if not pairs and not others:
            pairs = ranked[:1]
        return (
            *(AgentFault(agent=agent, error_mode=mode, score=_probability(odds)) for (agent, mode), odds in pairs),
            *(AgentFault(agent=agent, score=_probability(odds)) for agent, odds in others),
        )

    def team_of(self, trajectory: Trajectory) -> str | None:
        """The kind of team that was learnt from under exactly these names; None when there is none."""
        return self.rosters.get(roster_of(trajectory)) if self.known_teams is not None else None

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        kinds = sorted(set(self.rosters.values()))
        return {
            "provenance": dict(self.provenance),
            "rosters": {
                kind: sorted(sorted(names) for names, one in self.rosters.items() if one == kind) for kind in kinds
            },
            "any_team": self.any_team.to_json(),
            "known_teams": None if self.known_teams is None else self.known_teams.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LinearAgentHead:
        """Read what :meth:`to_json` wrote.

        Raises:
            AttributionError: It is something else.
        """
        try:
            known = data["known_teams"]
            return cls(
                any_team=FaultModel.from_json(data["any_team"]),
                known_teams=None if known is None else FaultModel.from_json(known),
                rosters={frozenset(names): kind for kind, all_ in data["rosters"].items() for names in all_},
                provenance=data["provenance"],
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise AttributionError(
                f"these are no weights of the agent head ({error!r}): write them again with "
                "`python benchmarks/aegis_structural.py --write-weights FILE`"
            ) from error

    def _model(self, team: str | None) -> FaultModel:
        return self.any_team if team is None or self.known_teams is None else self.known_teams


def roster_of(trajectory: Trajectory) -> frozenset[str]:
    """Folded names of all who speak."""
    return frozenset(folded(step.agent) for step in trajectory.steps)


def _probability(odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-odds))


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


@cache
def agent_head() -> LinearAgentHead:
    """The shipped head, read once.

    Raises:
        AttributionError: Its weights are missing or damaged.
    """
    refuse_changed(AGENT_HEAD)
    return read_weights(
        AGENT_HEAD, LinearAgentHead.from_json, what="weights of the agent head", again=f"Run: {REINSTALL}"
    )
