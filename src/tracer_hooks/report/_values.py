"""The arrows between the steps that a value went through, as rows of steps beside a column for each value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from tracer_hooks.report._timeline import colours_of
from tracer_hooks.report._ways import ORIGINS, VALUE_LONGEST, Way, Words, told_of, ways_of
from tracer_hooks.report._wording import one_line
from tracer_hooks.schema import Attribution, Trajectory, ValueLink, ValueOrigin

_COLUMNS = 3
"""Values that share one graph, so that it fits a phone."""
_TASK = -1
"""Stands for the task among the steps: it comes before all of them."""
_FROM_TASK = frozenset({ValueOrigin.GIVEN, ValueOrigin.DROPPED})


@dataclass(frozen=True)
class Cell:
    """What one row shows in the column of one value."""

    before: str = ""
    """Style of the line that comes from above; empty where there is none."""
    after: str = ""
    """Style of the line that goes on below."""
    node: str = ""
    """The origin that is marked here, ``source`` for a step that only hands the value on, or empty."""
    arrives: bool = False
    """Whether an arrow from above ends here."""
    title: str = ""
    """The same in words."""


@dataclass(frozen=True)
class Line:
    """What a row says of one value."""

    value: str
    departs: bool
    word: str
    words: tuple[Words, ...]


@dataclass(frozen=True)
class Row:
    """One step, or the task."""

    step: int | None
    """None for the task."""
    agent: str
    colour: int
    linked: bool
    focus: str
    """``decisive``, ``start`` or empty."""
    cells: tuple[Cell, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Graph:
    """A few values with the steps that they went through."""

    values: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class ValuesView:
    """Everything that the template shows."""

    main: tuple[Graph, ...]
    """The values that matter most."""
    others: tuple[Graph, ...]
    other_count: int
    legend: tuple[tuple[str, str], ...]
    """The origins that are marked in ``main``, with their words."""
    shown: Set[int]
    """Steps that the page has."""


def values_view(trajectory: Trajectory, attribution: Attribution | None, shown: Set[int]) -> ValuesView | None:
    """The ways of a diagnosis' values; None when it has none."""
    if attribution is None:
        return None
    last = len(trajectory.steps)
    ways = [
        way for way in ways_of(attribution) if all(one.step < last and (one.source or 0) < last for one in way.links)
    ]
    if not ways:
        return None
    others = [way for way in ways if not way.matters]
    origins = {one.origin for way in ways if way.matters for one in way.links}
    return ValuesView(
        main=tuple(_graphs(trajectory, attribution, [way for way in ways if way.matters], shown)),
        others=tuple(_graphs(trajectory, attribution, others, shown)),
        other_count=len(others),
        legend=tuple((origin.value, word) for origin, word in ORIGINS.items() if origin in origins),
        shown=shown,
    )


def _graphs(trajectory: Trajectory, attribution: Attribution, ways: Sequence[Way], shown: Set[int]) -> Iterator[Graph]:
    for start in range(0, len(ways), _COLUMNS):
        some = ways[start : start + _COLUMNS]
        stretches = [_stretches(way) for way in some]
        steps = sorted({step for each in stretches for one in each for step in (one.begin, one.end)})
        rows = tuple(
            _row(trajectory, attribution, some, tuple(_cell(each, step) for each in stretches), step, shown)
            for step in steps
        )
        yield Graph(tuple(one_line(way.value, VALUE_LONGEST) for way in some), rows)


@dataclass(frozen=True)
class _Stretch:
    """From one row to another; both are the same where a value comes from no row."""

    begin: int
    end: int
    style: str
    origin: ValueOrigin
    title: str


def _stretches(way: Way) -> list[_Stretch]:
    departed = min((one.step for one in way.links if one.origin.is_departure), default=None)
    return [_stretch(one, departed) for one in way.links]


def _stretch(link: ValueLink, departed: int | None) -> _Stretch:
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
    return _Stretch(begin, link.step, style, link.origin, title)


def _cell(stretches: Sequence[_Stretch], step: int) -> Cell:
    ending = [one for one in stretches if one.end == step]
    into = [one for one in stretches if one.begin < step <= one.end]
    out = [one for one in stretches if one.begin <= step < one.end]
    node = ""
    if ending:
        node = max(ending, key=lambda one: one.origin.is_departure).origin.value
    elif any(one.begin == step for one in stretches):
        node = "source"
    title = "; ".join(dict.fromkeys(one.title for one in [*ending, *into, *out]))
    return Cell(
        before=into[-1].style if into else "",
        after=out[-1].style if out else "",
        node=node,
        arrives=any(one.begin < step for one in ending),
        title=title,
    )


def _row(
    trajectory: Trajectory,
    attribution: Attribution,
    ways: Sequence[Way],
    cells: tuple[Cell, ...],
    step: int,
    shown: Set[int],
) -> Row:
    if step == _TASK:
        return Row(None, "The task", 0, False, "", cells, ())
    agent = trajectory.steps[step].agent
    focus = ""
    if step == attribution.step and attribution.certainty is not None:
        focus = "start" if attribution.certainty == "weak" else "decisive"
    return Row(
        step=step,
        agent=one_line(agent, 60),
        colour=colours_of(trajectory)[agent],
        linked=step in shown,
        focus=focus,
        cells=cells,
        lines=tuple(line for way in ways for line in _lines(way, step)),
    )


def _lines(way: Way, step: int) -> Iterator[Line]:
    for link, words in told_of(way, step):
        yield Line(
            value=one_line(way.value, VALUE_LONGEST),
            departs=link.origin.is_departure,
            word=ORIGINS[link.origin],
            words=words,
        )
