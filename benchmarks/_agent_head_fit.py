"""Fits the agent head to trajectories whose faulty agents are labelled; needs the extra ``fit``.

All models are ridge regressions on indicators, solved from sums over the agents, so that a kind of team or a part of
the questions is left out by leaving out its sums. A logistic curve through the scores of what was left out makes
log-odds of them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracer_hooks._lazy import require
from tracer_hooks.diagnosis._reading._roles import fold
from tracer_hooks.diagnosis.ranking._table import FeatureTable, features_of, group_of
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import LabeledTrajectory
from tracer_hooks_models.agent_head import (
    MODES,
    SEAT,
    WORD,
    AgentRows,
    FaultModel,
    LinearAgentHead,
    LinearScores,
    roster_of,
    rows_of,
    seat_of,
)

Array = NDArray[np.float64]
_FLAT = 1e-5
"""Columns that vary less than this are not read."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Means over the agents of a group that a ridge regression needs."""

    agents: float
    """How many agents."""
    xx: Array
    """(columns, columns)."""
    xy: Array
    """(columns, outputs)."""
    x: Array
    """(columns,)."""
    y: Array
    """(outputs,)."""

    @classmethod
    def of(cls, columns: NDArray[np.float32], targets: Array) -> Sums:
        """Over rows of columns, and of targets."""
        count = max(1, len(columns))
        square = (columns.T @ columns).astype(np.float64) / count
        cross = (columns.T @ targets.astype(np.float32)).astype(np.float64) / count
        x, y = columns.sum(axis=0, dtype=np.float64) / count, targets.sum(axis=0) / count
        return cls(float(len(columns)), square, cross, x, np.asarray(y))

    @property
    def covariance(self) -> Array:
        """(columns, columns)."""
        return np.asarray(self.xx - np.outer(self.x, self.x))

    @property
    def deviation(self) -> Array:
        """(columns,): infinite for a column that does not vary."""
        variance = np.diag(self.xx) - self.x**2
        return np.where(variance > _FLAT**2, np.sqrt(np.maximum(variance, _FLAT**2)), np.inf)


def pooled(sums: Sequence[Sums], *, equal: bool = False) -> Sums:
    """Means over several groups; with ``equal`` each group counts the same, else each agent."""
    agents = np.array([one.agents for one in sums])
    shares = np.full(len(sums), 1 / len(sums)) if equal else agents / agents.sum()

    def mean(parts: Sequence[Array]) -> Array:
        total = np.zeros_like(parts[0])
        for share, part in zip(shares, parts, strict=True):
            total += share * part
        return total

    xx, xy = mean([one.xx for one in sums]), mean([one.xy for one in sums])
    return Sums(float(agents.sum()), xx, xy, mean([one.x for one in sums]), mean([one.y for one in sums]))


def ridge(sums: Sums, strength: float) -> Array:
    """(columns + 1, outputs): weights for columns as they are, the intercept in the last row.

    Args:
        sums: Of all groups together.
        strength: Of the pull to 0, for standardised columns; a column that does not vary weighs 0.
    """
    spread = sums.deviation
    used = np.flatnonzero(np.isfinite(spread))
    weights = np.zeros((len(spread) + 1, sums.xy.shape[1]))
    if len(used):
        own = spread[used]
        square = sums.covariance[np.ix_(used, used)] / np.outer(own, own)
        cross = (sums.xy - np.outer(sums.x, sums.y))[used] / own[:, None]
        weights[used] = np.linalg.solve(square + strength * np.eye(len(used)), cross) / own[:, None]
    weights[-1] = sums.y - sums.x @ weights[:-1]
    return weights


Fit = Callable[[Sequence[Sums]], Array]
"""Makes a model, (columns + 1, 15) with the intercept in the last row, from the sums of groups."""
_FEWEST = 10
"""Trajectories below which nothing is fitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFitOptions:
    """What was chosen by leaving out kinds of teams, and questions."""

    strength: float = 3.0
    """Ridge strength for teams that were not learnt from, for standardised columns and a mean over agents."""
    summaries: tuple[str, ...] = ("mean", "lowest", "level")
    """Summaries of features that are read for them."""
    habits: frozenset[str] = frozenset(("position", "turns", "role", "run"))
    """Groups of features that are not read for them: they tell one team's order of turns from another's."""
    known_strength: float = 0.3
    """Ridge strength of the models of known teams."""
    words: int = 1200
    """How many of the commonest words are columns for known teams."""
    known_summaries: tuple[str, ...] = ("mean", "level")
    """Summaries of features that known teams read."""
    folds: int = 4
    """Parts of the questions that thresholds for known teams are chosen on, each left out of the fit in turn."""


@dataclass(frozen=True, slots=True)
class AgentExample:
    """The agents of one trajectory, with what is labelled."""

    rows: AgentRows
    at_fault: NDArray[np.bool_]
    """(agents,)."""
    pairs: NDArray[np.bool_]
    """(agents, 14): at fault with that mode."""
    labelled: int
    """Different pairs in the label, also those of agents that never act."""
    labelled_agents: int
    """Different agents in the label, also those that never act."""
    kind: str
    """Kind of team."""
    question: str
    """Trajectories of one question are kept together."""
    roster: frozenset[str]
    """Folded names of all who speak."""


def example_of(labeled: LabeledTrajectory, *, kind: str, table: FeatureTable | None = None) -> AgentExample:
    """What a labelled trajectory teaches.

    Args:
        labeled: With ``faults``.
        kind: Which kind of team it is.
        table: The features of its trajectory; they are read when None.
    """
    trajectory = labeled.trajectory
    rows = rows_of(table or features_of(trajectory), trajectory, team=kind)
    pairs = np.zeros((len(rows.names), len(MODES)), dtype=np.bool_)
    at_fault = np.zeros(len(rows.names), dtype=np.bool_)
    for fault in labeled.faults:
        row = _row_of(fault.agent, rows.names)
        if row is not None:
            at_fault[row] = True
            if fault.error_mode is not None:
                pairs[row, MODES.index(fault.error_mode)] = True
    labelled = len({(fault.agent, fault.error_mode) for fault in labeled.faults if fault.error_mode is not None})
    agents = len({fold(fault.agent) for fault in labeled.faults})
    question = labeled.question_id or trajectory.task
    return AgentExample(rows, at_fault, pairs, labelled, agents, kind, question, roster_of(trajectory))


def fit_head(examples: Sequence[AgentExample], options: AgentFitOptions | None = None) -> LinearAgentHead:
    """The head for teams that were not learnt from and for those that were.

    Args:
        examples: Of two kinds of teams or more.
        options: The strengths and sizes.

    Raises:
        AttributionError: There are too few examples, or they are all of one kind.
        MissingExtraError: scikit-learn is not installed.
    """
    chosen = options or AgentFitOptions()
    rosters = {one.roster: one.kind for one in examples}
    return LinearAgentHead(fit_any_team(examples, chosen), fit_known_teams(examples, chosen), rosters)


def fit_any_team(examples: Sequence[AgentExample], options: AgentFitOptions) -> FaultModel:
    """The model for teams that were not learnt from; every kind of team counts the same.

    Its log-odds and its threshold come from the scores of kinds that were left out of the fit.
    """
    kinds = {one.kind for one in examples}
    if len(examples) < _FEWEST or len(kinds) < 2:
        raise AttributionError(
            f"the agent head needs {_FEWEST} labelled trajectories of two kinds of teams or more, got {len(examples)} "
            f"of {len(kinds)}: label more, or inject faults"
        )
    study = any_team_study(examples, options)
    return study.model(lambda sums: ridge(pooled(sums, equal=True), options.strength))


def fit_known_teams(examples: Sequence[AgentExample], options: AgentFitOptions) -> FaultModel:
    """The model for rosters that were learnt from; log-odds and threshold come from questions that were left out."""
    if len({one.question for one in examples}) < options.folds:
        raise AttributionError(
            f"the agent head needs trajectories of {options.folds} questions or more: label runs of other tasks"
        )
    parts = [part_of(one.question, options.folds) for one in examples]
    study = Study(examples, known_team_columns(examples, options), parts)
    return study.model(lambda sums: ridge(pooled(sums), options.known_strength))


def any_team_study(examples: Sequence[AgentExample], options: AgentFitOptions) -> Study:
    """The examples by kind of team, each agent compared with the others of its run."""
    kinds = sorted({one.kind for one in examples})
    columns = tuple(
        f"{kind}: {name}"
        for kind in options.summaries
        for name in examples[0].rows.features
        if group_of(name) not in options.habits
    )
    return Study(examples, columns, [kinds.index(one.kind) for one in examples], against_run=True)


def known_team_columns(examples: Sequence[AgentExample], options: AgentFitOptions) -> tuple[str, ...]:
    """Summaries of features, the commonest words, and the seats; labels are not looked at."""
    said: Counter[str] = Counter(word for one in examples for counts in one.rows.words for word in counts)
    words = [word for word, _ in sorted(said.items(), key=lambda pair: (-pair[1], pair[0]))[: options.words]]
    seats = sorted({seat_of(one.kind, name) for one in examples for name in one.rows.names})
    return (
        *(f"{kind}: {name}" for kind in options.known_summaries for name in examples[0].rows.features),
        *(f"{WORD}: {word}" for word in words),
        *(f"{SEAT}: {seat}" for seat in seats),
    )


def part_of(question: str, parts: int) -> int:
    """The part of the questions that a question belongs to, the same on every machine."""
    return int.from_bytes(hashlib.sha256(question.encode("utf-8", "replace")).digest()[:4], "big") % parts


class Study:
    """Examples in groups, each of which can be left out of the fit.

    Args:
        examples: What to learn from.
        columns: What to read of every agent.
        groups: The group of each example.
        against_run: Whether an agent's columns are taken less their mean over the agents of its run.
    """

    def __init__(
        self,
        examples: Sequence[AgentExample],
        columns: tuple[str, ...],
        groups: Sequence[int],
        *,
        against_run: bool = False,
    ) -> None:
        blank = LinearScores(columns, np.zeros((len(columns), 0)), np.zeros(0), against_run)
        self.columns = columns
        self._blank, self._examples = blank, examples
        self._matrix = np.concatenate([blank.matrix(one.rows).astype(np.float32) for one in examples])
        self._targets = np.concatenate([np.column_stack([one.at_fault, one.pairs]) for one in examples]).astype(float)
        self._owner = np.repeat(np.arange(len(examples)), [len(one.rows.names) for one in examples])
        self._group = np.array(groups)[self._owner]
        self._sums = {
            group: Sums.of(self._matrix[self._group == group], self._targets[self._group == group])
            for group in sorted(set(groups))
        }

    def left_out(self, fit: Fit) -> Array:
        """(agents of all examples, 15): raw scores, each by a model that did not see the agent's group."""
        scores = np.zeros_like(self._targets)
        for group in self._sums:
            model = fit([sums for other, sums in self._sums.items() if other != group])
            own = self._group == group
            scores[own] = self._matrix[own] @ model[:-1] + model[-1]
        return scores

    def model(self, fit: Fit) -> FaultModel:
        """Fitted to all groups; log-odds and threshold come from the scores of what was left out."""
        scores = self.left_out(fit)
        weights = fit(list(self._sums.values()))
        agent = _curve(scores[:, :1], self._targets[:, :1])
        pair = _curve(scores[:, 1:], self._targets[:, 1:])
        slope = np.array([agent[0], *[pair[0]] * len(MODES)])
        offset = np.array([agent[1], *[pair[1]] * len(MODES)])
        linear = replace(self._blank, weights=slope * weights[:-1], intercepts=slope * weights[-1] + offset)
        odds, gold = slope * scores + offset, self._targets > 0
        return FaultModel(
            linear,
            threshold=best_threshold(odds[:, 1:], gold[:, 1:], sum(one.labelled for one in self._examples)),
            agent_threshold=best_threshold(odds[:, :1], gold[:, :1], sum(e.labelled_agents for e in self._examples)),
        )

    def by_example(self, scores: Array) -> list[Array]:
        """Scores of all agents, by example."""
        return [scores[self._owner == place] for place in range(len(self._examples))]


def best_threshold(odds: Array, gold: NDArray[np.bool_], labelled: int) -> float:
    """The log-odds from which to name a pair, or an agent, for the best micro-F1 on these.

    Args:
        odds: Log-odds of pairs, or of agents.
        gold: Which of them are labelled; as ``odds``.
        labelled: How many are labelled, also those that are not among these.
    """
    order = np.argsort(-odds, axis=None, kind="stable")
    right = np.cumsum(gold.ravel()[order])
    f1 = 2 * right / (np.arange(1, len(order) + 1) + labelled)
    return float(odds.ravel()[order[int(f1.argmax())]])


def _curve(scores: Array, targets: Array) -> tuple[float, float]:
    """Slope and offset that make log-odds of scores (Platt 1999); the slope is not negative."""
    linear = require("sklearn.linear_model", extra="fit", feature="fitting the agent head")
    spread = float(scores.std()) or 1.0
    fitted = linear.LogisticRegression(C=1e3).fit(scores.reshape(-1, 1) / spread, targets.ravel() > 0)
    return max(0.0, float(fitted.coef_[0, 0])) / spread, float(fitted.intercept_[0])


def _row_of(label: str, names: Sequence[str]) -> int | None:
    """The agent that a label means: the same name, else but for case and signs, else but for a running number."""
    if label in names:
        return names.index(label)
    signs = [fold(name) for name in names]
    for spelling in (fold(label), fold(label).rstrip("0123456789")):
        if spelling and spelling in signs:
            return signs.index(spelling)
    return None
