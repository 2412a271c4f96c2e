"""Page of an evaluation, with its charts."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from typing import TYPE_CHECKING

from tracer_hooks.evaluation._measures import Measure
from tracer_hooks.evaluation._report import (
    FAULT_COLUMNS,
    SECOND_COLUMNS,
    STEP_COLUMNS,
    EvaluationReport,
    FaultSection,
    GroupReport,
    MethodRow,
    StepRow,
    StepSection,
    comparison_words,
    cost_words,
    counted,
    detection_title,
    length_words,
    percent,
    row_cells,
    row_name,
)
from tracer_hooks.evaluation._scores import HITS

if TYPE_CHECKING:
    import jinja2

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
class ChartPoint:
    """A place in a square chart."""

    x: float
    y: float
    radius: float = 4.0
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartLine:
    """One method's points, joined in order."""

    series: Series
    points: tuple[ChartPoint, ...]

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
    lines: tuple[ChartLine, ...]
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
        ChartLine(
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
        ChartLine(
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


def _place(across: float, up: float, radius: float, title: str) -> ChartPoint:
    return ChartPoint(
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


_DATASETS = {
    "whowhen": "Who&When",
    "aegis": "Aegis",
    "agentrx": "AgentRx",
    "trail": "TRAIL",
    "trajectory": "Labelled trajectories",
    "graded": "Graded runs",
}
_STEP_BARS = {"agent": "Agent", "step": "Step", "joint": "Agent and step"}
_FAULT_BARS = {"pair_micro": "Pair, F1", "agent_micro": "Agent, F1", "mode_micro": "Mode, F1", "auc": "AUC in a run"}


@dataclass(frozen=True, kw_only=True)
class _TableRow:
    name: str
    cells: list[str]
    baseline: bool = False


@dataclass(frozen=True, kw_only=True)
class _Table:
    title: str
    columns: list[str]
    rows: list[_TableRow]


@dataclass(frozen=True, kw_only=True)
class _Section:
    title: str
    facts: list[str]
    bars: BarChart | None
    squares: list[SquareChart]
    comparisons: list[str]
    table: _Table | None
    footnotes: list[str]


@dataclass(frozen=True, kw_only=True)
class _GroupView:
    key: str
    name: str
    facts: list[str]
    sections: list[_Section]


def render_evaluation(report: EvaluationReport, *, made_at: datetime | None = None) -> str:
    """The page of an evaluation, self-contained: it loads nothing and runs no script.

    Args:
        report: What was measured.
        made_at: When; now by default.
    """
    groups = [_group(group, f"g{number}") for number, group in enumerate(report.groups)]
    return (
        _environment()
        .get_template("evaluation.html.j2")
        .render(
            title=_DATASETS.get(report.dataset, report.dataset),
            report=report,
            facts=[
                counted(report.runs, "run"),
                ", ".join(f"{name} ({said})" if said else name for name, said in report.attributors.items()),
                f"tracer-hooks {report.tracer_hooks}",
            ],
            groups=groups,
            style=_report_asset("report.css") + _asset("evaluation.css"),
            made_at=made_at or datetime.now(UTC),
        )
    )


def _group(group: GroupReport, key: str) -> _GroupView:
    return _GroupView(
        key=key,
        name=group.name,
        facts=[counted(group.runs, "run"), counted(group.questions, "question")],
        sections=list(_sections(group)),
    )


def _sections(group: GroupReport) -> Iterator[_Section]:
    if group.steps is not None:
        yield _steps(group.steps)
    if group.faults is not None:
        yield _faults(group.faults)
    if group.detection is not None:
        rows = [
            _TableRow(
                name=f"{row.name}, outcome {'told' if row.outcome_told else 'withheld'}",
                cells=[percent(one, interval=True) for one in (row.false_alarms, row.attributed, row.separation)],
            )
            for row in group.detection.rows
        ]
        columns = ["false alarms", "failures attributed", "AUC of the confidence"]
        yield _plain_section(f"Detection: {detection_title(group.detection)}", columns, rows)
    if group.second_labels is not None:
        said = group.second_labels.agreement
        agreed = [f"{name.replace('_', ' ')} {percent(one, interval=True)}" for name, one in said.items()]
        rows = [
            _TableRow(
                name=row_name(row.name, told=row.told_reference),
                cells=[percent(row.measures.get(one)) for one in SECOND_COLUMNS],
                baseline=row.reads != "the run",
            )
            for row in group.second_labels.rows
        ]
        title = f"Two teams of labellers on {counted(group.second_labels.runs, 'run')}"
        yield _plain_section(title, list(SECOND_COLUMNS.values()), rows, [f"They agree: {', '.join(agreed)}."])


def _plain_section(title: str, columns: list[str], rows: list[_TableRow], facts: Sequence[str] = ()) -> _Section:
    table = _Table(title="", columns=columns, rows=rows)
    return _Section(title=title, facts=[*facts], bars=None, squares=[], comparisons=[], table=table, footnotes=[])


def _steps(section: StepSection) -> _Section:
    series = _series(section.rows)
    compared = _to_compare(section)
    drawn = [
        (one, row) for one, row in zip(series, section.rows, strict=True) if not row.is_baseline or row in compared
    ]
    return _Section(
        title="Who and when",
        facts=[f"{row_name(row.name, told=row.told_reference)}: {'; '.join(_facts(row))}." for row in section.rows
               if not row.is_baseline],
        bars=bar_chart([(one, row.measures) for one, row in zip(series, section.rows, strict=True)], _STEP_BARS),
        squares=list(_squares(drawn)),
        comparisons=[comparison_words(one) for one in section.comparisons],
        table=_table(section.rows, STEP_COLUMNS),
        footnotes=["An abstention counts as wrong. hit@k: the labelled step is among the first k candidates. ±k: the "
                   "answer is at most k steps off."],
    )  # fmt: skip


def _to_compare(section: StepSection) -> list[StepRow]:
    """The baseline that is best at the step: the one drawn beside the attributors."""
    baselines = [row for row in section.rows if row.is_baseline]
    return sorted(baselines, key=lambda row: -row.measures["step"].value)[:1]


def _squares(drawn: Sequence[tuple[Series, StepRow]]) -> Iterator[SquareChart]:
    tables = [
        (series, [(b.confidence, b.accuracy, b.runs) for b in row.calibration.bins
                  if b.confidence is not None and b.accuracy is not None])
        for series, row in drawn
        if row.calibration is not None
    ]  # fmt: skip
    if tables:
        yield reliability_chart(tables)
    hits = [(series, [(str(k), row.measures[f"hit_{k}"]) for k in HITS]) for series, row in drawn]
    yield line_chart("Is the step among the first candidates?", "candidates looked at", "hit@k, %", hits)
    lengths = [
        (series, [(length_words(one.low, one.high), one.measures["step"]) for one in row.by_length])
        for series, row in drawn
    ]
    if any(len(table) > 1 for _, table in lengths):
        yield line_chart("Do long runs make it harder?", "steps of the run", "step right, %", lengths)


def _facts(row: StepRow) -> Iterator[str]:
    yield f"official scorer {percent(row.measures.get('official_agent'))} agent, " + (
        f"{percent(row.measures.get('official_step'))} step"
    )
    if row.calibration is not None:
        found = row.calibration
        yield f"confidence {found.confidence:.2f} for {found.accuracy:.2f} right"
        yield f"ECE {found.ece:.3f}, Brier {found.brier:.3f}"
    if row.cost is not None:
        yield cost_words(row.cost)


def _faults(section: FaultSection) -> _Section:
    series = _series(section.rows)
    classes = ", ".join(f"{count} {level}s" for level, count in section.classes.items())
    return _Section(
        title="Which agents, and how",
        facts=[f"{row_name(row.name, told=row.told_reference)}: {cost_words(row.cost)}." for row in section.rows
               if row.cost is not None],
        bars=bar_chart([(one, row.measures) for one, row in zip(series, section.rows, strict=True)], _FAULT_BARS),
        squares=[],
        comparisons=[comparison_words(one) for one in section.comparisons],
        table=_table(section.rows, FAULT_COLUMNS),
        footnotes=[f"Micro-F1 over all runs unless it says macro; macro averages are over the labelled classes alone "
                   f"({classes}). Names without case, spaces and signs unless it says exact. AUC: faulty against other "
                   "speakers within a run, averaged over the runs that have both."],
    )  # fmt: skip


def _series(rows: Sequence[MethodRow]) -> list[Series]:
    return series_of([(row_name(row.name, told=row.told_reference), row.is_baseline) for row in rows])


def _table(rows: Sequence[MethodRow], columns: Mapping[str, str]) -> _Table:
    return _Table(
        title="All figures",
        columns=[*columns.values()],
        rows=[
            _TableRow(
                name=row_name(row.name, told=row.told_reference),
                cells=row_cells(row, dict(columns)),
                baseline=row.is_baseline,
            )
            for row in rows
        ],
    )


@functools.cache
def _asset(name: str) -> str:
    return files("tracer_hooks.evaluation").joinpath("templates", name).read_text(encoding="utf-8")


def _report_asset(name: str) -> str:
    from tracer_hooks.report import asset

    return asset(name)


@functools.cache
def _environment() -> jinja2.Environment:
    """The template environment, with everything escaped."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
