"""The results as tables for people, and the facts about the machine that go with them."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

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
            f"{row['added_ms']:+.2f} {_interval(row['added_ms_95'], '.2f')}",
            f"{row['added_percent']:+.1f} {_interval(row['added_percent_95'], '.1f')}",
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


def _interval(ends: list[float], form: str) -> str:
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
