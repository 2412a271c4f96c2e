"""Randomised trees on the features of single steps, kept as plain arrays so that no learner is needed to use them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.diagnosis._features import FeatureTable

TREES = 200
_FLOOR = 1e-3
_LEAF = -1


@dataclass(frozen=True, slots=True)
class Forest:
    """Extremely randomised trees (Geurts et al. 2006) that give the chance that a step is the decisive one."""

    names: tuple[str, ...]
    """The features, in the order that the trees know them by."""
    roots: NDArray[np.int64]
    """Node that each tree begins at."""
    feature: NDArray[np.int64]
    """Feature that each node asks for; -1 at a leaf."""
    threshold: NDArray[np.float64]
    """Values up to this go left."""
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float64]
    """Chance at each leaf."""

    def logits(self, table: FeatureTable) -> NDArray[np.float64]:
        """Logarithm of the chance of every step; never lower than that of one in a thousand."""
        return np.asarray(np.log(np.maximum(self._chances(self._values(table)), _FLOOR)), dtype=np.float64)

    def _values(self, table: FeatureTable) -> NDArray[np.float32]:
        place = {name: column for column, name in enumerate(table.names)}
        return table.values[:, [place[name] for name in self.names]].astype(np.float32)

    def _leaves(self, values: NDArray[np.float32]) -> NDArray[np.int64]:
        """(steps, trees): the leaf that each step comes to."""
        steps = np.arange(len(values))[:, None]
        node = np.tile(self.roots, (len(values), 1))
        while True:
            asked = self.feature[node]
            inside = asked != _LEAF
            if not inside.any():
                return node
            goes_left = values[steps, np.maximum(asked, 0)] <= self.threshold[node]
            node = np.where(inside, np.where(goes_left, self.left[node], self.right[node]), node)

    def _chances(self, values: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.asarray(self.value[self._leaves(values)].mean(axis=1))

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return {
            "names": list(self.names),
            "roots": self.roots.tolist(),
            "feature": self.feature.tolist(),
            "threshold": [round(one, 6) for one in self.threshold.tolist()],
            "left": self.left.tolist(),
            "right": self.right.tolist(),
            "value": [round(one, 5) for one in self.value.tolist()],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Forest:
        """What :meth:`to_json` wrote."""
        ints = {key: np.array(data[key], dtype=np.int64) for key in ("roots", "feature", "left", "right")}
        return cls(
            names=tuple(data["names"]),
            threshold=np.array(data["threshold"], dtype=np.float64),
            value=np.array(data["value"], dtype=np.float64),
            **ints,
        )


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
        names=names,
        roots=starts[:-1].astype(np.int64),
        feature=np.where(is_leaf, _LEAF, joined("feature")),
        threshold=np.where(is_leaf, 0.0, np.concatenate([tree.threshold for tree in trees])),
        left=np.where(is_leaf, 0, joined("children_left") + shift),
        right=np.where(is_leaf, 0, joined("children_right") + shift),
        value=np.where(is_leaf, share, 0.0),
    )
