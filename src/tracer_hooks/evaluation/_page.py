"""Page of an evaluation, with its charts."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

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
_SIDE, _LEFT, _ABOVE, _BASE = 260, 44, 10, 34
_Ticks = list[tuple[float, str]]


class _Series(NamedTuple):
    """One method as it is drawn."""

    label: str
    colour: int | None  # None for the grey of what reads nothing


class _Bar(NamedTuple):
    x: float
    width: float
    low: float | None
    high: float | None
    text: str
    text_x: float


class _BarRow(NamedTuple):
    series: _Series
    y: float
    bars: tuple[_Bar | None, ...]


class _Panel(NamedTuple):
    """One figure's column of bars."""

    title: str
    x: float
    limit: float
    ticks: _Ticks
    width: float = _PANEL


class _BarChart(NamedTuple):
    """Bars of several figures side by side, one row a method."""

    width: float
    height: float
    panels: list[_Panel]
    rows: list[_BarRow]
    bar: float = _ROW * 0.5


def bar_chart(rows: Sequence[tuple[_Series, Mapping[str, Measure]]], columns: Mapping[str, str]) -> _BarChart:
    """Bars with intervals, of the figures that ``columns`` gives headings."""
    step = _PANEL + _FIGURES + _GAP
    panels = []
    for x, (name, title) in zip(itertools.count(_LABELS, step), columns.items(), strict=False):
        limit = _limit([figures[name] for _, figures in rows if name in figures])
        ticks = [(x + _PANEL * share, f"{limit * share * 100:.0f}") for share in (0, 0.5, 1)]
        panels.append(_Panel(title, x, limit, ticks))
    drawn = [
        _BarRow(
            series,
            _TOP + number * _ROW + _ROW / 2,
            tuple(_bar(figures.get(name), panel) for name, panel in zip(columns, panels, strict=True)),
        )
        for number, (series, figures) in enumerate(rows)
    ]
    return _BarChart(_LABELS + len(columns) * step, _TOP + len(rows) * _ROW + _BOTTOM, panels, drawn)


def _bar(measure: Measure | None, panel: _Panel) -> _Bar | None:
    if measure is None:
        return None
    scale = panel.width / panel.limit
    low, high = (None if end is None else round(panel.x + end * scale, 2) for end in (measure.low, measure.high))
    text_x = panel.x + max(measure.high or 0, measure.value) * scale + 6
    return _Bar(panel.x, round(measure.value * scale, 2), low, high, percent(measure), round(text_x, 2))


def _limit(measures: Sequence[Measure]) -> float:
    """A round end of the axis: the next fifth above the greatest figure and its interval, and at most 1."""
    greatest = max((measure.value if measure.high is None else measure.high for measure in measures), default=1.0)
    return min(1.0, max(0.2, math.ceil(greatest * 5 - 1e-9) / 5))


class _Point(NamedTuple):
    x: float
    y: float
    radius: float
    title: str


class _Line(NamedTuple):
    """One method's points, joined in order."""

    series: _Series
    points: list[_Point]


class _SquareChart(NamedTuple):
    """Lines over two axes or, with the diagonal of equal values, points."""

    title: str
    across: str
    up: str
    lines: list[_Line]
    ticks_across: _Ticks
    ticks_up: _Ticks
    diagonal: bool = False
    left: int = _LEFT
    top: int = _ABOVE
    side: int = _SIDE
    width: int = _LEFT + _SIDE + 14
    height: int = _ABOVE + _SIDE + _BASE


def reliability_chart(tables: Sequence[tuple[_Series, Sequence[tuple[float, float, int]]]]) -> _SquareChart:
    """Accuracy over confidence, by bins of so many answers; the area of a point shows how many."""
    most = max((runs for _, table in tables for _, _, runs in table), default=1)
    lines = [
        _Line(
            series,
            [
                _point(
                    confidence,
                    accuracy,
                    3 + 11 * math.sqrt(runs / most),
                    f"{series.label}: {accuracy:.0%} right at confidence {confidence:.2f}, {runs} answers",
                )
                for confidence, accuracy, runs in table
            ],
        )
        for series, table in tables
    ]
    ticks = [(_LEFT + value / 100 * _SIDE, str(value)) for value in range(0, 101, 20)]
    title, up = "Is the confidence a frequency?", "agent and step right, %"
    return _SquareChart(title, "confidence, %", up, lines, ticks, _up_ticks(1.0), diagonal=True)


def line_chart(
    title: str, across: str, up: str, values: Sequence[tuple[_Series, Sequence[tuple[str, Measure]]]]
) -> _SquareChart:
    """Figures over named places, joined by lines; the area of a point shows how many runs stand behind it."""
    names = list(dict.fromkeys(name for _, table in values for name, _ in table))
    limit = _limit([measure.model_copy(update={"high": None}) for _, table in values for _, measure in table])
    most = max(measure.runs for _, table in values for _, measure in table)
    where = {name: (place + 0.5) / len(names) for place, name in enumerate(names)}
    lines = [
        _Line(
            series,
            [
                _point(
                    where[name],
                    measure.value / limit,
                    2.5 + 3 * math.sqrt(measure.runs / most),
                    f"{series.label}, {name}: {measure.value:.1%} of {measure.runs} runs",
                )
                for name, measure in table
            ],
        )
        for series, table in values
    ]
    ticks = [(round(_LEFT + share * _SIDE, 2), name) for name, share in where.items()]
    return _SquareChart(title, across, up, lines, ticks, _up_ticks(limit))


def _point(across: float, up: float, radius: float, title: str) -> _Point:
    return _Point(round(_LEFT + across * _SIDE, 2), round(_ABOVE + (1 - up) * _SIDE, 2), round(radius, 2), title)


def _up_ticks(limit: float) -> _Ticks:
    shares = (0, 0.25, 0.5, 0.75, 1)
    return [(round(_ABOVE + (1 - share) * _SIDE, 2), f"{limit * share * 100:.0f}") for share in shares]


def series_of(names: Sequence[tuple[str, bool]]) -> list[_Series]:
    """A colour for each attributor, grey for rows that read nothing, or next to nothing."""
    colours = itertools.cycle(range(COLOURS))
    return [_Series(name, None if is_baseline else next(colours)) for name, is_baseline in names]


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


class _TableRow(NamedTuple):
    name: str
    cells: list[str]
    baseline: bool = False


@dataclass(frozen=True, kw_only=True)
class _Section:
    title: str
    columns: Sequence[str]
    rows: list[_TableRow]
    table_title: str = ""
    facts: Sequence[str] = ()
    bars: _BarChart | None = None
    squares: Sequence[_SquareChart] = ()
    comparisons: Sequence[str] = ()
    footnotes: Sequence[str] = ()


def render_evaluation(report: EvaluationReport, *, made_at: datetime | None = None) -> str:
    """The page of an evaluation, self-contained: it loads nothing and runs no script.

    Args:
        report: What was measured.
        made_at: When; now by default.
    """
    groups = [
        {
            "key": f"g{number}",
            "name": group.name,
            "facts": [counted(group.runs, "run"), counted(group.questions, "question")],
            "sections": list(_sections(group)),
        }
        for number, group in enumerate(report.groups)
    ]
    return (
        _environment()
        .get_template("evaluation.html.j2")
        .render(
            title=_DATASETS.get(report.dataset, report.dataset),
            report=report,
            facts=[
                counted(report.runs, "run"),
                ", ".join(f"{name} ({version})" if version else name for name, version in report.attributors.items()),
                f"tracer-hooks {report.tracer_hooks}",
            ],
            groups=groups,
            style=_report_asset("report.css") + _asset("evaluation.css"),
            made_at=made_at or datetime.now(UTC),
        )
    )


def _sections(group: GroupReport) -> Iterator[_Section]:
    if group.steps is not None:
        yield _steps(group.steps)
    if group.faults is not None:
        yield _faults(group.faults)
    if group.detection is not None:
        yield _Section(
            title=f"Detection: {detection_title(group.detection)}",
            columns=["false alarms", "failures attributed", "AUC of the confidence"],
            rows=[
                _TableRow(
                    f"{row.name}, outcome {'told' if row.outcome_told else 'withheld'}",
                    [percent(figure, interval=True) for figure in (row.false_alarms, row.attributed, row.separation)],
                )
                for row in group.detection.rows
            ],
        )
    if group.second_labels is not None:
        section = group.second_labels
        agreed = [f"{name.replace('_', ' ')} {percent(one, interval=True)}" for name, one in section.agreement.items()]
        yield _Section(
            title=f"Two teams of labellers on {counted(section.runs, 'run')}",
            facts=[f"They agree: {', '.join(agreed)}."],
            columns=list(SECOND_COLUMNS.values()),
            rows=[
                _TableRow(
                    row_name(row.name, told=row.told_reference),
                    [percent(row.measures.get(name)) for name in SECOND_COLUMNS],
                    row.reads != "the run",
                )
                for row in section.rows
            ],
        )


def _steps(section: StepSection) -> _Section:
    series = _series(section.rows)
    # the baseline that is best at the step is drawn beside the attributors
    best = max(
        (row for row in section.rows if row.is_baseline), key=lambda row: row.measures["step"].value, default=None
    )
    drawn = [(one, row) for one, row in zip(series, section.rows, strict=True) if not row.is_baseline or row is best]
    return _Section(
        title="Who and when",
        facts=[f"{row_name(row.name, told=row.told_reference)}: {'; '.join(_facts(row))}." for row in section.rows
               if not row.is_baseline],
        squares=list(_squares(drawn)),
        footnotes=["An abstention counts as wrong. hit@k: the labelled step is among the first k candidates. ±k: the "
                   "answer is at most k steps off."],
        **_figures(section, STEP_COLUMNS, _STEP_BARS),
    )  # fmt: skip


def _squares(drawn: Sequence[tuple[_Series, StepRow]]) -> Iterator[_SquareChart]:
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
    classes = ", ".join(f"{count} {level}s" for level, count in section.classes.items())
    return _Section(
        title="Which agents, and how",
        facts=[f"{row_name(row.name, told=row.told_reference)}: {cost_words(row.cost)}." for row in section.rows
               if row.cost is not None],
        footnotes=[f"Micro-F1 over all runs unless it says macro; macro averages are over the labelled classes alone "
                   f"({classes}). Names without case, spaces and signs unless it says exact. AUC: faulty against other "
                   "speakers within a run, averaged over the runs that have both."],
        **_figures(section, FAULT_COLUMNS, _FAULT_BARS),
    )  # fmt: skip


def _series(rows: Sequence[MethodRow]) -> list[_Series]:
    return series_of([(row_name(row.name, told=row.told_reference), row.is_baseline) for row in rows])


def _figures(section: StepSection | FaultSection, columns: dict[str, str], bars: dict[str, str]) -> dict[str, Any]:
    """The bars, the comparisons and the table of a section."""
    rows = section.rows
    return {
        "bars": bar_chart([(one, row.measures) for one, row in zip(_series(rows), rows, strict=True)], bars),
        "comparisons": [comparison_words(comparison) for comparison in section.comparisons],
        "table_title": "All figures",
        "columns": list(columns.values()),
        "rows": [
            _TableRow(row_name(row.name, told=row.told_reference), row_cells(row, columns), row.is_baseline)
            for row in rows
        ],
    }


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
