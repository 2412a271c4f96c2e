"""What is learnt from labels: a conditional logit and randomised trees, kept as numbers that need no learner to use."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass as checked

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis.ranking._pooling import CHECKS, Logits, Number
from tracer_hooks.diagnosis.ranking._table import FeatureTable

_EXACT = {"maxiter": 300, "ftol": 1e-7, "gtol": 1e-3}
"""When a fit is done: weights are of the order of 0.1, and more digits change no ranking."""


@checked(frozen=True, slots=True, config=CHECKS)
class ConditionalLogit:
    """Softmax over the steps of a trajectory of a weighted sum of features (McFadden 1974).

    The features are standardised within the trajectory first, so that a weight says how much a step stands out in its
    own run. The prior's log-odds are one more term: with its weight at 1 and all others at 0 the model is the prior.
    """

    weights: dict[str, Number]
    """Weight of each feature in standard deviations; what is not named counts 0."""
    prior_weight: Number = 1.0
    """Weight of the prior's log-odds."""

    def logits_from(self, standardised: NDArray[np.float64], names: tuple[str, ...], prior: Logits) -> Logits:
        """Log-belief of every step, up to a constant, from features that are standardised within the trajectory."""
        return np.asarray(self.prior_weight * prior + standardised @ self._vector(names))

    def _vector(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        return np.array([self.weights.get(name, 0.0) for name in names])


@checked(frozen=True, slots=True, config=CHECKS)
class KindLogits:
    """A conditional logit for each kind of team that was learnt from, and a shared one for all others."""

    shared: ConditionalLogit = field(default_factory=lambda: ConditionalLogit({}))
    by_kind: dict[str, ConditionalLogit] = field(default_factory=dict)

    def of(self, kind: str) -> ConditionalLogit:
        """The logit for one kind of team."""
        return self.by_kind.get(kind, self.shared)


def fit_logits(
    tables: Sequence[NDArray[np.float64]],
    priors: Sequence[Logits],
    targets: Sequence[int],
    kinds: Sequence[str],
    *,
    strength: float,
    kind_strength: float,
    weights: Sequence[float] | None = None,
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """Fit shared weights and, for each kind of team, how it departs from them, by maximum a posteriori.

    The prior's weight is drawn to 1, the shared weights to 0, and the weights of a kind to the shared ones. A kind
    with many labels goes its own way; one with few borrows what the others have taught.

    Args:
        tables: For each trajectory its standardised features, (steps, features).
        priors: For each trajectory the prior's log-odds, (steps,).
        targets: For each trajectory the decisive step.
        kinds: For each trajectory the kind of its team.
        strength: Precision of the Gaussian prior on the shared weights; larger keeps closer to the prior's answers.
        kind_strength: The same for what a kind departs by.
        weights: How much each trajectory counts; default all alike.

    Returns:
        The shared weights, and those of each kind; of each the last one is the prior's.
    """
    from scipy.optimize import minimize

    names = sorted(set(kinds))
    order = sorted(range(len(tables)), key=lambda place: kinds[place])
    rows = np.hstack([np.vstack([tables[i] for i in order]), np.concatenate([priors[i] for i in order])[:, None]])
    sizes = [len(tables[i]) for i in order]
    starts = np.cumsum([0, *sizes])[:-1]
    owner = np.repeat(np.arange(len(order)), sizes)
    chosen = starts + np.array([targets[i] for i in order])
    ends = np.cumsum([sum(len(tables[i]) for i in order if kinds[i] == name) for name in names])
    blocks = [rows[low:high] for low, high in zip([0, *ends[:-1]], ends, strict=True)]
    counts = np.ones(len(order)) if weights is None else np.array([weights[i] for i in order])
    picked = np.zeros(len(rows))
    picked[chosen] = 1.0
    width = rows.shape[1]
    anchor = np.zeros((1 + len(names), width))
    anchor[0, -1] = 1.0
    precision = np.array([strength, *[kind_strength] * len(names)])[:, None]

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        both = flat.reshape(anchor.shape)
        scores = np.concatenate([block @ (both[0] + own) for block, own in zip(blocks, both[1:], strict=True)])
        top = np.maximum.reduceat(scores, starts)
        raw = np.exp(scores - top[owner])
        total = np.add.reduceat(raw, starts)
        away = both - anchor
        value = float(-(counts * (scores[chosen] - top - np.log(total))).sum() + 0.5 * (precision * away**2).sum())
        left = counts[owner] * (raw / total[owner] - picked)
        own = [block.T @ left[low:high] for block, low, high in zip(blocks, [0, *ends[:-1]], ends, strict=True)]
        gradient = np.vstack([np.sum(own, axis=0), *own]) + precision * away
        return value, gradient.ravel()

    found = minimize(loss, anchor.ravel(), jac=True, method="L-BFGS-B", options=_EXACT).x
    fitted = found.reshape(anchor.shape)
    return fitted[0], {name: fitted[0] + own for name, own in zip(names, fitted[1:], strict=True)}


TREES = 200
_FLOOR = 1e-3
_LEAF = -1


@checked(frozen=True, config=CHECKS)
class Forest:
    """Extremely randomised trees (Geurts et al. 2006) that give the chance that a step is the decisive one."""

    names: list[str]
    """The features, in the order that the trees know them by."""
    roots: Annotated[list[int], Field(min_length=1)]
    """Node that each tree begins at."""
    feature: list[int]
    """Feature that each node asks for; -1 at a leaf."""
    threshold: list[Annotated[float, Field(ge=-1e300, le=1e300)]]
    """Values up to this go left."""
    left: list[int]
    right: list[int]
    value: list[Annotated[float, Field(ge=0.0, le=1.0)]]
    """Chance at each leaf."""

    @model_validator(mode="after")
    def _are_trees(self) -> Self:
        count = len(self.feature)
        if not all(len(column) == count for column in (self.threshold, self.left, self.right, self.value)):
            raise ValueError("the columns of the nodes differ in length")
        if not all(0 <= root < count for root in self.roots):
            raise ValueError("a tree begins at a node that is not there")
        if not all(-1 <= asked < len(self.names) for asked in self.feature):
            raise ValueError("a node asks for a feature that is not named")
        for node, asked in enumerate(self.feature):
            # Children stand behind their parent, so that nobody walks in a circle.
            if asked >= 0 and not all(node < child < count for child in (self.left[node], self.right[node])):
                raise ValueError(f"node {node} leads to one that is not behind it")
        return self

    @cached_property
    def _nodes(self) -> dict[str, NDArray[Any]]:
        """The nodes as arrays."""
        names = ("feature", "threshold", "left", "right", "value")
        return {name: np.array(getattr(self, name)) for name in names}

    def logits(self, table: FeatureTable) -> NDArray[np.float64]:
        """Logarithm of the chance of every step; never lower than that of one in a thousand."""
        return np.asarray(np.log(np.maximum(self._chances(self._values(table)), _FLOOR)), dtype=np.float64)

    def _values(self, table: FeatureTable) -> NDArray[np.float32]:
        place = {name: column for column, name in enumerate(table.names)}
        return table.values[:, [place[name] for name in self.names]].astype(np.float32)

    def _chances(self, values: NDArray[np.float32]) -> NDArray[np.float64]:
        """The mean chance of the leaves that each step comes to."""
        nodes, steps = self._nodes, np.arange(len(values))[:, None]
        node = np.tile(np.array(self.roots), (len(values), 1))
        while True:
            asked = nodes["feature"][node]
            inside = asked != _LEAF
            if not inside.any():
                return np.asarray(nodes["value"][node].mean(axis=1))
            goes_left = values[steps, np.maximum(asked, 0)] <= nodes["threshold"][node]
            node = np.where(inside, np.where(goes_left, nodes["left"][node], nodes["right"][node]), node)


@dataclass(frozen=True, slots=True)
class GrownForest:
    """Trees, and what those of them say of a trajectory that were grown without its question."""

    forest: Forest
    unseen: list[NDArray[np.float64]]
    """For each trajectory the logarithm of each step's chance."""


def fit_forest(
    tables: Sequence[FeatureTable],
    targets: Sequence[int],
    folds: Sequence[Sequence[int]],
    *,
    seed: int,
    weights: Sequence[float] | None = None,
) -> GrownForest:
    """Grow trees that tell decisive steps from the others, each without one fold of the questions.

    Every trajectory is so judged by trees that have not seen its question, without a second forest.

    Args:
        tables: The features of each trajectory.
        targets: For each trajectory the decisive step.
        folds: Several ways of dealing the trajectories into folds: for each way the fold of each trajectory.
        seed: Of the trees' random splits.
        weights: How much each trajectory counts; default all alike.
    """
    from sklearn import config_context
    from sklearn.tree import ExtraTreeClassifier

    rows = np.vstack([table.values for table in tables]).astype(np.float32)
    labels = np.concatenate([np.arange(len(t.values)) == target for t, target in zip(tables, targets, strict=True)])
    owner = np.repeat(np.arange(len(tables)), [len(table.values) for table in tables])
    counts = np.ones(len(rows)) if weights is None else np.asarray(weights)[owner]
    chance, judges = np.zeros(len(rows)), np.zeros(len(rows))
    trees: list[Any] = []
    for number, (way, left_out) in enumerate(_left_out(folds)):
        seen = np.asarray(way)[owner] != left_out
        one = ExtraTreeClassifier(min_samples_leaf=3, max_features=0.2, random_state=seed * 10_007 + number)
        with config_context(skip_parameter_validation=True):  # it takes longer than a tree of few labels
            one.fit(rows[seen], labels[seen], sample_weight=counts[seen], check_input=False)
        said = one.tree_.predict(rows[~seen])
        chance[~seen] += said[:, 1] / said.sum(axis=1)
        judges[~seen] += 1.0
        trees.append(one.tree_)
    logs = np.log(np.maximum(chance / judges, _FLOOR))
    starts = np.cumsum([0, *(len(table.values) for table in tables)])
    unseen = [logs[low:high] for low, high in itertools.pairwise(starts)]
    return GrownForest(_packed(tables[0].names, trees), unseen)


def _left_out(folds: Sequence[Sequence[int]]) -> list[tuple[Sequence[int], int]]:
    """For each tree a way of dealing and the fold that it does not see; every way in turn, about 200 trees."""
    once = [(way, fold) for way in folds for fold in sorted(set(way))]
    return once * -(-TREES // len(once))


def _packed(names: tuple[str, ...], trees: Sequence[Any]) -> Forest:
    starts = np.cumsum([0, *(tree.node_count for tree in trees)])
    shift = np.concatenate([np.full(tree.node_count, start) for tree, start in zip(trees, starts[:-1], strict=True)])
    is_leaf = np.concatenate([tree.children_left for tree in trees]) == _LEAF
    share = np.concatenate([tree.value[:, 0, 1] / tree.value[:, 0, :].sum(axis=1) for tree in trees])

    def joined(name: str) -> NDArray[np.int64]:
        return np.concatenate([getattr(tree, name) for tree in trees]).astype(np.int64)

    return Forest(
        names=list(names),
        roots=starts[:-1].tolist(),
        feature=np.where(is_leaf, _LEAF, joined("feature")).tolist(),
        threshold=np.where(is_leaf, 0.0, np.concatenate([tree.threshold for tree in trees])).tolist(),
        left=np.where(is_leaf, 0, joined("children_left") + shift).tolist(),
        right=np.where(is_leaf, 0, joined("children_right") + shift).tolist(),
        value=np.where(is_leaf, share, 0.0).tolist(),
    )
