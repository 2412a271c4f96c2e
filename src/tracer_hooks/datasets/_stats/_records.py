"""The statistics of a labelled set, as records."""

from __future__ import annotations

from tracer_hooks.datasets._stats._rate import Rate
from tracer_hooks.schema import Record

UNKNOWN = "-"
"""Stands for a value that is not recorded."""


class Summary(Record):
    """How some numbers are spread."""

    count: int
    """How many there are."""
    mean: float
    """Their mean."""
    median: float
    """The middle one."""
    low: float
    """The smallest."""
    high: float
    """The largest."""


class Yield(Record):
    """How many attempts to inject one kind of fault became labelled runs."""

    mode: str
    """The error mode's code; ``-`` for faults without one, such as those of tools."""
    strategy: str
    """How the fault was put in."""
    verified: Rate
    """Verified faults among the attempted ones."""


class Cost(Record):
    """What a labelled run cost, the discarded attempts included where they recorded it."""

    runs: float | None = None
    """Runs of a team; None when not recorded."""
    tokens: float | None = None
    """Tokens read and written; None when not recorded."""
    seconds: float | None = None
    """Seconds; None when not recorded."""


class DatasetStats(Record):
    """What a labelled set holds."""

    labeled: int
    """Labelled runs."""
    clean: int
    """Passing runs."""
    discarded: int
    """Attempts that gave no label."""
    pairs: int
    """Labelled runs with a passing run beside them."""
    questions: int
    """Different questions, those of the passing runs included."""
    counts: dict[str, dict[str, int]]
    """How many labelled runs have each value, most frequent first: ``label source``, ``framework``, ``architecture``,
    ``suite``, ``mode``, ``strategy``, ``kind``, ``writer``, ``agent``, ``step`` (its index), ``position`` (in fifths
    of the run), and ``reason`` of the discarded attempts. A value that is not recorded counts as ``-``."""
    lengths: dict[str, Summary]
    """Steps of a run: ``labeled`` and ``clean``; a kind that has no runs is not there."""
    yields: tuple[Yield, ...]
    """Verified injections by mode and strategy; discarded attempts without a strategy were no injections, and are in
    ``counts["reason"]`` only."""
    injection_yield: Rate
    """Verified injections among all of ``yields``."""
    verified_failures: Rate
    """Runs with the fault in place that failed, over the labelled runs."""
    control_passes: Rate
    """Runs without the fault that passed, over the labelled runs."""
    flips: Rate
    """Replays with a correction that passed, over the runs labelled by counterfactual replay."""
    control_flips: Rate
    """Replays without a correction that passed."""
    random_flips: Rate
    """Replays with a correction at a random other step that passed."""
    cost: Cost
    """Cost of one labelled run."""
