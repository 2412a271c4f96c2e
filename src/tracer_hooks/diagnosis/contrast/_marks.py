"""Marks on steps that differ from the passing runs: in values, in values out of place, and in the path taken."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from tracer_hooks.diagnosis._reading._roles import is_checker
from tracer_hooks.diagnosis._reading._run import says_something
from tracer_hooks.diagnosis.contrast._comparison import SAME_TASK, ContrastedRuns, Pairing, cosine_of_words
from tracer_hooks.diagnosis.contrast._run_view import (
    Claim,
    ClaimKind,
    ComparedStep,
    Occurrence,
    RunView,
    Sightings,
    TokenKind,
    claim_weight,
    customary,
    fit,
    is_rewording,
    parts_of,
)


class DivergenceKind(Enum):
    """How a step differs from what the passing runs did."""

    CLAIM = "claim"
    """It says a value that no passing run has."""
    ARGUMENT = "argument"
    """It calls a tool with a value that no passing run used."""
    MISPLACED = "misplaced"
    """It has a value in a place where the passing runs have another one."""
    ACT = "act"
    """It does something else than the passing runs did in this place: another tool, another hand-off."""
    AGENT = "agent"
    """Another agent acts in this place."""
    EXTRA = "extra"
    """The passing runs have no such step."""
    REPEAT = "repeat"
    """The passing runs have no such step, and it does again what was done."""
    MISSING = "missing"
    """The passing runs did something before or in place of it."""
    MISSING_CHECK = "missing check"
    """The passing runs made a check before or in place of it."""
    EARLY_END = "early end"
    """The passing runs went on after it."""
    CONTENT = "content"
    """Its words are unlike those of the steps that it corresponds to."""


VALUES = (DivergenceKind.CLAIM, DivergenceKind.ARGUMENT)
"""What a step says and what it passes to a tool: one kind of difference when it is weighed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instead:
    """What a passing run did in the place of a step."""

    run: int
    """Which of the compared runs, as a position."""
    step: int
    """Its step."""
    value: str = ""
    """The words that count, when there are any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One difference, charged to one step."""

    step: int
    divergence: DivergenceKind
    weight: float
    """How much it counts, at least 0; about 1 for a clear difference from every passing run."""
    words: str = ""
    """The words of the step that differ."""
    claim: Claim | None = None
    """The claim that they make."""
    instead: Instead | None = None
    """What a passing run did instead."""


_LEAST = 0.05
"""Weights below it are not worth a mark."""
_SUBSTITUTED = 1.5
"""Factor for a value in whose place the passing runs have another one that this run never has."""
_CARRIED, _MOST_CARRIED = 0.25, 3
"""Gain for each later step that takes a value over, and how many of them count."""
_ALREADY_KNOWN = 0.5
"""Factor for an argument whose value was in the run before: only its use is new."""
_FREE_TEXT = 0.2
"""Factor for an argument of several words: models put the same thing in other words."""
_REWORDED = 0.2
"""Factor for a date or time of known numbers in another form."""


def foreign_values(comparison: ContrastedRuns) -> Iterator[Mark]:
    """Values that a step brings in, that nothing before it in the run told it, and that no passing run has."""
    run = comparison.run
    for index in run.acts:
        best: dict[str, Mark] = {}
        for claim, words in run.steps[index].made.items():
            if claim in run.known_before[index]:
                continue
            mark = _foreign_mark(comparison, index, claim, words)
            if mark is not None and (words not in best or best[words].weight < mark.weight):
                best[words] = mark  # the same words may be a number and an argument at once
        yield from best.values()


def _foreign_mark(comparison: ContrastedRuns, index: int, claim: Claim, words: str) -> Mark | None:
    weight = claim_weight(claim) * comparison.foreignness(claim) * comparison.nearness
    if weight < _LEAST:
        return None
    is_argument = claim.kind is ClaimKind.ARGUMENT
    if is_argument:
        weight *= _argument_factor(comparison.run, index, claim)
    instead = _counterpart(comparison, index, claim)
    weight *= _SUBSTITUTED if instead is not None else 1.0
    weight *= 1.0 + _CARRIED * min(_MOST_CARRIED, _taken_over(comparison.run, index, claim))
    weight *= _REWORDED if is_rewording(claim, comparison.run.known_before[index]) else 1.0
    return Mark(
        step=index,
        divergence=DivergenceKind.ARGUMENT if is_argument else DivergenceKind.CLAIM,
        weight=weight,
        words=words,
        claim=claim,
        instead=instead or next((Instead(run=run, step=step) for run, step in comparison.partners_of(index)), None),
    )


def _argument_factor(run: RunView, index: int, claim: Claim) -> float:
    if len(claim.value.split()) > 3:
        return _FREE_TEXT
    values = parts_of([claim]) - {claim}
    return _ALREADY_KNOWN if values and values <= run.known_before[index] else 1.0


def _taken_over(run: RunView, index: int, claim: Claim) -> int:
    """How many later steps have the value too."""
    wanted = {claim, *(parts_of([claim]) if claim.kind is ClaimKind.ARGUMENT else ())}
    return sum(not wanted.isdisjoint(step.made) for step in run.steps[index + 1 :])


def _counterpart(comparison: ContrastedRuns, index: int, claim: Claim) -> Instead | None:
    """The value that the nearest passing run has in this place, and that this run never has."""
    for position, partner in comparison.partners_of(index):
        for other, words in comparison.pairings[position].other.steps[partner].made.items():
            same_place = other.kind is claim.kind and other.slot == claim.slot
            if same_place and other not in comparison.run.known and claim_weight(other) >= claim_weight(claim) / 2:
                return Instead(run=position, step=partner, value=words)
    return None


def act_at(run: RunView, place: int) -> int:
    """The step that a difference in ``place`` is charged to: the act there or the next one, else the last one."""
    return next((index for index in run.acts if index >= place), run.acts[-1])


_UNFIT = 6.0
"""A misfit of this size weighs 1."""
_MARKED = 6
"""Values of one step that get a mark at most; the rest of a list that is out of place would add next to nothing."""
_DERIVED = 0.5
"""Factor for a number that the step computes from others of it."""
_COUNTED, _FACTORS = 40, range(2, 10)
"""How many numbers of a step are tried as terms, and by what they are multiplied."""
_EXACT = 0.005


def misplaced_values(comparison: ContrastedRuns) -> Iterator[Mark]:
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
                usual = customary(one, passing) if more / _UNFIT >= _LEAST else None
                if usual is not None:
                    yield Mark(
                        step=index,
                        divergence=DivergenceKind.MISPLACED,
                        weight=more / _UNFIT,
                        words=one.words,
                        instead=_where(comparison, one, usual),
                    )
            worst |= {key: max(misfit, worst.get(key, 0.0)) for key, (_, misfit) in misfits.items()}
        so_far.add(values.own)


def _misfits(
    own: tuple[Occurrence, ...], runs: Sequence[Sightings]
) -> Mapping[tuple[str, str], tuple[Occurrence, float]]:
    """For each value of a step the place that it fits least, with how little it fits there."""
    forms = dict.fromkeys(one.form for one in own if one.kind is TokenKind.NUMBER)
    numbers = [float(form) for form in forms][:_COUNTED]
    found: dict[tuple[str, str], tuple[Occurrence, float]] = {}
    for one in own:
        misfit = -fit(one, runs)
        if misfit <= 0:
            continue
        if one.kind is TokenKind.NUMBER and _is_derived(float(one.form), numbers):
            misfit *= _DERIVED
        key = (one.kind.value, one.form)
        if key not in found or found[key][1] < misfit:
            found[key] = (one, misfit)
    return found


def _is_derived(value: float, numbers: Sequence[float]) -> bool:
    """Tell whether a number is the sum, the difference or a small multiple of others in its step."""
    others = [number for number in numbers if number != value]
    there = {round(number, 2) for number in others}
    return any(
        round(value - number, 2) in there
        or round(value + number, 2) in there
        or any(abs(number * k - value) < _EXACT or abs(value * k - number) < _EXACT for k in _FACTORS)
        for number in others
    )


def _where(comparison: ContrastedRuns, one: Occurrence, usual: str) -> Instead | None:
    """Where the nearest passing run with the usual value in a like place has it: in the place most like this one."""
    for position in comparison.nearest_first:
        places = comparison.pairings[position].other.own_places.get((one.kind, usual), ())
        step, found = max(places, key=lambda place: len(place[1].around & one.around), default=(0, None))
        if found is not None and found.around & one.around:
            return Instead(run=position, step=step, value=found.words)
    return None


_MAJORITY = 0.5
"""Share of the passing runs above which a difference in the path counts."""
_NEW_ACT, _MORE_OFTEN, _SAME_OFTEN = 1.0, 0.5, 0.2
"""Weight of a step too many or too few, by whether the other side has such acts never, less often, or as often."""
_LEAST_UNLIKE = 0.05
"""Differences in words below it are rounding."""
_REPEATED_FROM = 0.9
"""Similarity of the words from which a step is a repetition of an earlier one."""


def extra_steps(comparison: ContrastedRuns) -> Iterator[Mark]:
    """Acts that most of the passing runs do not have, in this place or any other."""
    run = comparison.run
    for index in run.acts:
        step = run.steps[index]
        alone = (one.partners[index] < 0 for one in comparison.pairings)
        share = sum(itertools.compress(comparison.weights, alone))
        if share <= _MAJORITY or step.is_empty:
            continue
        rarity = max(_rarity(step, run, one.other) for one in comparison.pairings)
        repeats = _repeats(run, index)
        yield Mark(
            step=index,
            divergence=DivergenceKind.REPEAT if repeats else DivergenceKind.EXTRA,
            weight=share * share * (_NEW_ACT if repeats else rarity) * comparison.path_trust,
        )


def _rarity(step: ComparedStep, here: RunView, there: RunView) -> float:
    """How unusual an act of ``here`` is in ``there``."""
    count = there.act_counts[step.act]
    if not count:
        return _NEW_ACT
    return _MORE_OFTEN if count < here.act_counts[step.act] else _SAME_OFTEN


def _repeats(run: RunView, index: int) -> bool:
    """Tell whether an earlier step did the same."""
    step = run.steps[index]
    return bool(step.terms) and any(
        earlier.act == step.act and cosine_of_words(step.terms, earlier.terms) >= _REPEATED_FROM
        for earlier in run.steps[:index]
    )


def changed_acts(comparison: ContrastedRuns) -> Iterator[Mark]:
    """Steps in whose place most passing runs call another tool, hand off to another, or let another agent act."""
    run = comparison.run
    for index in run.acts:
        step = run.steps[index]
        agent = act = 0.0
        instead: Instead | None = None
        for position, partner in comparison.partners_of(index):
            other = comparison.pairings[position].other.steps[partner]
            if other.act == step.act:
                continue
            instead = instead or Instead(run=position, step=partner)
            if other.act.agent != step.act.agent:
                agent += comparison.weights[position]
            else:
                act += comparison.weights[position]
        if max(agent, act) <= _MAJORITY:
            continue
        rarity = max(_rarity(step, run, one.other) for one in comparison.pairings)
        yield Mark(
            step=index,
            divergence=DivergenceKind.AGENT if agent > _MAJORITY else DivergenceKind.ACT,
            weight=max(agent, act) ** 2 * rarity * comparison.path_trust,
            instead=instead,
        )


def missing_steps(comparison: ContrastedRuns) -> Iterator[Mark]:
    """Steps of the passing runs that the run has nowhere, charged to the step that came in their stead."""
    if not comparison.run.acts:
        return
    weights: dict[tuple[int, DivergenceKind], float] = defaultdict(float)
    instead: dict[tuple[int, DivergenceKind], Instead] = {}
    for position, pairing in enumerate(comparison.pairings):
        for column in pairing.missing:
            step = pairing.other.trajectory.steps[column]
            if not (says_something(step.content) or step.tool_calls or step.recipient):
                continue  # it only signs off
            place = pairing.place_of(column)
            key = (act_at(comparison.run, place), _what_is_missing(pairing, column, place))
            rarity = _rarity(pairing.other.steps[column], pairing.other, comparison.run)
            weights[key] += comparison.weights[position] * rarity * comparison.path_trust
            instead.setdefault(key, Instead(run=position, step=column))
    for key, weight in weights.items():
        yield Mark(step=key[0], divergence=key[1], weight=weight, instead=instead[key])


def _what_is_missing(pairing: Pairing, column: int, place: int) -> DivergenceKind:
    step = pairing.other.trajectory.steps[column]
    if is_checker(step.agent) or any(is_checker(call.name) for call in step.tool_calls):
        return DivergenceKind.MISSING_CHECK
    return DivergenceKind.EARLY_END if place > pairing.run.acts[-1] else DivergenceKind.MISSING


def unlike_content(comparison: ContrastedRuns) -> Iterator[Mark]:
    """Steps whose words no step that corresponds to them comes near; one passing run that says the same is enough."""
    trust = comparison.agreement * comparison.nearness
    for index in comparison.run.acts:
        partners = comparison.partners_of(index)
        found = [float(comparison.pairings[run].content[index, partner]) for run, partner in partners]
        unlike = trust * (1.0 - max(found, default=1.0))
        if unlike > _LEAST_UNLIKE:
            yield Mark(step=index, divergence=DivergenceKind.CONTENT, weight=unlike)
