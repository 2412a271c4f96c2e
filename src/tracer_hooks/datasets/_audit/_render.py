"""An audit as tables, for a terminal and for the data card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracer_hooks.datasets._audit._records import Check, DatasetAudit
from tracer_hooks.datasets._stats import TextTable

if TYPE_CHECKING:
    from rich.console import RenderableType

_MOST_ROWS = 20


def audit_tables(audit: DatasetAudit) -> RenderableType:
    """What :func:`rich.print` shows of an audit: the checks, the findings, the words, and the verdict last."""
    from rich.console import Group
    from rich.text import Text

    notes = [Text(f"note: {note}", "dim") for note in audit.notes]
    verdict = Text(_verdict(audit), "bold green" if audit.passed else "bold red")
    return Group(*(table.to_rich() for table in _tables(audit)), *notes, verdict)


def audit_markdown(audit: DatasetAudit) -> str:
    """The same in markdown, under headings of the third level, the verdict first."""
    notes = "\n".join(f"- {note}" for note in audit.notes)
    parts = [f"**{_verdict(audit)}**", *(table.to_markdown() for table in _tables(audit)), notes]
    return "\n\n".join(part for part in parts if part)


def _verdict(audit: DatasetAudit) -> str:
    unclear = [check.name for check in audit.checks if check.verdict == "unclear" and check.is_binding]
    failures = sum(finding.severity == "fail" for finding in audit.findings)
    verdict = "The audit passed." if audit.passed else f"The audit failed: {failures} findings."
    return f"{verdict} Too few runs to tell: {', '.join(unclear)}." if unclear else verdict


def _tables(audit: DatasetAudit) -> list[TextTable]:
    tables = [_checks(audit)]
    if audit.findings:
        rows = tuple((one.severity, one.kind, one.message) for one in audit.findings)
        tables.append(TextTable("Findings", ("severity", "kind", "what"), rows, words=frozenset({"kind", "what"})))
    if audit.leak_words:
        words = tuple(
            (one.words, str(one.faulty), str(one.clean), f"{one.log_odds:+.2f}", f"{one.z:+.1f}")
            for one in audit.leak_words[:_MOST_ROWS]
        )
        columns = ("words", "faulty steps", "clean steps", "log odds", "z")
        tables.append(TextTable("Words that tell faulty from clean steps", columns, words))
    if audit.near_duplicates:
        doubles = tuple(
            (one.kind, str(one.size), ", ".join(one.parts) or "-", one.text)
            for one in audit.near_duplicates[:_MOST_ROWS]
        )
        columns4 = ("kind", "texts", "parts", "beginning")
        tables.append(TextTable("Near-duplicates", columns4, doubles, words=frozenset({"parts", "beginning"})))
    return tables


def _checks(audit: DatasetAudit) -> TextTable:
    columns = ("check", "runs", "figure [95 %]", "prior", "allowed", "p", "verdict")
    return TextTable("What finds the fault, per cent", columns, tuple(_row(check) for check in audit.checks))


def _row(check: Check) -> tuple[str, ...]:
    """The verdict of a check that only informs stands in brackets."""
    name = f"{check.name} (AUC)" if check.measure == "auc" else check.name
    return (
        name if check.source == "injected" else f"{check.source}: {name}",
        str(check.runs),
        f"{100 * check.value:.1f} [{100 * check.low:.1f}, {100 * check.high:.1f}]",
        f"{100 * check.prior:.1f}",
        f"{100 * (check.prior + check.margin):.1f}",
        f"{check.p_value:.3f}",
        check.verdict if check.is_binding else f"({check.verdict})",
    )
