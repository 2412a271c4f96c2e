"""Way of the wrong value through a run, from the step that is blamed for it to the final answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from itertools import groupby
from typing import NamedTuple

from tracer_hooks.schema import Attribution, Trajectory, ValueLink, ValueOrigin


class WayStop(NamedTuple):
    """A step on the way of a value, with what it did to the value."""

    step: int
    agent: str
    words: str


class ValueWay(NamedTuple):
    """How a value reached the final answer."""

    value: str = ""
    stops: tuple[WayStop, ...] = ()
    is_blamed: bool = False
    """The diagnosis blames the first step for it."""

    @property
    def passed_on(self) -> tuple[int, ...]:
        """The steps that passed a blamed value on."""
        return tuple(stop.step for stop in self.stops[1:]) if self.is_blamed else ()


def value_way(attribution: Attribution, trajectory: Trajectory) -> ValueWay:
    """How the rejected answer came about: the way of the blamed value, else that of the answer's only value.

    Where no value can be followed, it is the blamed step alone, if the answer rests on what was found there.
    """
    links, step = attribution.provenance, attribution.step
    if attribution.certainty is None or step is None:
        return ValueWay()
    last = max((link.step for link in links), default=None)
    blamed = [each for each in attribution.findings if each.step == step]
    if attribution.certainty != "weak":
        first = WayStop(step, attribution.agent or "", "")
        own = attribution.blamed_values
        carried = _carried(own, links)
        if any(link.step == last for link in links if link.value in carried):
            after = [link for link in links if link.step > step and link.value in carried]
            return ValueWay(min(own) if len(own) == 1 else "", (first, *_stops(after, own, trajectory)), is_blamed=True)
    reaching = {link.value for link in links if link.step == last}
    if len(reaching) == 1 and min(reaching) in (trajectory.final_output or ""):
        same = [link for link in links if link.value in reaching]
        return ValueWay(min(reaching), tuple(_stops(same, reaching, trajectory)))
    if attribution.certainty != "weak" and any(each.leads_to_answer for each in blamed):
        return ValueWay("", (first,), is_blamed=True)
    return ValueWay()


def _carried(own: Set[str], links: Sequence[ValueLink]) -> set[str]:
    """The values themselves, and what was worked out from them."""
    carried: set[str] = set()
    more = set(own)
    while more:
        carried |= more
        more = {link.value for link in links if carried & set(link.operands)} - carried
    return carried


def _stops(links: Sequence[ValueLink], own: Set[str], trajectory: Trajectory) -> Iterator[WayStop]:
    ordered = sorted(links, key=lambda link: link.step)
    for step, group in groupby(ordered, key=lambda link: link.step):
        acted = trajectory.steps[step] if step < len(trajectory.steps) else None
        later = {link.value for link in ordered if link.step > step}
        words = _words(list(group), own, later, "" if acted is None else acted.content)
        yield WayStop(step, "" if acted is None else acted.agent, words)


def _words(links: Sequence[ValueLink], own: Set[str], later: Set[str], said: str) -> str:
    """What a step did: of several values the one that goes on counts."""
    link = next((each for each in links if each.value not in own and (not later or each.value in later)), links[0])
    if link.origin is ValueOrigin.CONTRADICTING and link.note:
        return link.note
    if link.origin is ValueOrigin.OBSERVED and link.note.startswith(_RETURNED):
        return f"had it from {link.note.removeprefix(_RETURNED)}"
    if link.value not in own and not re.search(rf"(?<![\w:.,]){re.escape(link.value)}(?!\w|[:.,]\d)", said):
        return "went on with it"  # a part of a value, such as the minutes of a time
    return _ORIGINS[link.origin].format("it" if link.value in own else repr(link.value))


_ORIGINS = {
    ValueOrigin.GIVEN: "was given {}",
    ValueOrigin.OBSERVED: "had {} from a tool",
    ValueOrigin.COPIED: "took {} over",
    ValueOrigin.DERIVED: "worked {} out",
    ValueOrigin.CONTRADICTING: "says otherwise than it was shown",
    ValueOrigin.DROPPED: "left {} out",
    ValueOrigin.UNSUPPORTED: "is the first to say {}",
}
_RETURNED = "returned by "  # as provenance notes it
