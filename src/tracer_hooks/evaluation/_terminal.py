"""An evaluation on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tracer_hooks.evaluation._report import (
    FAULT_COLUMNS,
    SECOND_COLUMNS,
    STEP_COLUMNS,
    DetectionSection,
    EvaluationReport,
    FaultSection,
    GroupReport,
    MethodRow,
    SecondLabelSection,
    StepRow,
    StepSection,
    comparison_words,
    cost_words,
    detection_title,
    group_title,
    length_words,
    percent,
    row_cells,
    row_name,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

_MOST_PROBLEMS = 10
_WIDE = 160
_MOST_IMPORTANT = frozenset({"agent", "step", "hit_3", "answered", "pair_micro", "agent_micro", "auc"}) | {
    "step_first", "step_second", "step_either", "agent_first",
}  # fmt: skip


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
        yield from _group(group, is_narrow=is_narrow)
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


def _group(group: GroupReport, *, is_narrow: bool) -> Iterator[RenderableType]:
    yield _text(f"\n{group_title(group)}", "bold")
    if group.steps is not None:
        yield from _steps(group.steps, _columns(STEP_COLUMNS, is_narrow))
    if group.faults is not None:
        yield from _faults(group.faults, _columns(FAULT_COLUMNS, is_narrow))
    if group.detection is not None:
        yield from _detection(group.detection)
    if group.second_labels is not None:
        yield from _second(group.second_labels, _columns(SECOND_COLUMNS, is_narrow))


def _columns(columns: dict[str, str], is_narrow: bool) -> dict[str, str]:
    return {name: title for name, title in columns.items() if name in _MOST_IMPORTANT or not is_narrow}


def _steps(section: StepSection, columns: dict[str, str]) -> Iterator[RenderableType]:
    yield _rows("who and when", section.rows, columns)
    for comparison in section.comparisons:
        yield _text(f"  {comparison_words(comparison)}")
    for row in section.rows:
        if not row.is_baseline:
            yield _text(f"  {row_name(row.name, told=row.told_reference)}: {'; '.join(_facts(row))}", "dim")


def _facts(row: StepRow) -> Iterator[str]:
    official = (row.measures.get("official_agent"), row.measures.get("official_step"))
    yield f"official scorer: agent {percent(official[0])}, step {percent(official[1])}"
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
        f"{length_words(bucket.low, bucket.high)}: {percent(bucket.measures['step'])} of {bucket.measures['step'].runs}"
        for bucket in row.by_length
    ]
    if len(lengths) > 1:
        yield f"step by length {', '.join(lengths)}"
    if row.cost is not None:
        yield cost_words(row.cost)


def _faults(section: FaultSection, columns: dict[str, str]) -> Iterator[RenderableType]:
    yield _rows("which agents and how, F1", section.rows, columns)
    for comparison in section.comparisons:
        yield _text(f"  {comparison_words(comparison)}")
    for row in section.rows:
        if row.cost is not None:
            blamed = percent(row.measures.get("answered"))
            name = row_name(row.name, told=row.told_reference)
            yield _text(f"  {name}: somebody blamed in {blamed}; {cost_words(row.cost)}", "dim")
    counts = ", ".join(f"{count} {level}s" for level, count in section.classes.items())
    yield _text(f"  macro averages are over the labelled classes alone: {counts}", "dim")


def _detection(section: DetectionSection) -> Iterator[RenderableType]:
    table = _table(detection_title(section), ["outcome", "false alarms", "failures attributed", "AUC of confidence"])
    for row in section.rows:
        figures = (row.false_alarms, row.attributed, row.separation)
        told = "told" if row.outcome_told else "withheld"
        table.add_row(_text(row.name), told, *(percent(figure, interval=True) for figure in figures))
    yield table


def _second(section: SecondLabelSection, columns: dict[str, str]) -> Iterator[RenderableType]:
    agreement = section.agreement
    named = {"step": "step", "within_1": "±1", "within_3": "±3", "within_5": "±5", "agent": "agent", "step_any": "any"}
    parts = [
        f"{word} {percent(agreement.get(name), interval=name in ('step', 'agent'))}" for name, word in named.items()
    ]
    yield _text(f"two teams of labellers on {section.runs} runs agree: {', '.join(parts)}")
    table = _table("against either label", columns.values())
    for row in section.rows:
        name = row_name(row.name, told=row.told_reference)
        table.add_row(_text(name), *(percent(row.measures.get(figure)) for figure in columns))
    yield table


def _rows(title: str, rows: Sequence[MethodRow], columns: dict[str, str]) -> RenderableType:
    table = _table(title, list(columns.values()))
    last = max((place for place, row in enumerate(rows) if not row.is_baseline), default=-1)
    for place, row in enumerate(rows):
        name = _text(row_name(row.name, told=row.told_reference), "dim" if row.is_baseline else "bold")
        table.add_row(name, *row_cells(row, columns), end_section=place == last)
    return table


def _table(title: str, columns: Iterable[str]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False, title=_text(title), title_justify="left", title_style="")
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _text(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(text, style=style)
