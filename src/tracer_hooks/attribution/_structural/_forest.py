"""Randomised trees on the features of single steps, kept as plain arrays so that no learner is needed to use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution._features import FeatureTable

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
        place = {name: column for column, name in enumerate(table.names)}
        values = table.values[:, [place[name] for name in self.names]].astype(np.float32)
        steps = np.arange(len(values))[:, None]
        node = np.tile(self.roots, (len(values), 1))
        while True:
            asked = self.feature[node]
            inside = asked != _LEAF
            if not inside.any():
                break
            goes_left = values[steps, np.maximum(asked, 0)] <= self.threshold[node]
            node = np.where(inside, np.where(goes_left, self.left[node], self.right[node]), node)
        return np.asarray(np.log(np.maximum(self.value[node].mean(axis=1), _FLOOR)), dtype=np.float64)

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


def fit_forest(tables: Sequence[FeatureTable], targets: Sequence[int], *, seed: int) -> Forest:
    """Grow trees that tell decisive steps from the others.

    Args:
        tables: The features of each trajectory.
        targets: For each trajectory the decisive step.
        seed: Of the trees' random splits.
    """
    from sklearn.ensemble import ExtraTreesClassifier

    rows = np.vstack([table.values for table in tables]).astype(np.float32)
    labels = np.concatenate([np.arange(len(t.values)) == target for t, target in zip(tables, targets, strict=True)])
    model = ExtraTreesClassifier(TREES, min_samples_leaf=3, max_features=0.2, random_state=seed)
    model.fit(rows, labels)
    return _packed(tables[0].names, [one.tree_ for one in model.estimators_])


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
