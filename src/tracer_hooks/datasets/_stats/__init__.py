"""What a labelled set holds, what its faults yielded, and what it cost."""

from tracer_hooks.datasets._stats._compute import stats
from tracer_hooks.datasets._stats._rate import Rate, rate_of
from tracer_hooks.datasets._stats._records import Cost, DatasetStats, Summary, Yield
from tracer_hooks.datasets._stats._render import stats_markdown, stats_tables
from tracer_hooks.datasets._stats._text_table import TextTable

__all__ = [
    "Cost",
    "DatasetStats",
    "Rate",
    "Summary",
    "TextTable",
    "Yield",
    "rate_of",
    "stats",
    "stats_markdown",
    "stats_tables",
]
