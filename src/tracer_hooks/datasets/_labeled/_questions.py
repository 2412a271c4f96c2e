"""Which runs belong to one question, and a split that never tears a question apart."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from tracer_hooks.datasets._labeled._verification import text_of
from tracer_hooks.errors import DatasetError
from tracer_hooks.schema import LabeledTrajectory

_CLOSE = 1e-6


def is_clean(item: LabeledTrajectory) -> bool:
    """Whether an item has no fault: neither a decisive step nor a faulty agent."""
    return item.decisive is None and not item.faults


def question_groups(items: Sequence[LabeledTrajectory]) -> list[str]:
    """The group of each item. Items of one group are never to be separated.

    They have the same question, or the same task but for case and spacing, or are the two runs of a pair.
    """
    groups = _Groups()
    for item in items:
        names = _names_of(item)
        for name in names:
            groups.join(names[0], name)
    return [groups.of(_names_of(item)[0]) for item in items]


def dealt_out(weights: Mapping[str, int], fractions: Mapping[str, float], seed: int) -> dict[str, str]:
    """The part that each group goes to: heavy groups first, each to the part that lacks most.

    Args:
        weights: How many labelled runs each group holds; groups without any fill no part.
        fractions: The share of each part; they sum to 1.
        seed: Of the order of groups of one weight.

    Raises:
        DatasetError: The fractions are no shares that sum to 1, or there are fewer groups than parts.
    """
    if not fractions or not all(share > 0 for share in fractions.values()) or abs(sum(fractions.values()) - 1) > _CLOSE:
        raise DatasetError(f"fractions are {dict(fractions)!r}, expected positive shares that sum to 1")
    counting = {group: weight for group, weight in weights.items() if weight} or dict.fromkeys(weights, 1)
    if len(counting) < len(fractions):
        raise DatasetError(
            f"cannot split {len(counting)} questions into {len(fractions)} parts: a question is never torn apart"
        )
    order = sorted(weights)
    random.Random(seed).shuffle(order)
    order.sort(key=lambda group: -counting.get(group, 0))
    missing = {part: share * sum(counting.values()) for part, share in fractions.items()}
    empty = list(fractions)
    part_of: dict[str, str] = {}
    for position, group in enumerate(order):
        is_last_chance = bool(empty) and len(counting) - position <= len(empty)
        part = max(empty if is_last_chance else missing, key=lambda name: missing[name])
        part_of[group] = part
        missing[part] -= counting.get(group, 0)
        empty = [name for name in empty if name != part]
    return part_of


def _names_of(item: LabeledTrajectory) -> list[str]:
    task = " ".join(item.trajectory.task.casefold().split())
    pair = text_of(item.verification, "clean_run_id") if not is_clean(item) else item.trajectory.run_id
    names = [f"question {item.question_id}" if item.question_id else "", f"task {task}" if task else ""]
    return [name for name in [*names, f"pair {pair}" if pair else ""] if name] or [f"run {item.trajectory.run_id}"]


class _Groups:
    """Names that are joined stay joined; the first name in order stands for them all."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def of(self, name: str) -> str:
        root = name
        while self._above.setdefault(root, root) != root:
            root = self._above[root]
        while self._above[name] != root:
            self._above[name], name = root, self._above[name]
        return root

    def join(self, one: str, other: str) -> None:
        first, second = sorted((self.of(one), self.of(other)))
        self._above[second] = first
