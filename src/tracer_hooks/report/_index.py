"""One page that leads to the reports of several runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from tracer_hooks.report._page import asset, environment, write_html
from tracer_hooks.report._records import ReportRun
from tracer_hooks.report._wording import one_line
from tracer_hooks.schema import Attribution


@dataclass(frozen=True, kw_only=True)
class IndexEntry:
    """One input of a batch: a run with its report, or what was wrong with it."""

    source: str
    """Where it came from."""
    run: ReportRun | None = None
    """Its report; None when it could not be read."""
    problem: str | None = None
    """Why it could not be read."""


@dataclass(frozen=True, kw_only=True)
class _Row:
    source: str
    page: str = ""
    agent: str = ""
    step: str = ""
    mode: str = ""
    confidence: str = ""
    problem: str = ""


def write_index(path: Path, entries: Sequence[IndexEntry]) -> Path:
    """Write a page that lists ``entries``, and beside it, in ``<name>_files/``, the report of each run.

    Raises:
        OSError: A file cannot be written.
    """
    folder = path.with_name(f"{path.stem}_files")
    rows = []
    for number, entry in enumerate(entries, start=1):
        page = ""
        if entry.run is not None:
            page = f"{folder.name}/{number}.html"
            write_html(folder / f"{number}.html", entry.run)
        rows.append(_row(entry, page))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_render(rows, entries), encoding="utf-8")
    return path


def _render(rows: Sequence[_Row], entries: Sequence[IndexEntry]) -> str:
    answers = [_attribution(entry) for entry in entries]
    return (
        environment()
        .get_template("index.html.j2")
        .render(
            rows=rows,
            named=sum(1 for answer in answers if answer is not None and not answer.abstained),
            abstained=sum(1 for answer in answers if answer is not None and answer.abstained),
            failed=sum(1 for answer in answers if answer is None),
            style=asset("report.css"),
            generated_at=datetime.now(UTC),
        )
    )


def _row(entry: IndexEntry, page: str) -> _Row:
    source = one_line(entry.source, 200)
    answer = _attribution(entry)
    if answer is None:
        return _Row(source=source, page=quote(page), problem=one_line(entry.problem or "no diagnosis", 300))
    if answer.abstained:
        return _Row(source=source, page=quote(page), problem=one_line(answer.abstained_reason or "abstained", 300))
    return _Row(
        source=source,
        page=quote(page),
        agent=one_line(answer.agent or "", 120),
        step="" if answer.step is None else str(answer.step),
        mode=f"{answer.error_mode} {answer.error_mode.title}" if answer.error_mode is not None else "",
        confidence=f"{answer.confidence:.0%}, {answer.certainty}",
    )


def _attribution(entry: IndexEntry) -> Attribution | None:
    return entry.run.attempts[-1].attribution if entry.run is not None and entry.run.attempts else None
