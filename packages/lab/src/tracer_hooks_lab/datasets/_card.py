"""The data card of a labelled set, after Datasheets for Datasets (Gebru et al. 2021, arXiv 1803.09010)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from tracer_hooks.datasets import LabeledSet
from tracer_hooks.journal import write_atomically
from tracer_hooks_lab.datasets._audit import audit_markdown
from tracer_hooks_lab.datasets._audit_records import DatasetAudit
from tracer_hooks_lab.datasets._stats import DatasetStats, stats_markdown

_FEW_RUNS = 100
_LOW_YIELD = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class HowBuilt:
    """Facts that only the builder knows of a set."""

    command: str
    """The command that built it."""
    model: str
    """The model behind the team, with its version."""
    seeds: tuple[int, ...] = ()
    """The seeds of the build."""
    summary: str = "Runs of teams of LLM agents that failed, each with its decisive error step."
    """One sentence on what the set is."""
    details: Mapping[str, str] = field(default_factory=dict)
    """More rows of the table: the writer of the faults, the machine, the date."""
    splits: Mapping[str, LabeledSet] = field(default_factory=dict)
    """The parts, when the set was split."""
    limits: tuple[str, ...] = ()
    """Known limits, besides those that the figures show."""
    licence: str = "Not stated."
    """The licence of the set, and of what it was made from."""


def write_card(
    folder: str | Path, stats: DatasetStats, audit: DatasetAudit | None, *, title: str, how: HowBuilt
) -> Path:
    """Write ``card.md``, ``stats.json`` and, when there is an audit, ``audit.json`` to ``folder``, all or none.

    Returns:
        The card's path.

    Raises:
        DatasetError: A file cannot be written; the old ones are as they were.
    """
    place = Path(folder)
    files = {
        place / "card.md": _card(stats, audit, title, how).encode(),
        place / "stats.json": f"{stats.model_dump_json(indent=2)}\n".encode(),
    }
    if audit is not None:
        files[place / "audit.json"] = f"{audit.model_dump_json(indent=2)}\n".encode()
    write_atomically(files)
    return place / "card.md"


def _card(stats: DatasetStats, audit: DatasetAudit | None, title: str, how: HowBuilt) -> str:
    import jinja2  # not with the module: `import tracer_hooks` stays fast for those who write no card

    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["cell"] = _cell
    template = resources.files("tracer_hooks_lab.datasets").joinpath("card.md.j2").read_text(encoding="utf-8")
    shown = {
        "summary": how.summary,
        "rows": _rows(how),
        "splits": [(name, len(part.labeled), len(part.clean)) for name, part in how.splits.items()],
        "licence": how.licence,
    }
    text = environment.from_string(template).render(
        title=title,
        how=shown,
        composition=stats_markdown(stats),
        audit=audit_markdown(audit) if audit is not None else "",
        limits=[*how.limits, *_limits(stats, audit)] or ["None known."],
    )
    return text.rstrip() + "\n"


def _rows(how: HowBuilt) -> list[tuple[str, str]]:
    rows = [("command", f"`{how.command}`"), ("model", how.model)]
    if how.seeds:
        rows.append(("seeds", ", ".join(map(str, how.seeds))))
    return [*rows, *how.details.items()]


def _limits(stats: DatasetStats, audit: DatasetAudit | None) -> list[str]:
    """List the limits that the figures themselves show."""
    limits = []
    if stats.labeled < _FEW_RUNS:
        limits.append(f"Only {stats.labeled} labelled runs: every figure made on them is uncertain.")
    if stats.injection_yield.value is not None and stats.injection_yield.value < _LOW_YIELD:
        share = f"{stats.injection_yield.value:.0%}"
        limits.append(f"Only {share} of the attempted faults made the team fail reliably: mild faults are missing.")
    if stats.labeled and stats.counts["label source"].get("injected") == stats.labeled:
        limits.append("All failures were brought about; a team's natural failures may look different.")
    if audit is None:
        limits.append("It was not audited for leaks.")
    elif not audit.passed:
        limits.append("The audit failed: something that understands nothing finds the faults.")
    elif any(check.verdict == "unclear" and check.is_binding for check in audit.checks):
        limits.append("The audit found no leak, with too few runs to rule one out for every check.")
    return limits


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")
