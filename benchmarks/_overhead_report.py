"""Medians of paired differences with their intervals, and the results as tables and as Markdown."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import random
import statistics
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

RESAMPLES = 4000
"""Resamples of the pairs, drawn with a fixed seed."""


def summarise(bare: Sequence[float], traced: Sequence[float], spans: int) -> dict[str, Any]:
    """What tracing added to a run: the medians of the pairs' differences, and of their differences over their bare run.

    The share is taken pair by pair, since the speed of a shared machine changes from one minute to the next by more
    than what is measured. The 95 % intervals are percentiles over resampled pairs.
    """
    differences = [after - before for before, after in zip(bare, traced, strict=True)]
    shares = [100 * added / before for added, before in zip(differences, bare, strict=True)]
    added = statistics.median(differences)
    return {
        "pairs": len(bare),
        "bare_ms": round(statistics.median(bare), 3),
        "bare_quartiles_ms": _rounded(statistics.quantiles(bare, n=4)[::2]) if len(bare) > 1 else None,
        "traced_ms": round(statistics.median(traced), 3),
        "added_ms": round(added, 3),
        "added_ms_95": _rounded(_interval(differences)),
        "added_percent": round(statistics.median(shares), 1),
        "added_percent_95": [round(value, 1) for value in _interval(shares)],
        "us_per_span": round(1000 * added / spans) if spans else None,
    }


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the least squares line."""
    return statistics.linear_regression(*zip(*points, strict=True)).slope


def _interval(values: Sequence[float]) -> tuple[float, float]:
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES)]


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 3) for value in values]


_DISTRIBUTIONS = (
    "autogen-agentchat",
    "crewai",
    "langgraph",
    "langchain",
    "langchain-core",
    "opentelemetry-sdk",
    "openinference-instrumentation-autogen-agentchat",
    "openinference-instrumentation-crewai",
    "openinference-instrumentation-langchain",
    "opentelemetry-instrumentation-crewai",
    "opentelemetry-instrumentation-langchain",
    "tracer-hooks",
)


def machine() -> dict[str, Any]:
    """Where and with what the numbers were taken."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "cpu": _cpu_model(),
        "load_1_min": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version for name in _DISTRIBUTIONS if (version := _version(name))},
    }


def print_overhead(rows: list[dict[str, Any]], console: Console) -> None:
    table = Table(title="CPU time of a run: 17 operations, scripted models, content captured, exporter to nothing")
    for column in ("framework", "traced by"):
        table.add_column(column)
    for column in ("bare ms", "added ms [95 %]", "added % [95 %]", "target", "spans", "µs/span", "kB/run"):
        table.add_column(column, justify="right")
    for row in rows:
        if row.get("missing"):
            table.add_row(row["framework"], row["label"], f"[dim]{row['missing']}[/dim]")
            continue
        target = row.get("target_percent")
        mark = "" if target is None else f"≤ {target:g} " + ("✓" if row["added_percent"] <= target else "✗")
        table.add_row(
            row["framework"],
            row["label"],
            f"{row['bare_ms']:.2f}",
            f"{row['added_ms']:+.2f} {_shown_interval(row['added_ms_95'], '.2f')}",
            f"{row['added_percent']:+.1f} {_shown_interval(row['added_percent_95'], '.1f')}",
            mark,
            str(row["spans"]),
            str(row["us_per_span"]),
            f"{row['attribute_bytes'] / 1000:.1f}",
        )
    console.print(table)


def print_memory(rows: list[dict[str, Any]], console: Console) -> None:
    table = Table(title="Resident memory of a process that runs the team again and again")
    for column in ("framework", "mode"):
        table.add_column(column)
    for column in ("runs", "MB after a quarter", "MB at the end", "grown MB", "kB/run"):
        table.add_column(column, justify="right")
    for row in rows:
        slope = row["slope_kb_per_run"]
        table.add_row(
            row["framework"],
            row["label"],
            str(row["runs"]),
            f"{row['rss_mb_from']:.1f}",
            f"{row['rss_mb_end']:.1f}",
            f"{row['grown_mb']:+.2f}",
            "" if slope is None else f"{slope:+.2f}",
        )
    console.print(table)


def _shown_interval(ends: list[float], form: str) -> str:
    return f"({ends[0]:{form}} … {ends[1]:{form}})"


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def as_markdown(*documents: dict[str, Any]) -> str:
    """The tables of result files, with the machine and the versions that they hold for."""
    overhead = [row for document in documents for row in document["overhead"]]
    memory = [row for document in documents for row in document["memory"]]
    facts = documents[0]["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    lines = [
        f"Measured on {facts['date'][:10]} with {facts['cpus']} cores ({facts['system']}), Python {facts['python']}; "
        f"{versions}.",
        "",
    ]
    if overhead:
        lines += [
            "| framework | traced by | bare ms | added ms (95 %) | added % (95 %) | target % | spans | µs/span | kB |",
            "|---|---|--:|--:|--:|--:|--:|--:|--:|",
            *(_overhead_line(row) for row in overhead),
            "",
        ]
    if memory:
        lines += [
            "| framework | mode | runs | MB after a quarter | MB at the end | grown MB | kB/run |",
            "|---|---|--:|--:|--:|--:|--:|",
            *(_memory_line(row) for row in memory),
        ]
    return "\n".join(lines).rstrip() + "\n"


def _overhead_line(row: dict[str, Any]) -> str:
    if row.get("missing"):
        return f"| {row['framework']} | {row['label']} | {row['missing']} | | | | | | |"
    target = f"≤ {row['target_percent']:g}" if "target_percent" in row else ""
    cells = (
        row["framework"],
        row["label"],
        f"{row['bare_ms']:.1f}",
        f"{row['added_ms']:.2f} ({row['added_ms_95'][0]:.2f} to {row['added_ms_95'][1]:.2f})",
        f"{row['added_percent']:.1f} ({row['added_percent_95'][0]:.1f} to {row['added_percent_95'][1]:.1f})",
        target,
        row["spans"],
        "" if row["us_per_span"] is None else row["us_per_span"],
        f"{row['attribute_bytes'] / 1000:.1f}",
    )
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _memory_line(row: dict[str, Any]) -> str:
    slope = row["slope_kb_per_run"]
    cells = (
        row["framework"],
        row["label"],
        row["runs"],
        row["rss_mb_from"],
        row["rss_mb_end"],
        f"{row['grown_mb']:+.2f}",
        "" if slope is None else f"{slope:+.2f}",
    )
    return "| " + " | ".join(str(cell) for cell in cells) + " |"
