"""Values that the passing runs do not have, at the step that first brought them in, and values that only they have."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from tracer_hooks.attribution._contrast._claims import Claim, ClaimKind, claim_weight, is_rewording, parts_of
from tracer_hooks.attribution._contrast._comparison import Comparison
from tracer_hooks.attribution._contrast._marks import Divergence, Instead, Mark
from tracer_hooks.attribution._contrast._run_view import RunView, StepView, value_claims
from tracer_hooks.attribution._reading._roles import Role

_LEAST = 0.05
"""Weights below it are not worth a mark."""
_SUBSTITUTED = 1.5
"""Factor for a value in whose place the passing runs have another one that this run never has."""
_CARRIED, _MOST_CARRIED = 0.25, 3
"""Gain for each later step that takes a value over, and how many of them count."""
_RECEIVED = 0.5
"""Factor for a value that a tool gave back although it was asked what the passing runs asked."""
_ALREADY_KNOWN = 0.5
"""Factor for an argument whose value was in the run before: only its use is new."""
_FREE_TEXT = 0.2
"""Factor for an argument of several words: models put the same thing in other words."""
_REWORDED = 0.2
"""Factor for a date or time of known numbers in another form."""
_CONSENSUS = 0.6
"""Share of the passing runs that must say a value for its absence to count."""
_VALUES = (ClaimKind.NUMBER, ClaimKind.CODE, ClaimKind.ARGUMENT)


def foreign_values(comparison: Comparison) -> Iterator[Mark]:
    """Values that a step brings in, that nothing before it in the run told it, and that no passing run has."""
    run = comparison.run
    for index in run.acts:
        best: dict[str, Mark] = {}
        for claim, words in value_claims(run.steps[index]):
            if claim in run.known_before[index]:
                continue
            mark = _foreign_mark(comparison, index, claim, words)
            if mark is not None and (words not in best or best[words].weight < mark.weight):
                best[words] = mark  # the same words may be a number and an argument at once
        yield from best.values()


def _foreign_mark(comparison: Comparison, index: int, claim: Claim, words: str) -> Mark | None:
    weight = claim_weight(claim) * comparison.foreignness(claim) * comparison.nearness
    if weight < _LEAST:
        return None
    is_argument = claim.kind is ClaimKind.ARGUMENT
    if is_argument:
        weight *= _argument_factor(comparison.run, index, claim)
    instead = _counterpart(comparison, index, claim)
    weight *= _SUBSTITUTED if instead is not None else 1.0
    weight *= _REWORDED if is_rewording(claim, comparison.run.known_before[index]) else 1.0
    weight *= 1.0 + _CARRIED * min(_MOST_CARRIED, _taken_over(comparison.run, index, claim))
    return Mark(
        step=index,
        divergence=Divergence.ARGUMENT if is_argument else Divergence.CLAIM,
        weight=weight,
        words=words,
        claim=claim,
        instead=instead or _beside(comparison, index),
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


def _counterpart(comparison: Comparison, index: int, claim: Claim) -> Instead | None:
    """The value that the nearest passing run has in this place, and that this run never has."""
    ranked = sorted(range(len(comparison.pairings)), key=lambda one: -comparison.weights[one])
    for position in ranked:
        pairing = comparison.pairings[position]
        partner = pairing.partners[index]
        if partner < 0:
            continue
        for other, words in value_claims(pairing.other.steps[partner]):
            same_place = other.kind is claim.kind and other.slot == claim.slot
            if same_place and other not in comparison.run.known and claim_weight(other) >= claim_weight(claim) / 2:
                return Instead(run=position, step=partner, value=words)
    return None


def _beside(comparison: Comparison, index: int) -> Instead | None:
    """The step that stands beside this one in the nearest passing run that has one."""
    ranked = sorted(range(len(comparison.pairings)), key=lambda one: -comparison.weights[one])
    for position in ranked:
        partner = comparison.pairings[position].partners[index]
        if partner >= 0:
            return Instead(run=position, step=partner)
    return None


def foreign_results(comparison: Comparison) -> Iterator[Mark]:
    """What tools and reporters gave back that no passing run was given, charged to the act that asked for it."""
    run, asked = comparison.run, None
    for step in run.steps:
        if step.role is Role.PERSON:
            continue
        asked = step.index if step.role is Role.AGENT else asked
        if asked is None or _asks_otherwise(comparison, run.steps[asked]):
            continue
        strongest = _strongest_received(comparison, step)
        if strongest is not None:
            claim, words, weight = strongest
            yield Mark(
                step=asked,
                divergence=Divergence.RESULT,
                weight=_RECEIVED * weight,
                words=words if step.index == asked else "",
                claim=claim,
                instead=_beside(comparison, asked),
            )


def _asks_otherwise(comparison: Comparison, step: StepView) -> bool:
    """Whether the step's own values are foreign, which explains that of what came back."""
    return any(
        comparison.foreignness(claim) > _CONSENSUS
        for claim, _ in value_claims(step)
        if claim not in comparison.run.known_before[step.index]
    )


def _strongest_received(comparison: Comparison, step: StepView) -> tuple[Claim, str, float] | None:
    before = comparison.run.known_before[step.index]
    weighed = [
        (claim, words, claim_weight(claim) * comparison.foreignness(claim) * comparison.nearness)
        for claim, words in step.received.items()
        if claim not in before and claim.kind in _VALUES
    ]
    best = max(weighed, key=lambda one: one[2], default=None)
    return best if best is not None and best[2] >= _LEAST else None


def missing_values(comparison: Comparison) -> Iterator[Mark]:
    """Values that most passing runs say and this run never does, charged to the place where they should stand."""
    run = comparison.run
    if not run.acts:
        return
    place = lru_cache(maxsize=None)(lambda position, column: comparison.pairings[position].place_of(column))
    for claim, said in _consensus(comparison).items():
        share = sum(comparison.weights[position] for position, _, _ in said)
        if share < _CONSENSUS:
            continue
        position, column, words = max(said, key=lambda one: comparison.weights[one[0]])
        yield Mark(
            step=act_at(run, place(position, column)),
            divergence=Divergence.MISSING_CLAIM,
            weight=claim_weight(claim) * share * comparison.nearness,
            instead=Instead(run=position, step=column, value=words),
        )


def _consensus(comparison: Comparison) -> dict[Claim, list[tuple[int, int, str]]]:
    """For each value that the run lacks, which of the passing runs say it first, in which step and words."""
    said: dict[Claim, list[tuple[int, int, str]]] = {}
    for position, pairing in enumerate(comparison.pairings):
        for column in pairing.other.acts:
            before = pairing.other.known_before[column]
            for claim, words in value_claims(pairing.other.steps[column]):
                if claim.kind in _VALUES and claim not in comparison.run.known and claim not in before:
                    found = said.setdefault(claim, [])
                    if not found or found[-1][0] != position:
                        found.append((position, column, words))
    return said


def act_at(run: RunView, place: int) -> int:
    """The step that a difference in ``place`` is charged to: the act there or the next one, else the last one."""
    return next((index for index in run.acts if index >= place), run.acts[-1])
