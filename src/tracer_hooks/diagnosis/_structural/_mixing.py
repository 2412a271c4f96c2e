"""How much each member of the structural model has to say, for each kind of team, learnt from labels left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.diagnosis._structural._logit import Logits

Beliefs = NDArray[np.float64]
"""(members, steps): the log-beliefs of each member about the steps of one trajectory."""

_PULL = 1000.0
"""How strongly the shares are held to the proportions that they start from, in units of one labelled trajectory:
likelihood alone prefers whoever is timid to whoever ranks better."""
_SHARPNESS_PULL = 10.0
"""How strongly their sum is drawn to that of the labels of all kinds of teams."""
_SHARPNESS = 0.8
"""What that in turn is drawn to: the members are not independent, and each is a little too sure."""
_MOST = 3.0


@dataclass(frozen=True, slots=True)
class Mixing:
    """The share of each member in a logarithmic pool, by kind of team; a small sum of shares is a high temperature."""

    shares: tuple[float, ...]
    """For a kind of team that was not learnt from."""
    by_kind: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """For each kind of team that was."""

    def of(self, kind: str) -> NDArray[np.float64]:
        """The shares for one kind of team."""
        return np.array(self.by_kind.get(kind, self.shares))

    def logits(self, kind: str, beliefs: Beliefs) -> Logits:
        """The pooled log-beliefs, up to a constant."""
        return np.asarray(self.of(kind) @ beliefs)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        rounded = {kind: [round(one, 5) for one in shares] for kind, shares in sorted(self.by_kind.items())}
        return {"shares": [round(one, 5) for one in self.shares], "by_kind": rounded}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Mixing:
        """What :meth:`to_json` wrote."""
        by_kind = {str(kind): tuple(float(one) for one in shares) for kind, shares in data["by_kind"].items()}
        return cls(tuple(float(one) for one in data["shares"]), by_kind)


def fit_mixing(
    beliefs: Sequence[Beliefs],
    targets: Sequence[int],
    kinds: Sequence[str],
    *,
    weights: Sequence[float],
    start: Sequence[float],
) -> Mixing:
    """The shares under which the labelled steps are likeliest, those of each kind drawn to those of all.

    Give it beliefs of members that have not seen the question, or the shares flatter whoever overfits most. The sum of
    the shares is freer than their proportions: with tens of labels a temperature can be learnt, and who ranks best can
    hardly be.

    Args:
        beliefs: For each trajectory, or each of several judgements of it, the log-beliefs of the members.
        targets: The labelled step of each.
        kinds: The kind of team of each.
        weights: What each counts; 1 over the number of judgements of the same trajectory.
        start: The proportions that those of all are held to.
    """
    everything = list(range(len(beliefs)))
    direction = np.array(start) / np.sum(start)
    shares, sharpness = _shares(beliefs, targets, weights, everything, (direction, _SHARPNESS))
    by_kind = {}
    for kind in sorted(set(kinds)):
        own = [place for place in everything if kinds[place] == kind]
        found, _ = _shares(beliefs, targets, weights, own, (shares / max(shares.sum(), 1e-3), sharpness))
        by_kind[kind] = tuple(found.tolist())
    return Mixing(tuple(shares.tolist()), by_kind)


def _shares(
    beliefs: Sequence[Beliefs],
    targets: Sequence[int],
    weights: Sequence[float],
    places: Sequence[int],
    drawn_to: tuple[NDArray[np.float64], float],
) -> tuple[NDArray[np.float64], float]:
    """The shares for some of the trajectories, and their sharpness; the loss is convex in both."""
    from scipy.optimize import minimize

    direction, sharpness = drawn_to
    sizes = [beliefs[place].shape[1] for place in places]
    rows = np.concatenate([beliefs[place].T for place in places])
    starts = np.cumsum([0, *sizes])[:-1]
    owner = np.repeat(np.arange(len(places)), sizes)
    chosen = starts + np.array([targets[place] for place in places])
    counts = np.array([weights[place] for place in places])

    def loss(both: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        shares, sharp = both[:-1], both[-1]
        scores = rows @ shares
        top = np.maximum.reduceat(scores, starts)
        raw = np.exp(scores - top[owner])
        total = np.add.reduceat(raw, starts)
        likelihood = float((counts * (scores[chosen] - top - np.log(total))).sum())
        away, sharper = shares - sharp * direction, sharp - sharpness
        value = -likelihood + 0.5 * _PULL * float(away @ away) + 0.5 * _SHARPNESS_PULL * sharper**2
        slope = rows.T @ (counts[owner] * raw / total[owner]) - counts @ rows[chosen] + _PULL * away
        return value, np.append(slope, _SHARPNESS_PULL * sharper - _PULL * float(away @ direction))

    begin = np.append(sharpness * direction, sharpness)
    found = minimize(loss, begin, jac=True, bounds=[(0.0, _MOST)] * len(begin), method="L-BFGS-B").x
    return found[:-1], float(found[-1])
