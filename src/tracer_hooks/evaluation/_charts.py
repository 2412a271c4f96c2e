"""Where the bars, lines and points of an evaluation stand. All lengths are in units of the drawing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracer_hooks.evaluation._measure import Measure

COLOURS = 8
"""How many colours the style sheet has; they come round again after that."""
_LABELS, _GAP, _PANEL, _FIGURES = 285, 22, 175, 46
_ROW, _TOP, _BOTTOM = 24, 28, 22
_SIDE, _LEFT, _BASE = 260, 44, 34


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One method as it is drawn."""

    label: str
    colour: int | None
    """Number of its colour; None for the grey of what reads nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One figure with its interval."""

    x: float
    width: float
    low: float | None
    high: float | None
    text: str
    text_x: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BarRow:
    """One method's figures."""

    series: Series
    y: float
    bars: tuple[Bar | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One figure's column of bars, with the places of its axis labels."""

    title: str
    x: float
    width: float
    ticks: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BarChart:
    """Bars of several figures side by side, one row a method."""

    width: float
    height: float
    bar: float
    panels: tuple[Panel, ...]
    rows: tuple[BarRow, ...]


def bar_chart(rows: Sequence[tuple[Series, Mapping[str, Measure]]], columns: Mapping[str, str]) -> BarChart:
    """Bars with intervals.

    Args:
        rows: Methods with their figures, in the order they are drawn.
        columns: The figures to draw, with their headings.
    """
    step = _PANEL + _FIGURES + _GAP
    limits = {name: _limit([figures[name] for _, figures in rows if name in figures]) for name in columns}
    panels = tuple(
        Panel(
            title=title, x=_LABELS + place * step, width=_PANEL, ticks=_bar_ticks(limits[name], _LABELS + place * step)
        )
        for place, (name, title) in enumerate(columns.items())
    )
    drawn = tuple(
        BarRow(
            series=series,
            y=_TOP + number * _ROW + _ROW / 2,
            bars=tuple(
                _bar(figures.get(name), panel, limits[name]) for name, panel in zip(columns, panels, strict=True)
            ),
        )
        for number, (series, figures) in enumerate(rows)
    )
    height = _TOP + len(rows) * _ROW + _BOTTOM
    return BarChart(width=_LABELS + len(columns) * step, height=height, bar=_ROW * 0.5, panels=panels, rows=drawn)


def _bar(measure: Measure | None, panel: Panel, limit: float) -> Bar | None:
    if measure is None:
        return None
    scale = panel.width / limit
    high = measure.value if measure.high is None else measure.high
    return Bar(
        x=panel.x,
        width=round(measure.value * scale, 2),
        low=None if measure.low is None else round(panel.x + measure.low * scale, 2),
        high=None if measure.high is None else round(panel.x + measure.high * scale, 2),
        text=f"{measure.value * 100:.1f}",
        text_x=round(panel.x + max(high, measure.value) * scale + 6, 2),
    )


def _bar_ticks(limit: float, x: float) -> tuple[tuple[float, str], ...]:
    return tuple((x + _PANEL * share, f"{limit * share * 100:.0f}") for share in (0, 0.5, 1))


def _limit(measures: Sequence[Measure]) -> float:
    """A round end of the axis: the next fifth above the greatest figure and its interval, and at most 1."""
    greatest = max((one.value if one.high is None else one.high for one in measures), default=1.0)
    return min(1.0, max(0.2, math.ceil(greatest * 5 - 1e-9) / 5))


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A place in a square chart."""

    x: float
    y: float
    radius: float = 4.0
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One method's points, joined in order."""

    series: Series
    points: tuple[Point, ...]

    @property
    def path(self) -> str:
        """The points for an SVG polyline."""
        return " ".join(f"{point.x},{point.y}" for point in self.points)


@dataclass(frozen=True, slots=True, kw_only=True)
class SquareChart:
    """Lines or points over two axes."""

    title: str
    across: str
    up: str
    lines: tuple[Line, ...]
    ticks_across: tuple[tuple[float, str], ...]
    ticks_up: tuple[tuple[float, str], ...]
    diagonal: bool = False
    """Whether the line of equal values is drawn, and the points are not joined."""

    @property
    def left(self) -> int:
        """Where the vertical axis stands."""
        return _LEFT

    @property
    def side(self) -> int:
        """Length of the axes."""
        return _SIDE

    @property
    def top(self) -> int:
        """Where the vertical axis begins."""
        return 10

    @property
    def width(self) -> int:
        """Of the drawing."""
        return _LEFT + _SIDE + 14

    @property
    def height(self) -> int:
        """Of the drawing."""
        return self.top + _SIDE + _BASE


def reliability_chart(tables: Sequence[tuple[Series, Sequence[tuple[float, float, int]]]]) -> SquareChart:
    """Accuracy over confidence; the area of a point shows how many answers stand behind it.

    Args:
        tables: Methods with the mean confidence, the accuracy and the number of answers of each bin.
    """
    most = max((runs for _, table in tables for _, _, runs in table), default=1)
    lines = tuple(
        Line(
            series=series,
            points=tuple(
                _place(
                    confidence,
                    accuracy,
                    3 + 11 * math.sqrt(runs / most),
                    f"{series.label}: {accuracy:.0%} right at confidence {confidence:.2f}, {runs} answers",
                )
                for confidence, accuracy, runs in table
            ),
        )
        for series, table in tables
    )
    ticks = tuple((value / 100, str(value)) for value in range(0, 101, 20))
    return SquareChart(
        title="Is the confidence a frequency?",
        across="confidence, %",
        up="agent and step right, %",
        lines=lines,
        ticks_across=tuple((_LEFT + share * _SIDE, text) for share, text in ticks),
        ticks_up=_up_ticks(1.0),
        diagonal=True,
    )


def line_chart(
    title: str, across: str, up: str, values: Sequence[tuple[Series, Sequence[tuple[str, Measure]]]]
) -> SquareChart:
    """Figures over named places, joined by lines; the area of a point shows how many runs stand behind it.

    Args:
        title: Of the chart.
        across: What the places are.
        up: What the figures are.
        values: Methods with the name of each place and the figure there.
    """
    names = list(dict.fromkeys(name for _, table in values for name, _ in table))
    limit = _limit([measure.model_copy(update={"high": None}) for _, table in values for _, measure in table])
    most = max(measure.runs for _, table in values for _, measure in table)
    where = {name: (place + 0.5) / len(names) for place, name in enumerate(names)}
    lines = tuple(
        Line(
            series=series,
            points=tuple(
                _place(
                    where[name],
                    measure.value / limit,
                    2.5 + 3 * math.sqrt(measure.runs / most),
                    f"{series.label}, {name}: {measure.value:.1%} of {measure.runs} runs",
                )
                for name, measure in table
            ),
        )
        for series, table in values
    )
    ticks = tuple((round(_LEFT + share * _SIDE, 2), name) for name, share in where.items())
    return SquareChart(title=title, across=across, up=up, lines=lines, ticks_across=ticks, ticks_up=_up_ticks(limit))


def _place(across: float, up: float, radius: float, title: str) -> Point:
    return Point(
        x=round(_LEFT + across * _SIDE, 2), y=round(10 + (1 - up) * _SIDE, 2), radius=round(radius, 2), title=title
    )


def _up_ticks(limit: float) -> tuple[tuple[float, str], ...]:
    return tuple(
        (round(10 + (1 - share) * _SIDE, 2), f"{limit * share * 100:.0f}") for share in (0, 0.25, 0.5, 0.75, 1)
    )


def series_of(names: Sequence[tuple[str, bool]]) -> list[Series]:
    """A colour for each attributor, grey for the others.

    Args:
        names: What each row is called, and whether it reads nothing, or next to nothing.
    """
    found, number = [], 0
    for name, is_baseline in names:
        found.append(Series(label=name, colour=None if is_baseline else number % COLOURS))
        number += not is_baseline
    return found
