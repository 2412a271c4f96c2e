"""Tables of an evaluation, with the words that go with them, on a terminal and on a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from typing import TYPE_CHECKING

from tracer_hooks._text import counted
from tracer_hooks.evaluation._report import (
    Comparison,
    DetectionSection,
    EvaluationReport,
    FaultSection,
    GroupReport,
    Measure,
    MethodCost,
    MethodRow,
    StepRow,
    StepSection,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

STEP_COLUMNS = {
    "agent": "agent",
    "step": "step",
    "joint": "both",
    "hit_3": "hit@3",
    "hit_5": "hit@5",
    "mrr": "MRR",
    "within_1": "±1",
    "within_3": "±3",
    "within_5": "±5",
    "answered": "answered",
}
FAULT_COLUMNS = {
    "pair_micro": "pair",
    "agent_micro": "agent",
    "mode_micro": "mode",
    "pair_macro": "pair, macro",
    "agent_macro": "agent, macro",
    "mode_macro": "mode, macro",
    "auc": "AUC",
    "pair_micro_exact": "pair, exact names",
    "agent_micro_exact": "agent, exact names",
}
DETECTION_COLUMNS = {
    "false_alarms": "false alarms",
    "attributed": "failures attributed",
    "separation": "AUC of confidence",
}
MOST_IMPORTANT = frozenset(
    {"agent", "step", "hit_3", "answered", "pair_micro", "agent_micro", "auc", *DETECTION_COLUMNS}
)
"""The columns for which a narrow terminal has room."""
_WITH_INTERVAL = frozenset(
    {"agent", "step", "joint", "pair_micro", "agent_micro", "mode_micro", "auc", *DETECTION_COLUMNS}
)
"""The figures whose interval stands in the table; the others' are in the JSON."""
_METRIC_WORDS = {
    "agent": "agent",
    "step": "step",
    "joint": "agent and step",
    "pair_micro": "pair micro-F1",
    "agent_micro": "agent micro-F1",
    "mode_micro": "mode micro-F1",
    "auc": "AUC within a run",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodFigures:
    """One method's figures."""

    name: str
    figures: Mapping[str, Measure | None]
    is_baseline: bool = False

    def cell(self, column: str) -> str:
        """The figure of a column in per cent, with its interval where that is of weight."""
        return percent(self.figures.get(column), interval=column in _WITH_INTERVAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One section of a group."""

    title: str
    columns: Mapping[str, str]
    """The headings of the figures."""
    rows: Sequence[MethodFigures]
    """Attributors first."""
    comparisons: Sequence[str] = ()
    """Each attributor beside the best row that reads nothing."""
    facts: Sequence[str] = ()
    """What else was measured, and what the figures are over."""


def tables_of(group: GroupReport) -> Iterator[Table]:
    """The tables of a group."""
    if group.steps is not None:
        yield _steps(group.steps)
    if group.faults is not None:
        yield _faults(group.faults)
    if group.detection is not None:
        yield _detection(group.detection)


def group_size(group: GroupReport) -> str:
    """How many runs and questions a group has."""
    return f"{counted(group.runs, 'run')}, {counted(group.questions, 'question')}"


def percent(measure: Measure | None, *, interval: bool = False) -> str:
    """A figure in per cent, ``"36.2"`` or ``"36.2 [24.1, 48.3]"``; ``"-"`` when there is none."""
    if measure is None:
        return "-"
    text = f"{measure.value * 100:.1f}"
    if not interval or measure.low is None or measure.high is None:
        return text
    return f"{text} [{measure.low * 100:.1f}, {measure.high * 100:.1f}]"


def _steps(section: StepSection) -> Table:
    return Table(
        title="who and when",
        columns=STEP_COLUMNS,
        rows=[_row(row) for row in section.rows],
        comparisons=[_comparison(one) for one in section.comparisons],
        facts=[f"{_name(row)}: {'; '.join(_step_facts(row))}" for row in section.rows if not row.is_baseline],
    )


def _step_facts(row: StepRow) -> Iterator[str]:
    if "joint_answered" in row.measures:
        names = ("agent_answered", "step_answered", "joint_answered")
        yield f"where answered: {' / '.join(percent(row.measures.get(name)) for name in names)} (agent / step / both)"
    if "mode" in row.measures:
        yield f"error mode {percent(row.measures['mode'])} of {row.measures['mode'].runs}"
    if "any_faulty_step" in row.measures:
        yield f"any faulty step {percent(row.measures['any_faulty_step'])}"
    if row.calibration is not None:
        found = row.calibration
        yield f"confidence {found.confidence:.2f} for {found.accuracy:.2f} right: ECE {found.ece:.3f}"
        yield f"Brier {found.brier:.3f}"
    lengths = [
        f"{bucket.low}{'+' if bucket.high is None else f'-{bucket.high}'}: "
        f"{percent(bucket.measures['step'])} of {bucket.measures['step'].runs}"
        for bucket in row.by_length
    ]
    if len(lengths) > 1:
        yield f"step by length {', '.join(lengths)}"
    if row.cost is not None:
        yield _cost(row.cost)


def _faults(section: FaultSection) -> Table:
    counts = ", ".join(f"{count} {level}s" for level, count in section.classes.items())
    costs = [
        f"{_name(row)}: somebody blamed in {percent(row.measures.get('answered'))}; {_cost(row.cost)}"
        for row in section.rows
        if row.cost is not None
    ]
    return Table(
        title="which agents and how, F1",
        columns=FAULT_COLUMNS,
        rows=[_row(row) for row in section.rows],
        comparisons=[_comparison(one) for one in section.comparisons],
        facts=[*costs, f"macro averages are over the labelled classes alone: {counts}"],
    )


def _detection(section: DetectionSection) -> Table:
    return Table(
        title=f"who is blamed in {counted(section.passes, 'pass', 'passes')} "
        f"and {counted(section.failures, 'failure')}",
        columns=DETECTION_COLUMNS,
        rows=[
            MethodFigures(
                name=f"{row.name}, outcome {'told' if row.outcome_told else 'withheld'}",
                figures={name: getattr(row, name) for name in DETECTION_COLUMNS},
            )
            for row in section.rows
        ],
    )


def _row(row: MethodRow) -> MethodFigures:
    return MethodFigures(name=_name(row), figures=row.measures, is_baseline=row.is_baseline)


def _name(row: MethodRow | Comparison) -> str:
    name = row.name if isinstance(row, MethodRow) else row.row
    return f"{name}, told the expected answer" if row.told_reference else name


def _comparison(comparison: Comparison) -> str:
    found = comparison.difference
    text = f"{_name(comparison)}: {_METRIC_WORDS[comparison.metric]} {found.value * 100:+.1f}"
    if found.low is None or found.high is None:
        return f"{text} against {comparison.best!r}"
    text += f" [{found.low * 100:+.1f}, {found.high * 100:+.1f}] against {comparison.best!r}"
    return f"{text}; the interval holds 0" if found.low <= 0 <= found.high else text


def _cost(cost: MethodCost) -> str:
    mean, median, most = map(_seconds, (cost.seconds_mean, cost.seconds_median, cost.seconds_p95))
    text = f"{mean} a run (median {median}, 95 % {most})"
    if cost.input_tokens is None:
        return text
    return f"{text}, {cost.input_tokens:,.0f} tokens read and {cost.output_tokens or 0:,.0f} written"


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.1f} ms"


_MOST_PROBLEMS = 10
_WIDE = 160


def evaluation_tables(report: EvaluationReport, *, width: int = _WIDE) -> RenderableType:
    """Return what :func:`rich.print` shows of an evaluation: a table for each group, what reads nothing below the line.

    Args:
        report: What was measured.
        width: Columns of the terminal; a narrow one gets the most important figures only, the rest is in the JSON.
    """
    from rich.console import Group

    return Group(*_parts(report, is_narrow=width < _WIDE))


def _parts(report: EvaluationReport, *, is_narrow: bool) -> Iterator[RenderableType]:
    for group in report.groups:
        yield _text(f"\n{group.name}: {group_size(group)}", "bold")
        for table in tables_of(group):
            yield _drawn(table, is_narrow=is_narrow)
            yield from (_text(f"  {comparison}") for comparison in table.comparisons)
            yield from (_text(f"  {fact}", "dim") for fact in table.facts)
    for note in report.notes:
        yield _text(f"note: {note}", "dim")
    for problem in report.problems[:_MOST_PROBLEMS]:
        yield _text(f"set apart: {problem.source}: {problem.reason}", "yellow")
    if len(report.problems) > _MOST_PROBLEMS:
        yield _text(f"and {len(report.problems) - _MOST_PROBLEMS} more set apart", "yellow")
    yield _text(
        "per cent; [95 % bootstrap intervals over questions]; abstentions count as wrong; priors are fitted to these "
        "runs, each to the other questions' labels",
        "dim",
    )


def _drawn(table: Table, *, is_narrow: bool) -> RenderableType:
    from rich import box
    from rich.table import Table as RichTable

    columns = {name: title for name, title in table.columns.items() if name in MOST_IMPORTANT or not is_narrow}
    drawn = RichTable(box=box.SIMPLE, pad_edge=False, title=_text(table.title), title_justify="left", title_style="")
    drawn.add_column("")
    for title in columns.values():
        drawn.add_column(title, justify="right", no_wrap=True)
    last = max((place for place, row in enumerate(table.rows) if not row.is_baseline), default=-1)
    for place, row in enumerate(table.rows):
        name = _text(row.name, "dim" if row.is_baseline else "bold")
        drawn.add_row(name, *map(row.cell, columns), end_section=place == last)
    return drawn


def _text(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(text, style=style)


_DATASETS = {
    "whowhen": "Who&When",
    "aegis": "Aegis",
    "agentrx": "AgentRx",
    "trail": "TRAIL",
    "trajectory": "Labelled trajectories",
    "graded": "Graded runs",
}


def render_evaluation(report: EvaluationReport, *, made_at: datetime | None = None) -> str:
    """The page of an evaluation, self-contained: it loads nothing and runs no script.

    Args:
        report: What was measured.
        made_at: When; now by default.
    """
    from tracer_hooks.report import asset, environment

    attributors = [f"{name} ({version})" if version else name for name, version in report.attributors.items()]
    return (
        environment()
        .from_string(_asset("evaluation.html.j2"))
        .render(
            title=_DATASETS.get(report.dataset, report.dataset),
            report=report,
            facts=[counted(report.runs, "run"), ", ".join(attributors), f"tracer-hooks {report.tracer_hooks}"],
            groups=[(f"g{number}", group, list(tables_of(group))) for number, group in enumerate(report.groups)],
            group_size=group_size,
            style=asset("style.css") + _asset("evaluation.css"),
            generated_at=made_at or datetime.now(UTC),
        )
    )


def _asset(name: str) -> str:
    return files("tracer_hooks.evaluation").joinpath("templates", name).read_text(encoding="utf-8")
