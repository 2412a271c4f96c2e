"""What speaks for a step, in sentences that are true of it, with the passages that bear them out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tracer_hooks.attribution._features import FeatureTable, View
from tracer_hooks.attribution._rules._signal import Family
from tracer_hooks.attribution._structural._sentences import SENTENCES, Said, carried_on
from tracer_hooks.schema import Evidence

_MOST = 3
_LEAST = 0.15
"""Log-odds below which a feature is not worth mentioning."""
_AWAY = 0.5
"""Standard deviations above the run's mean from which a step is said to have an amount."""
_PLACE = "Its place in the run speaks for it: "
_ONLY_PLACE = "Nothing that was said or done in this step stands out; it is listed since "


def evidence_for(
    view: View, table: FeatureTable, step: int, contributions: Sequence[tuple[str, float]]
) -> tuple[Evidence, ...]:
    """The strongest features of a step as evidence.

    Shown is only what the step has and what speaks for it: an absent feature with a negative weight is no finding, and
    neither is one whose sentence the text of the step does not bear out. Where a step stands is told last, as what it
    is.

    Args:
        view: The trajectory.
        table: Its features.
        step: The step that is named.
        contributions: What each feature adds to its log-odds, the largest first.
    """
    told = _told(view, table, step, contributions)
    found = [one for one in told if not one.is_place][:_MOST]
    evidence = [_evidence(step, said, odds) for said, odds, _ in found]
    places = [one for one in told if one.is_place][:1]
    carried = carried_on(view, step) if places else None
    if carried is not None and all(carried.text != one.why for one in evidence):
        evidence.append(_evidence(step, carried, None))  # what makes the place of a step count
    ruled = any(one.step == step and one.family is not Family.POSITION for one in view.signals)
    start = _PLACE if ruled or any(one.step == step for one in evidence) else _ONLY_PLACE
    listed = [
        Evidence(step=step, quote=said.quote, why=f"{start}{said.text}.", weight=odds) for said, odds, _ in places
    ]
    return (*evidence, *listed)


def _evidence(step: int, said: Said, odds: float | None) -> Evidence:
    about = step if said.about is None else said.about
    return Evidence(step=about, quote=said.quote, why=said.text, weight=odds)


class _Told(NamedTuple):
    said: Said
    odds: float
    is_place: bool


def _told(view: View, table: FeatureTable, step: int, contributions: Sequence[tuple[str, float]]) -> list[_Told]:
    """A sentence for each feature that the step has and that speaks for it, the strongest first; each sentence once."""
    ruled = {signal.family for signal in view.signals if signal.step == step}
    found: dict[str, _Told] = {}
    for name, odds in contributions:
        sentence = SENTENCES.get(name)
        if odds < _LEAST or sentence is None or ruled & set(sentence.covered_by) or not has_feature(table, step, name):
            continue
        said = sentence.tell(view, step)
        if said is None:
            continue
        before = found.get(said.text)
        summed = odds + (before.odds if before is not None else 0.0)
        found[said.text] = _Told(said, round(summed, 2), sentence.is_place)
    return sorted(found.values(), key=lambda one: -one.odds)


def has_feature(table: FeatureTable, step: int, name: str) -> bool:
    """Whether a step has a feature: a flag that is set, or an amount clearly above the mean of the run."""
    column = table.values[:, table.names.index(name)]
    value = float(column[step])
    if value <= 0.0:
        return False
    is_flag = bool(np.isin(column, (0.0, 1.0)).all())
    return is_flag or value >= float(column.mean()) + _AWAY * float(column.std())
