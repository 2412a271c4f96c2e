"""Which values of a diagnosis belong together, and what is said of each stretch of their way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from tracer_hooks.report._wording import one_line
from tracer_hooks.schema import Attribution, ValueLink, ValueOrigin

VALUE_LONGEST = 60
_NOTE_LONGEST = 300

ORIGINS = {
    ValueOrigin.GIVEN: "given",
    ValueOrigin.OBSERVED: "returned by a tool",
    ValueOrigin.COPIED: "copied",
    ValueOrigin.DERIVED: "worked out",
    ValueOrigin.CONTRADICTING: "contradicting",
    ValueOrigin.DROPPED: "left out",
    ValueOrigin.UNSUPPORTED: "unsupported",
}


@dataclass(frozen=True)
class Words:
    """A piece of a sentence; a step is shown as a link to it."""

    text: str
    step: int | None = None


@dataclass(frozen=True)
class Way:
    """One value with its links, in order of the steps."""

    value: str
    links: tuple[ValueLink, ...]
    matters: bool
    """Whether it goes wrong in the named step, or was worked out from a value that does.

    Where none does: whether it is the value of the named step that went farthest, or what that was worked out from.
    """


def ways_of(attribution: Attribution) -> list[Way]:
    """The values of a diagnosis: first those that the named step got wrong and what rests on them."""
    links: dict[str, list[ValueLink]] = {}
    for one in attribution.provenance:
        links.setdefault(one.value, []).append(one)
    wrong = [value for value, those in links.items() if any(_is_decisive(one, attribution) for one in those)]
    resting = [value for value, those in links.items() if any(_rests_on(one, wrong) for one in those)]
    departing = [value for value, those in links.items() if any(one.origin.is_departure for one in those)]
    latest = sorted(links, key=lambda value: -max(one.step for one in links[value]))
    named = [value for value in latest if any(one.step == attribution.step for one in links[value])]
    order = dict.fromkeys([*wrong, *resting, *named, *departing, *latest])
    first = {*wrong, *resting}
    if not first:
        top = list(order)[:1]
        operands = {part for value in top for one in links[value] for part in _operands_of(one)}
        first = {*top, *(value for value in links if value in operands)}
        order = dict.fromkeys([*top, *(value for value in links if value in first), *order])
    return [
        Way(value, tuple(sorted(links[value], key=lambda one: (one.step, one.source or 0))), value in first)
        for value in order
    ]


def _is_decisive(link: ValueLink, attribution: Attribution) -> bool:
    return link.origin.is_departure and link.step == attribution.step


def _rests_on(link: ValueLink, values: Sequence[str]) -> bool:
    """Whether it was worked out from one of the values, or is what a tool returned for one."""
    if link.origin is ValueOrigin.DERIVED:
        return not _operands_of(link).isdisjoint(values)
    return link.origin is ValueOrigin.OBSERVED and link.note.endswith(tuple(f" for {value}" for value in values))


def _operands_of(link: ValueLink) -> set[str]:
    """What a derived value was worked out from."""
    return set(link.note.removeprefix("from ").split(" and ")) if link.origin is ValueOrigin.DERIVED else set()


def told_of(way: Way, step: int | None = None) -> Iterator[tuple[ValueLink, tuple[Words, ...]]]:
    """What is said of a value, at each of its steps or at one: a link of each origin, and the words."""
    links = [one for one in way.links if step is None or one.step == step]
    order = list(ORIGINS)
    links.sort(key=lambda one: (one.step, order.index(one.origin)))
    for _, those in groupby(links, key=lambda one: (one.step, one.origin)):
        same = list(those)
        yield same[0], words_of(same)


def words_of(links: Sequence[ValueLink]) -> tuple[Words, ...]:
    """What is said of a value at one step; ``links`` are all of one value, step and origin."""
    return tuple(_words(links))


def _words(links: Sequence[ValueLink]) -> Iterator[Words]:
    first = links[0]
    note = one_line(first.note, _NOTE_LONGEST)
    if first.origin is ValueOrigin.GIVEN:
        yield Words("given with the task")
    elif first.origin is ValueOrigin.OBSERVED:
        yield Words(note or ORIGINS[first.origin])
    elif first.origin is ValueOrigin.COPIED:
        yield Words("copied from ")
        yield Words("", first.source)
    elif first.origin is ValueOrigin.DERIVED:
        yield Words("worked out")
        for place, one in enumerate(links):
            yield from _operands(one, first=place == 0)
    else:
        yield Words(note or ORIGINS[first.origin])
        told = [one.source for one in links if one.source is not None and f"step {one.source}" not in note]
        for place, source in enumerate(told):
            yield Words(" and " if place else ", with values of ")
            yield Words("", source)


def _operands(link: ValueLink, *, first: bool) -> Iterator[Words]:
    """Of which values, with the step where they come from."""
    operands = one_line(link.note.removeprefix("from "), _NOTE_LONGEST)
    if not operands and link.source is None:
        return
    yield Words(f"{' from' if first else ' and'} {operands}")
    if link.source is not None:
        yield Words(" of " if operands else "")
        yield Words("", link.source)
