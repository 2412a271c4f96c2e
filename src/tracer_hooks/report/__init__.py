"""Reports of runs for people: a self-contained web page; a diagnosis and its repair for the terminal."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.report._diagnosis import diagnosis_text, suggestion
    from tracer_hooks.report._improvement import (
        ReportComparison,
        ReportImprovement,
        ReportPair,
        ReportRefused,
        render_improvement,
        write_improvement,
    )
    from tracer_hooks.report._page import IndexEntry, asset, render_html, write_html, write_index
    from tracer_hooks.report._trials import ReportAttempt, ReportRun, repair_line, repair_reason, repair_text

__all__ = [
    "IndexEntry",
    "ReportAttempt",
    "ReportComparison",
    "ReportImprovement",
    "ReportPair",
    "ReportRefused",
    "ReportRun",
    "asset",
    "diagnosis_text",
    "render_html",
    "render_improvement",
    "repair_line",
    "repair_reason",
    "repair_text",
    "suggestion",
    "write_html",
    "write_improvement",
    "write_index",
]

lazy_names(
    __name__,
    {
        "._diagnosis": ("diagnosis_text", "suggestion"),
        "._improvement": (
            "ReportComparison",
            "ReportImprovement",
            "ReportPair",
            "ReportRefused",
            "render_improvement",
            "write_improvement",
        ),
        "._page": ("IndexEntry", "asset", "render_html", "write_html", "write_index"),
        "._trials": ("ReportAttempt", "ReportRun", "repair_line", "repair_reason", "repair_text"),
    },
)
