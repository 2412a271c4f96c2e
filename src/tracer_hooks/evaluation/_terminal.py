"""An evaluation on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracer_hooks.evaluation._report import EvaluationReport
from tracer_hooks.evaluation._tables import MOST_IMPORTANT, Table, group_size, tables_of

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

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
