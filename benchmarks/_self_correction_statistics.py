"""Shares, paired differences and curves with intervals from a bootstrap over tasks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from _self_correction_outcomes import Course
from numpy.typing import NDArray

RESAMPLES: Final = 4_000
_ALPHA_Z: Final = 1.96
_POWER_Z: Final = 0.8416


def interval(values: Sequence[float], tasks: Sequence[str], seed: int = 0) -> tuple[float, float, float]:
    """Mean with its 95 % interval, tasks drawn with all of their failures."""
    means = resampled(np.asarray(values, float)[:, None], tasks, seed)[:, 0]
    low, high = np.quantile(means, [0.025, 0.975])
    return float(np.mean(values)), float(low), float(high)


def resampled(values: NDArray[Any], tasks: Sequence[str], seed: int = 0) -> NDArray[Any]:
    """Means of each column in resamples over tasks, ``[resamples, columns]``."""
    names = sorted(set(tasks))
    place = {name: at for at, name in enumerate(names)}
    sums = np.zeros((len(names), values.shape[1]))
    counts = np.zeros(len(names))
    for row, task in zip(values, tasks, strict=True):
        sums[place[task]] += row
        counts[place[task]] += 1
    chance = np.random.default_rng(seed)
    drawn = chance.multinomial(len(names), np.full(len(names), 1 / len(names)), size=RESAMPLES)
    return np.asarray((drawn @ sums) / (drawn @ counts)[:, None])


def compared(arm: Mapping[str, Course], plain: Mapping[str, Course], rounds: int) -> dict[str, Any]:
    """An arm beside plain retry, on the failures that both were run on."""
    both = [(arm[name], plain[name]) for name in plain if name in arm]
    if not both:
        return {"n": 0}
    tasks = [one.task for one, _ in both]
    own = [float(one.passed(rounds)) for one, _ in both]
    control = [float(other.passed(rounds)) for _, other in both]
    difference = [mine - theirs for mine, theirs in zip(own, control, strict=True)]
    tokens = [one.spent(rounds) for one, _ in both]
    control_tokens = [other.spent(rounds) for _, other in both]
    return {
        "n": len(both),
        "tasks": len(set(tasks)),
        "solved": interval(own, tasks),
        "plain": float(np.mean(control)),
        "difference": interval(difference, tasks),
        "won": int(sum(value > 0 for value in difference)),
        "lost": int(sum(value < 0 for value in difference)),
        "tokens": float(np.mean(tokens)),
        "plain_tokens": float(np.mean(control_tokens)),
        "share_of_tokens": interval_of_ratio(tokens, control_tokens, tasks),
        "written": float(np.mean([sum(one.written[:rounds]) for one, _ in both])),
    }


def interval_of_ratio(
    above: Sequence[float], below: Sequence[float], tasks: Sequence[str]
) -> tuple[float, float, float]:
    """The ratio of two means with its 95 % interval."""
    means = resampled(np.column_stack([above, below]).astype(float), tasks)
    low, high = np.quantile(means[:, 0] / means[:, 1], [0.025, 0.975])
    return float(np.sum(above) / np.sum(below)), float(low), float(high)


def curve(found: Mapping[str, Course], budgets: Sequence[float]) -> dict[str, Any]:
    """The share solved within so many tokens, in first attempts, with a band."""
    rows = list(found.values())
    reached = np.asarray([[row.solved_at <= budget + 1e-9 for budget in budgets] for row in rows], float)
    means = resampled(reached, [row.task for row in rows])
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    return {"n": len(rows), "solved": reached.mean(0).tolist(), "low": low.tolist(), "high": high.tolist()}


def at_equal_tokens(arm: Mapping[str, Course], plain: Mapping[str, Course], budget: float) -> dict[str, Any]:
    """Solved within a budget, in first attempts, minus what plain retry solves within the same."""
    both = [(arm[name], plain[name]) for name in plain if name in arm]
    if not both:
        return {"n": 0}
    tasks = [one.task for one, _ in both]
    within: Callable[[Course], float] = lambda one: float(one.solved_at <= budget + 1e-9)  # noqa: E731
    return {
        "n": len(both),
        "budget": budget,
        "solved": float(np.mean([within(one) for one, _ in both])),
        "plain": float(np.mean([within(other) for _, other in both])),
        "difference": interval([within(one) - within(other) for one, other in both], tasks),
    }


def failures_needed(discordance: float, effect: float) -> int:
    """Failures for 80 % power at 5 %, two sided, when this share of the pairs differs (McNemar)."""
    spread = _ALPHA_Z * math.sqrt(discordance) + _POWER_Z * math.sqrt(max(discordance - effect**2, 0.0))
    return math.ceil((spread / effect) ** 2)
