"""Reports of runs for people: a self-contained web page; a diagnosis and its repair for the terminal."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy_names import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.report._improvement import (
        ReportComparison,
        ReportImprovement,
        ReportPair,
        ReportRefused,
        render_improvement,
        write_improvement,
    )
    from tracer_hooks.report._index import IndexEntry, write_index
    from tracer_hooks.report._page import asset, render_html, write_html
    from tracer_hooks.report._records import ReportAttempt, ReportRun
    from tracer_hooks.report._repair_text import repair_line, repair_text
    from tracer_hooks.report._suggestions import suggestion
    from tracer_hooks.report._terminal import diagnosis_text
    from tracer_hooks.report._trial_words import repair_reason

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
        "._improvement": (
            "ReportComparison",
            "ReportImprovement",
            "ReportPair",
            "ReportRefused",
            "render_improvement",
            "write_improvement",
        ),
        "._index": ("IndexEntry", "write_index"),
        "._page": ("asset", "render_html", "write_html"),
        "._records": ("ReportAttempt", "ReportRun"),
        "._repair_text": ("repair_line", "repair_text"),
        "._suggestions": ("suggestion",),
        "._terminal": ("diagnosis_text",),
        "._trial_words": ("repair_reason",),
    },
)
