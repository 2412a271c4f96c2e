"""How much each label counts in a fit: natural failures are what is diagnosed, injected faults stand in for them."""

from __future__ import annotations

from collections.abc import Sequence

from tracer_hooks.schema import LabeledTrajectory, LabelSource

_MOST = 4.0
"""How many times an injected fault a natural failure counts at most: a handful of labels is not to decide alone."""


def label_weights(labeled: Sequence[LabeledTrajectory]) -> list[float]:
    """What each label counts.

    Where there are more injected faults than natural failures, each failure counts as many times a fault as gives both
    kinds the same say, but four times at most. Faults are put in evenly and by a program, while a team fails in habits
    of its own. All labels together count as before: how far the fit leaves the prior depends on their number.
    """
    natural = sum(one.weight for one in labeled if not _is_injected(one))
    injected = sum(one.weight for one in labeled if _is_injected(one))
    if not natural or not injected:
        return [one.weight for one in labeled]
    more = min(_MOST, max(1.0, injected / natural))
    scale = (natural + injected) / (more * natural + injected)
    return [one.weight * scale * (1.0 if _is_injected(one) else more) for one in labeled]


def _is_injected(labeled: LabeledTrajectory) -> bool:
    return labeled.label_source is LabelSource.INJECTED
