"""Kinds of finding: how one is defined, looked for, worded and weighed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.schema import MAX_FINDING_QUOTE, ErrorMode, Finding, FindingKind, FindingValues

Find = Callable[[RunReading], Iterator[Finding]]
Advise = Callable[[Finding], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class KindOfFinding:
    """One kind of finding."""

    kind: FindingKind
    definition: str
    """One sentence: what is found, and when the kind is silent."""
    find: Find
    """Looks for it in a run of any outcome; yields nothing where it is unsure."""
    mode: ErrorMode | None = None
    """The MAST mode that it shows; None where none fits, or where it depends."""
    modes: Mapping[str, ErrorMode] = field(default_factory=dict)
    """By detail, the mode where it is another one."""
    blame: Mapping[str, float] = field(default_factory=dict)
    """By detail, how often the step that it stands at was the decisive one on labelled runs, where the rejected answer
    rested on it; a detail that is not named carries no blame."""
    advice: Advise | None = None
    """What to try, in one sentence; None, or an empty text, where nothing specific can be said."""


def finding(
    run: RunReading,
    kind: FindingKind,
    text: str,
    *,
    step: int | None = None,
    detail: str = "",
    quote: str | None = None,
    claimed: str | None = None,
    right: str | None = None,
    source: int | None = None,
    subject: str | None = None,
    leads_to_answer: bool = False,
) -> Finding:
    """Make a finding, with the agent of its step and a full stop.

    Args:
        run: The run that it is found in.
        kind: Its kind.
        text: The sentence, with or without its full stop.
        step: Where it shows; None for the run as a whole.
        detail: A closer kind.
        quote: Words of the step, around the wrong place.
        claimed: The value as the run has it.
        right: The value that it should be.
        source: The step that the right value stands in.
        subject: The tool, field or error that it is about.
        leads_to_answer: The rejected answer rests on it.
    """
    values = FindingValues(claimed=claimed, right=right, source=source, subject=subject)
    return Finding(
        kind=kind,
        detail=detail,
        step=step,
        agent=None if step is None else run.steps[step].agent,
        quote=(quote or "")[:MAX_FINDING_QUOTE],
        text=text if text.endswith((".", "!", "?", "…")) else text + ".",
        values=values if values != FindingValues() else None,
        leads_to_answer=leads_to_answer,
    )
