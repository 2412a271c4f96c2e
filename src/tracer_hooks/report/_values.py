"""Paths of values through a run: where each came from, as text and as a graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import groupby

from tracer_hooks.report._steps import colours_of
from tracer_hooks.report._wording import View, one_line
from tracer_hooks.schema import Attribution, Trajectory, ValueLink, ValueOrigin

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
class TextSpan:
    """A piece of a sentence; a step is shown as a link to it."""

    text: str
    step: int | None = None


@dataclass(frozen=True)
class ValuePath:
    """One value with its links, in order of the steps."""

    value: str
    links: tuple[ValueLink, ...]
    matters: bool
    """Whether it goes wrong in the named step, or was worked out from a value that does.

    Where none does: whether it is the value of the named step that went farthest, or what that was worked out from.
    """


def value_paths(attribution: Attribution) -> list[ValuePath]:
    """The values of a diagnosis: first those that the named step got wrong and what rests on them."""
    links: dict[str, list[ValueLink]] = {}
    for link in attribution.provenance:
        links.setdefault(link.value, []).append(link)
    departures = {value: {link.step for link in links[value] if link.origin.is_departure} for value in links}
    wrong = [value for value in links if attribution.step in departures[value]]
    resting = [value for value in links if any(_rests_on(link, wrong) for link in links[value])]
    departing = [value for value in links if departures[value]]
    latest = sorted(links, key=lambda value: -max(link.step for link in links[value]))
    named = [value for value in latest if any(link.step == attribution.step for link in links[value])]
    order = dict.fromkeys([*wrong, *resting, *named, *departing, *latest])
    first = {*wrong, *resting}
    if not first:
        top = list(order)[:1]
        operands = {part for value in top for one in links[value] for part in _operands_of(one)}
        first = {*top, *(value for value in links if value in operands)}
        order = dict.fromkeys([*top, *(value for value in links if value in first), *order])
    return [
        ValuePath(value, tuple(sorted(links[value], key=lambda one: (one.step, one.source or 0))), value in first)
        for value in order
    ]


def _rests_on(link: ValueLink, values: Sequence[str]) -> bool:
    """Tell whether it was worked out from one of the values, or is what a tool returned for one."""
    if link.origin is ValueOrigin.DERIVED:
        return not _operands_of(link).isdisjoint(values)
    return link.origin is ValueOrigin.OBSERVED and link.note.endswith(tuple(f" for {value}" for value in values))


def _operands_of(link: ValueLink) -> set[str]:
    """Return what a derived value was worked out from."""
    return set(link.note.removeprefix("from ").split(" and ")) if link.origin is ValueOrigin.DERIVED else set()


def describe(way: ValuePath, step: int | None = None) -> Iterator[tuple[ValueLink, tuple[TextSpan, ...]]]:
    """Return what is said of a value, at each of its steps or at one: a link of each origin, and the words."""
    links = [one for one in way.links if step is None or one.step == step]
    order = list(ORIGINS)
    links.sort(key=lambda one: (one.step, order.index(one.origin)))
    for _, group in groupby(links, key=lambda link: (link.step, link.origin)):
        same = list(group)
        yield same[0], tuple(_words(same))


def _words(links: Sequence[ValueLink]) -> Iterator[TextSpan]:
    """Return what is said of a value at one step; ``links`` are all of one value, step and origin."""
    first = links[0]
    note = one_line(first.note, _NOTE_LONGEST)
    if first.origin is ValueOrigin.GIVEN:
        yield TextSpan("given with the task")
    elif first.origin is ValueOrigin.OBSERVED:
        yield TextSpan(note or ORIGINS[first.origin])
    elif first.origin is ValueOrigin.COPIED:
        yield TextSpan("copied from ")
        yield TextSpan("", first.source)
    elif first.origin is ValueOrigin.DERIVED:
        yield TextSpan("worked out")
        for place, one in enumerate(links):
            yield from _operands(one, first=place == 0)
    else:
        yield TextSpan(note or ORIGINS[first.origin])
        told = [one.source for one in links if one.source is not None and f"step {one.source}" not in note]
        for place, source in enumerate(told):
            yield TextSpan(" and " if place else ", with values of ")
            yield TextSpan("", source)


def _operands(link: ValueLink, *, first: bool) -> Iterator[TextSpan]:
    """Of which values, with the step where they come from."""
    operands = one_line(link.note.removeprefix("from "), _NOTE_LONGEST)
    if not operands and link.source is None:
        return
    yield TextSpan(f"{' from' if first else ' and'} {operands}")
    if link.source is not None:
        yield TextSpan(" of " if operands else "")
        yield TextSpan("", link.source)


_COLUMNS = 3
"""Values that share one graph, so that it fits a phone."""
_TASK = -1
"""Stands for the task among the steps: it comes before all of them."""
_FROM_TASK = frozenset({ValueOrigin.GIVEN, ValueOrigin.DROPPED})


def values_view(trajectory: Trajectory, attribution: Attribution | None, shown: Set[int]) -> View | None:
    """The ways of a diagnosis' values; None when it has none."""
    if attribution is None:
        return None
    last = len(trajectory.steps)
    ways = [
        way
        for way in value_paths(attribution)
        if all(one.step < last and (one.source or 0) < last for one in way.links)
    ]
    if not ways:
        return None
    others = [way for way in ways if not way.matters]
    origins = {one.origin for way in ways if way.matters for one in way.links}
    return dict(
        main=tuple(_graphs(trajectory, attribution, [way for way in ways if way.matters], shown)),
        others=tuple(_graphs(trajectory, attribution, others, shown)),
        other_count=len(others),
        legend=tuple((origin.value, word) for origin, word in ORIGINS.items() if origin in origins),
        shown=shown,
    )


def _graphs(
    trajectory: Trajectory, attribution: Attribution, ways: Sequence[ValuePath], shown: Set[int]
) -> Iterator[View]:
    for start in range(0, len(ways), _COLUMNS):
        some = ways[start : start + _COLUMNS]
        stretches = [[_stretch(link, way) for link in way.links] for way in some]
        steps = sorted({step for each in stretches for one in each for step in (one.begin, one.end)})
        rows = tuple(
            _value_row(trajectory, attribution, some, tuple(_cell(each, step) for each in stretches), step, shown)
            for step in steps
        )
        yield dict(names=[one_line(way.value, VALUE_LONGEST) for way in some], rows=rows)


@dataclass(frozen=True)
class _TextStretch:
    """From one row to another; both are the same where a value comes from no row."""

    begin: int
    end: int
    style: str
    origin: ValueOrigin
    title: str


def _stretch(link: ValueLink, way: ValuePath) -> _TextStretch:
    departed = min((other.step for other in way.links if other.origin.is_departure), default=None)
    source = link.source
    if source is None:
        source = _TASK if link.origin in _FROM_TASK else link.step
    begin = min(source, link.step)
    style = link.origin.value
    if departed is not None and link.origin is ValueOrigin.COPIED and link.step > departed:
        style = "wrong"
    where = "the task" if begin == _TASK else f"step {begin}"
    origin = "" if begin == link.step else f" from {where}"
    title = f"{one_line(link.value, VALUE_LONGEST)}: {ORIGINS[link.origin]}{origin}, step {link.step}"
    return _TextStretch(begin, link.step, style, link.origin, title)


def _cell(stretches: Sequence[_TextStretch], step: int) -> View:
    ending = [one for one in stretches if one.end == step]
    into = [one for one in stretches if one.begin < step <= one.end]
    out = [one for one in stretches if one.begin <= step < one.end]
    node = ""
    if ending:
        node = max(ending, key=lambda one: one.origin.is_departure).origin.value
    elif any(one.begin == step for one in stretches):
        node = "source"
    title = "; ".join(dict.fromkeys(one.title for one in [*ending, *into, *out]))
    return dict(
        before=into[-1].style if into else "",
        after=out[-1].style if out else "",
        node=node,
        arrives=any(one.begin < step for one in ending),
        title=title,
    )


def _value_row(
    trajectory: Trajectory,
    attribution: Attribution,
    ways: Sequence[ValuePath],
    cells: tuple[View, ...],
    step: int,
    shown: Set[int],
) -> View:
    if step == _TASK:
        return dict(step=None, agent="The task", colour=0, linked=False, focus="", cells=cells, lines=())
    agent = trajectory.steps[step].agent
    focus = ""
    if step == attribution.step and attribution.certainty is not None:
        focus = "start" if attribution.certainty == "weak" else "decisive"
    return dict(
        step=step,
        agent=one_line(agent, 60),
        colour=colours_of(trajectory)[agent],
        linked=step in shown,
        focus=focus,
        cells=cells,
        lines=[
            dict(
                value=one_line(way.value, VALUE_LONGEST),
                departs=link.origin.is_departure,
                word=ORIGINS[link.origin],
                words=words,
            )
            for way in ways
            for link, words in describe(way, step)
        ],
    )
