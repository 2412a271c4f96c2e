"""Reports of runs for people: a self-contained web page, and a diagnosis for the terminal."""

from tracer_hooks.report._index import IndexEntry, write_index
from tracer_hooks.report._page import render_html, write_html
from tracer_hooks.report._records import ReportAttempt, ReportRun
from tracer_hooks.report._suggestions import suggestion
from tracer_hooks.report._terminal import diagnosis_text

__all__ = [
    "IndexEntry",
    "ReportAttempt",
    "ReportRun",
    "diagnosis_text",
    "render_html",
    "suggestion",
    "write_html",
    "write_index",
]
