"""What came of improving a team's prompts, as one HTML file that needs nothing beside it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tracer_hooks.report._page import draw, write_page

_MOST_REFUSED = 20


@dataclass(frozen=True, kw_only=True)
class ReportComparison:
    """The same tasks with the prompts before and with the new ones."""

    title: str
    """Which tasks."""
    before: float
    """Share of runs that passed before."""
    after: float
    """Share that passed with the new prompts."""
    figures: str
    """The same in numbers, with the difference and its interval."""
    meaning: str = ""
    """What the interval says, where it needs words."""


@dataclass(frozen=True, kw_only=True)
class ReportRefused:
    """Texts that were written and not kept for the same reason."""

    agent: str
    """Whose instructions they would have been."""
    why: str
    """The reason."""
    count: int = 1
    """How many there were."""
    text: str = ""
    """One of them; empty where nothing could be read out of the answer."""


@dataclass(frozen=True, kw_only=True)
class ReportImprovement:
    """An improvement in words and figures, for a terminal and for a page."""

    team: str
    """The team's name."""
    framework: str
    """Its framework."""
    heading: str
    """What it came to, no surer than it is."""
    tone: str
    """``succeeded``, ``failed``, ``spread`` for what is open, or ``unknown``."""
    badge: str
    """The outcome in a word."""
    reason: str
    """Why."""
    notes: tuple[str, ...] = ()
    """What else is to be known."""
    parts: tuple[tuple[str, int, str], ...] = ()
    """How the tasks were dealt out: name, count, what for."""
    baseline: str = ""
    """How the team did as it was."""
    blame: tuple[tuple[str, float], ...] = ()
    """Share of the blame for the failures, by agent, the most first."""
    prompts: tuple[tuple[str, str, str], ...] = ()
    """Agents whose instructions change, with the text before and the new one."""
    trial: str = ""
    """What the pairs of runs came to."""
    compared: tuple[ReportComparison, ...] = ()
    """Before and after."""
    search: str = ""
    """What was looked for, and why that ended."""
    refused: tuple[ReportRefused, ...] = ()
    """What was written and not kept."""
    spent: tuple[str, ...] = ()
    """Runs, tokens, money and time."""
    provenance: tuple[tuple[str, str], ...] = ()
    """Where the prompts come from."""
    next: tuple[str, ...] = ()
    """What to do now; a command stands in backticks."""
    generated_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When this was written."""


def render_improvement(found: ReportImprovement) -> str:
    """The page; it loads nothing from anywhere, and everything that comes from the team or a model is escaped."""
    return draw("improvement.html.j2", found=found, most_refused=_MOST_REFUSED, generated_at=found.generated_at)


def write_improvement(path: str | os.PathLike[str], found: ReportImprovement) -> Path:
    """Write the page to ``path``, over an earlier one, and return the path."""
    return write_page(path, render_improvement(found))
