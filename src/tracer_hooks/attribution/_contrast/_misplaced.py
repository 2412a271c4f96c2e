"""Values that stand where the passing runs have another one: a date of another flight, the price of another line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tracer_hooks.attribution._contrast._comparison import Comparison
from tracer_hooks.attribution._contrast._customs import Sightings, customary, fit
from tracer_hooks.attribution._contrast._marks import Divergence, Instead, Mark
from tracer_hooks.attribution._contrast._neighbours import SAME_TASK
from tracer_hooks.attribution._contrast._occurrences import Occurrence
from tracer_hooks.attribution._contrast._run_view import RunView
from tracer_hooks.attribution._contrast._typed_tokens import TokenKind

_UNFIT = 6.0
"""A misfit of this size weighs 1."""
_LEAST = 0.05
"""Weights below it are not worth a mark."""
_MARKED = 6
"""Values of one step that get a mark at most; the rest of a list that is out of place would add next to nothing."""
_DERIVED, _SHORT = 0.5, 0.7
"""Factors for a number that the step computes from others of it, and for one of two digits."""
_COUNTED, _FACTORS = 40, range(2, 10)
"""How many numbers of a step are tried as terms, and by what they are multiplied."""
_EXACT = 0.005


def misplaced_values(comparison: Comparison) -> Iterator[Mark]:
    """Values that do not fit their place, at the step that first puts them there.

    What fits is learned from the passing runs of the same task, since runs of another one have other values in the same
    places, and from what this run knew before the step. What an earlier step had wrong by as much or more is not held
    against a later one.
    """
    run, so_far = comparison.run, Sightings()
    pairs = zip(comparison.pairings, comparison.closeness, strict=True)
    passing = [pairing.other.sightings for pairing, closeness in pairs if closeness >= SAME_TASK]
    so_far.add(run.given_values)
    worst: dict[tuple[str, str], float] = {}
    acts = set(run.acts) if passing else set()
    for index, values in enumerate(run.values):
        so_far.add(values.outside)
        if index in acts:
            misfits = _misfits(values.own, [*passing, so_far])
            news = [(misfit - worst.get(key, 0.0), one) for key, (one, misfit) in misfits.items()]
            for more, one in sorted(news, key=lambda found: -found[0])[:_MARKED]:
                mark = _mark(comparison, index, one, more / _UNFIT, passing) if more / _UNFIT >= _LEAST else None
                if mark is not None:
                    yield mark
            worst |= {key: max(misfit, worst.get(key, 0.0)) for key, (_, misfit) in misfits.items()}
        so_far.add(values.own)


def _mark(
    comparison: Comparison, index: int, one: Occurrence, weight: float, passing: Sequence[Sightings]
) -> Mark | None:
    if _is_said_there(comparison, one):
        return None
    usual = customary(one, passing)
    if usual is None:
        return None
    instead = _where(comparison, one, usual)
    return Mark(step=index, divergence=Divergence.MISPLACED, weight=weight, words=one.words, instead=instead)


def _is_said_there(comparison: Comparison, one: Occurrence) -> bool:
    """Whether a passing run has this very value among the same words."""
    return any(
        one.around <= place.around
        for pairing in comparison.pairings
        for _, place in pairing.other.own_places.get((one.kind, one.form), ())
    )


def _misfits(
    own: tuple[Occurrence, ...], runs: Sequence[Sightings]
) -> Mapping[tuple[str, str], tuple[Occurrence, float]]:
    """For each value of a step the place that it fits least, with how little it fits there."""
    numbers = _numbers(own)
    found: dict[tuple[str, str], tuple[Occurrence, float]] = {}
    for one in own:
        misfit = -fit(one, runs)
        if misfit <= 0:
            continue
        if one.kind is TokenKind.NUMBER:
            misfit *= _SHORT if len(one.form) == 2 else 1.0
            misfit *= _DERIVED if _is_derived(float(one.form), numbers) else 1.0
        key = (one.kind.value, one.form)
        if key not in found or found[key][1] < misfit:
            found[key] = (one, misfit)
    return found


def _numbers(own: tuple[Occurrence, ...]) -> tuple[float, ...]:
    forms = dict.fromkeys(one.form for one in own if one.kind is TokenKind.NUMBER)
    return tuple(float(form) for form in forms)[:_COUNTED]


def _is_derived(value: float, numbers: tuple[float, ...]) -> bool:
    """Whether a number is the sum, the difference or a small multiple of others in its step."""
    others = [number for number in numbers if number != value]
    there = {round(number, 2) for number in others}
    return any(
        round(value - number, 2) in there
        or round(value + number, 2) in there
        or any(abs(number * k - value) < _EXACT or abs(value * k - number) < _EXACT for k in _FACTORS)
        for number in others
    )


def _where(comparison: Comparison, one: Occurrence, usual: str) -> Instead | None:
    """Where the nearest passing run that has the usual value there has it."""
    ranked = sorted(range(len(comparison.pairings)), key=lambda position: -comparison.weights[position])
    for position in ranked:
        found = _nearest_place(comparison.pairings[position].other, one, usual)
        if found is not None:
            return Instead(run=position, step=found[0], value=found[1])
    return None


def _nearest_place(run: RunView, one: Occurrence, usual: str) -> tuple[int, str] | None:
    """Where the run has the value in the place most like this one."""
    places = run.own_places.get((one.kind, usual), ())
    shared = [len(other.around & one.around) for _, other in places]
    most = max(shared, default=0)
    if not most:
        return None
    index, other = places[shared.index(most)]
    return index, other.words
