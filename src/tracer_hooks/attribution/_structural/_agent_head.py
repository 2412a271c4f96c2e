"""Which agents of a trajectory are at fault, and with which error modes.

Two models stand side by side. For a team whose roster was learnt from, linear models of what each seat of that team is
usually labelled with and of how its agents stand out; for any other team a short model of the columns that told faulty
agents from others in every kind of team that was left out of the fit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution._features import FeatureTable
from tracer_hooks.attribution._structural._agent_rows import AgentRows, folded, rows_of
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import AgentFault, ErrorMode, Trajectory

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
    contributions: Mapping[str, tuple[tuple[str, float], ...]]
    """For each agent the columns that add most to its log-odds against the run's other agents, the largest first."""
    team: str | None = None
    """The kind of team that the roster belongs to; None for a team that was not learnt from."""


@dataclass(frozen=True, slots=True)
class LinearScores:
    """Weighted sums of columns, one for each output."""

    columns: tuple[str, ...]
    """Names of the columns; see :class:`~tracer_hooks.attribution._structural._agent_rows.AgentRows`."""
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
        """What :meth:`to_json` wrote."""
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
        """What :meth:`to_json` wrote."""
        return cls(LinearScores.from_json(data), float(data["threshold"]), float(data["agent_threshold"]))


@dataclass(frozen=True, slots=True)
class AgentHead:
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
        matrix = scores.matrix(rows)
        odds = matrix @ scores.weights + scores.intercepts
        return AgentScores(
            agents={name: float(row[0]) for name, row in zip(rows.names, odds, strict=True)},
            modes={
                (name, mode): float(value)
                for name, row in zip(rows.names, odds, strict=True)
                for mode, value in zip(MODES, row[1:], strict=True)
            },
            contributions=_contributions(scores, rows.names, matrix),
            team=rows.team,
        )

    def faults(self, scores: AgentScores) -> tuple[AgentFault, ...]:
        """Who is at fault, the likeliest first within each part: pairs, then agents whose mode cannot be told.

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
    def from_json(cls, data: Mapping[str, Any]) -> AgentHead:
        """What :meth:`to_json` wrote.

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


def _contributions(
    model: LinearScores, names: tuple[str, ...], matrix: NDArray[np.float64], most: int = 5
) -> dict[str, tuple[tuple[str, float], ...]]:
    terms = matrix * model.weights[:, 0]
    away = terms - terms.mean(axis=0, keepdims=True) if len(terms) else terms
    found = {}
    for name, row in zip(names, away, strict=True):
        best = np.argsort(-row, kind="stable")[:most]
        found[name] = tuple((model.columns[place], float(row[place])) for place in best if row[place] > 0)
    return found


def _probability(odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-odds))


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
