"""The results as Markdown, for docs/benchmarks.md."""

from __future__ import annotations

from typing import Any


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
