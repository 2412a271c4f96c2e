"""Steps that are too many, left out, of another kind or of other content than in the passing runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from tracer_hooks.attribution._contrast._comparison import Comparison
from tracer_hooks.attribution._contrast._marks import Divergence, Instead, Mark
from tracer_hooks.attribution._contrast._pairing import Pairing
from tracer_hooks.attribution._contrast._run_view import RunView, StepView
from tracer_hooks.attribution._contrast._term_vectors import cosine_of_words
from tracer_hooks.attribution._contrast._value_marks import act_at
from tracer_hooks.attribution._reading._roles import is_checker
from tracer_hooks.attribution._reading._trace import says_something

_MAJORITY = 0.5
"""Share of the passing runs above which a difference in the path counts."""
_NEW_ACT, _MORE_OFTEN, _SAME_OFTEN = 1.0, 0.5, 0.2
"""Weight of a step too many or too few, by whether the other side has such acts never, less often, or as often."""
_LEAST_UNLIKE = 0.05
"""Differences in words below it are rounding."""
_REPEATED_FROM = 0.9
"""Similarity of the words from which a step is a repetition of an earlier one."""


def path_trust(comparison: Comparison) -> float:
    """How much a difference in the path means, in [0, 1]: more when the passing runs themselves are alike."""
    return comparison.agreement * (0.5 + 0.5 * comparison.nearness)


def extra_steps(comparison: Comparison) -> Iterator[Mark]:
    """Acts that most of the passing runs do not have, in this place or any other."""
    run = comparison.run
    for index in run.acts:
        step = run.steps[index]
        share = comparison.share(lambda one, index=index: one.partners[index] < 0)  # type: ignore[misc]
        if share <= _MAJORITY or step.is_empty:
            continue
        rarity = max(_rarity(step, run, one.other) for one in comparison.pairings)
        repeats = _repeated(run, index)
        yield Mark(
            step=index,
            divergence=Divergence.EXTRA if repeats is None else Divergence.REPEAT,
            weight=share * share * (rarity if repeats is None else _NEW_ACT) * path_trust(comparison),
        )


def _rarity(step: StepView, here: RunView, there: RunView) -> float:
    """How unusual an act of ``here`` is in ``there``."""
    count = there.act_counts[step.act]
    if not count:
        return _NEW_ACT
    return _MORE_OFTEN if count < here.act_counts[step.act] else _SAME_OFTEN


def _repeated(run: RunView, index: int) -> int | None:
    """The earlier step that this one repeats."""
    step = run.steps[index]
    for earlier in run.steps[:index]:
        same_act = earlier.act == step.act and bool(step.terms)
        if same_act and cosine_of_words(step.terms, earlier.terms) >= _REPEATED_FROM:
            return earlier.index
    return None


def changed_acts(comparison: Comparison) -> Iterator[Mark]:
    """Steps in whose place most passing runs call another tool, hand off to another, or let another agent act."""
    run = comparison.run
    for index in run.acts:
        step = run.steps[index]
        others = [_partner(one, index) for one in comparison.pairings]
        weighed = list(zip(others, comparison.weights, strict=True))
        agent = sum(share for other, share in weighed if other is not None and other.act.agent != step.act.agent)
        act = sum(share for other, share in weighed if other is not None and _does_otherwise(step, other))
        if max(agent, act) <= _MAJORITY:
            continue
        rarity = max(_rarity(step, run, one.other) for one in comparison.pairings)
        position = max(
            (k for k, other in enumerate(others) if other is not None and other.act != step.act),
            key=lambda k: comparison.weights[k],
        )
        beside = others[position]
        yield Mark(
            step=index,
            divergence=Divergence.AGENT if agent > _MAJORITY else Divergence.ACT,
            weight=max(agent, act) ** 2 * rarity * path_trust(comparison),
            instead=Instead(run=position, step=beside.index) if beside is not None else None,
        )


def _does_otherwise(step: StepView, other: StepView) -> bool:
    return other.act.agent == step.act.agent and (other.act.kind, other.act.target) != (step.act.kind, step.act.target)


def _partner(pairing: Pairing, index: int) -> StepView | None:
    column = pairing.partners[index]
    return pairing.other.steps[column] if column >= 0 else None


def missing_steps(comparison: Comparison) -> Iterator[Mark]:
    """Steps of the passing runs that the run has nowhere, charged to the step that came in their stead."""
    if not comparison.run.acts:
        return
    weights: dict[tuple[int, Divergence], float] = defaultdict(float)
    instead: dict[tuple[int, Divergence], Instead] = {}
    for position, pairing in enumerate(comparison.pairings):
        for column in pairing.missing:
            if _is_sign_off(pairing.other, column):
                continue
            place = pairing.place_of(column)
            key = (act_at(comparison.run, place), _what_is_missing(pairing, column, place))
            rarity = _rarity(pairing.other.steps[column], pairing.other, comparison.run)
            weights[key] += comparison.weights[position] * rarity * path_trust(comparison)
            instead.setdefault(key, Instead(run=position, step=column))
    for (step, divergence), weight in weights.items():
        yield Mark(step=step, divergence=divergence, weight=weight, instead=instead[step, divergence])


def _what_is_missing(pairing: Pairing, column: int, place: int) -> Divergence:
    step = pairing.other.trajectory.steps[column]
    if is_checker(step.agent) or any(is_checker(call.name) for call in step.tool_calls):
        return Divergence.MISSING_CHECK
    return Divergence.EARLY_END if place > pairing.run.acts[-1] else Divergence.MISSING


def _is_sign_off(run: RunView, column: int) -> bool:
    step = run.trajectory.steps[column]
    return not (says_something(step.content) or step.tool_calls or step.recipient)


def unlike_content(comparison: Comparison) -> Iterator[Mark]:
    """Steps whose words no step that corresponds to them comes near; one passing run that says the same is enough."""
    trust = comparison.agreement * comparison.nearness
    for index in comparison.run.acts:
        found = [
            float(one.content[index, one.partners[index]]) for one in comparison.pairings if one.partners[index] >= 0
        ]
        unlike = trust * (1.0 - max(found, default=1.0))
        if unlike > _LEAST_UNLIKE:
            yield Mark(step=index, divergence=Divergence.CONTENT, weight=unlike)


def path_breaks(comparison: Comparison) -> Iterator[Mark]:
    """How much less like the passing runs the run is from each step on than before it (a scan for a change point)."""
    run, steps = comparison.run, len(comparison.run.steps)
    if steps < 2:
        return
    quality = np.average([one.quality for one in comparison.pairings], axis=0, weights=comparison.weights)
    for index in run.acts:
        before = float(quality[:index].mean()) if index else comparison.agreement
        drop = before - float(quality[index:].mean())
        size = (index + 1) * (steps - index) / (steps + 1) ** 2 * 4  # small samples at either end say little
        if drop > 0:
            yield Mark(step=index, divergence=Divergence.PATH, weight=drop * size**0.5)
