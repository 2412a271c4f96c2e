"""Numbers, times and odd characters as a person reads them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tracer_hooks._safe_text import on_screen
from tracer_hooks.schema import Attribution, RunOutcome, StepKind, Trajectory, to_text

OUTCOMES = {RunOutcome.SUCCEEDED: "Succeeded", RunOutcome.FAILED: "Failed", RunOutcome.UNKNOWN: "Unknown"}
KINDS = {
    StepKind.MESSAGE: "message",
    StepKind.TOOL_CALL: "tool call",
    StepKind.HANDOFF: "hand-off",
    StepKind.ERROR: "error",
}


def clean(value: object) -> str:
    """``value`` as text that is safe in any page or terminal: every invisible control character is made visible."""
    return on_screen(to_text(value).replace("\r\n", "\n"))


def one_line(value: object, limit: int) -> str:
    """``value`` on one line of at most ``limit`` characters."""
    text = " ".join(clean(to_text(value)[: limit * 4]).split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def in_seconds(seconds: float | None) -> str:
    """A duration: ``"340 ms"``, ``"2.5 s"``, ``"3 min 4 s"``, ``"2 h 5 min"``; empty for None."""
    if seconds is None or seconds < 0:
        return ""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def in_bytes(count: int) -> str:
    """A size: ``"912 bytes"``, ``"4.1 kB"``, ``"1.0 MB"``."""
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def duration(trajectory: Trajectory) -> float | None:
    """Seconds from the first start to the last end of a step; None when times are missing."""
    starts = [step.started_at for step in trajectory.steps if step.started_at is not None]
    ends = [step.ended_at for step in trajectory.steps if step.ended_at is not None]
    return (max(ends) - min(starts)).total_seconds() if starts and ends else None


def lasted(started_at: datetime | None, ended_at: datetime | None) -> float | None:
    """Seconds between two moments; None when one is missing."""
    return None if started_at is None or ended_at is None else (ended_at - started_at).total_seconds()


def certainty_words(attribution: Attribution) -> str:
    """What the certainty of a diagnosis means for the reader."""
    words = {
        "clear": "clear: the step holds a wrong value, an error or a contradiction that you can check",
        "likely": "likely: check the other candidates, too",
        "weak": "weak: a place to start reading, no more",
    }
    return words.get(attribution.certainty or "", "")


def agent_words(attribution: Attribution) -> str:
    """How likely the agent is right, whatever the step; empty when not known, or when it reads as the step's does."""
    if attribution.agent_confidence is None or attribution.agent is None:
        return ""
    said = f"{attribution.agent_confidence:.0%}"
    return "" if said == f"{attribution.confidence:.0%}" else f"{attribution.agent}, at this step or another: {said}"


def belief_note(shown: Sequence[float], *, steps: int) -> str:
    """Why the beliefs in a list do not add up to 100 %; empty when they do.

    Args:
        shown: The beliefs in the list.
        steps: How many steps the run has.
    """
    total = sum(shown)
    if not shown or total >= 0.995:
        return ""
    kept = "causes that leave no trace in the run"
    rest = f"is kept back for {kept}" if len(shown) >= steps else f"is for steps that are not listed, or for {kept}"
    return f"These beliefs add up to {total:.0%}; the rest {rest}."


def verdict(attribution: Attribution) -> str:
    """The diagnosis in one sentence."""
    return clean(attribution.headline)
