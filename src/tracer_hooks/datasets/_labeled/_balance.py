"""A labelled set in which the place of a fault tells little."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable

from tracer_hooks.schema import LabeledTrajectory, LabelSource

Shape = tuple[str, str, int]
"""Framework, team, and number of steps: runs whose steps stand at the same places."""


def balanced(items: Iterable[LabeledTrajectory], *, seed: int = 0) -> tuple[LabeledTrajectory, ...]:
    """``items`` with as many injected faults at each step of a kind of run as at its rarest one.

    Faults late in a run make it fail more often, since nobody is left to mend them. Of those that are verified most
    are therefore late, however evenly they were tried, and a model learns the place instead of the fault. A kind of run
    whose faults are all at one step is left out. Labels of other sources stay: where natural failures begin is a fact.

    Args:
        items: Labelled runs.
        seed: Of the draw.
    """
    everything = list(items)
    by_place: dict[Shape, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    kept: set[int] = set()
    for position, item in enumerate(everything):
        if item.label_source is LabelSource.INJECTED and item.decisive is not None:
            run = item.trajectory
            by_place[run.framework, run.team, len(run.steps)][item.decisive.step].append(position)
        else:
            kept.add(position)
    rng = random.Random(seed)
    for shape in sorted(by_place):
        places = by_place[shape]
        if len(places) > 1:
            fewest = min(map(len, places.values()))
            kept.update(one for step in sorted(places) for one in rng.sample(places[step], fewest))
    return tuple(item for position, item in enumerate(everything) if position in kept)
