"""An evaluation as one HTML file that needs nothing beside it."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from typing import TYPE_CHECKING

from tracer_hooks.evaluation._charts import (
    BarChart,
    Series,
    SquareChart,
    bar_chart,
    line_chart,
    reliability_chart,
    series_of,
)
from tracer_hooks.evaluation._report import (
    EvaluationReport,
    FaultSection,
    GroupReport,
    Row,
    StepRow,
    StepSection,
)
from tracer_hooks.evaluation._step_scores import HITS
from tracer_hooks.evaluation._wording import (
    FAULT_COLUMNS,
    SECOND_COLUMNS,
    STEP_COLUMNS,
    cells,
    comparison_words,
    cost_words,
    counted,
    detection_title,
    length_words,
    percent,
    row_name,
)

if TYPE_CHECKING:
    import jinja2

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


def _series(rows: Sequence[Row]) -> list[Series]:
    return series_of([(row_name(row.name, told=row.told_reference), row.is_baseline) for row in rows])


def _table(rows: Sequence[Row], columns: Mapping[str, str]) -> _Table:
    return _Table(
        title="All figures",
        columns=[*columns.values()],
        rows=[
            _TableRow(
                name=row_name(row.name, told=row.told_reference),
                cells=cells(row, dict(columns)),
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
