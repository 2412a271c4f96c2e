"""Diagnosis on a page and on a terminal: the same lines in every form, and what to do where nobody is named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracer_hooks.report._way import ValueWay
from tracer_hooks.report._wording import View, clean, in_seconds, one_line, styled
from tracer_hooks.schema import (
    LIKELY_FROM,
    Attribution,
    RunOutcome,
    Trajectory,
    explanation,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

_OPENINFERENCE = "leave OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS unset (OpenInference)"
_TRACELOOP = "set TRACELOOP_TRACE_CONTENT=true (OpenLLMetry)"
_GENAI = "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY (OpenTelemetry GenAI)"

# OpenLLMetry and OpenTelemetry's own instrumentations share the beginning of their names.
_BY_SCOPE = (
    ("openinference", (_OPENINFERENCE,)),
    ("traceloop", (_TRACELOOP,)),
    ("opentelemetry.util.genai", (_GENAI,)),
    ("opentelemetry.instrumentation", (_TRACELOOP, _GENAI)),
)
_ANY = (_OPENINFERENCE, _TRACELOOP, _GENAI)


def content_switch(instrumentation: str | None) -> str:
    """Say what to set so that a trace of the team holds texts: for this instrumentation scope, else for each."""
    scope = (instrumentation or "").lower()
    switches = next((found for part, found in _BY_SCOPE if scope.startswith(part)), None)
    if switches is None:
        return f"switch content on in the library that records it: {'; '.join(_ANY)}"
    return " or ".join(switches)


_OURS = ("autogen", "crewai", "langgraph", "python")
"""Frameworks that we hook; a trace that others wrote has no run of its own beside the trace."""


def suggestion(attribution: Attribution, trajectory: Trajectory | None = None) -> str:
    """One sentence on what to try next; empty where nothing specific can be said."""
    if attribution.advice or attribution.certainty is not None:
        return attribution.advice
    return _withheld(attribution, trajectory)


def _withheld(attribution: Attribution, trajectory: Trajectory | None) -> str:
    if attribution.abstained_reason == "environment fault":
        return "Look at the failing tool or service first: no agent's prompt is likely to help."
    if attribution.abstained_reason == "trace too incomplete":
        if trajectory is None or _is_hooked(trajectory):
            return "Record contents (TRACER_HOOKS_RECORD=full) and run the team again."
        if trajectory.trace_id is None:
            return "The record holds no text to judge: look for one with what the agents said."
        switch = content_switch(trajectory.instrumentation)
        return f"The trace holds no text to judge. Where the team runs, {switch}; then record it again."
    unknown = trajectory is not None and trajectory.outcome is RunOutcome.UNKNOWN
    if unknown and attribution.abstained_reason == "no sign of failure":
        return (
            "Nothing says that this run failed. If it did, say so with --failed, or give the right answer with "
            "--expected: tracer-hooks diagnose PATH --failed."
        )
    return "Run the team again, or try another attributor: tracer-hooks diagnose --attributor NAME."


def _is_hooked(trajectory: Trajectory) -> bool:
    own_id = trajectory.run_id != trajectory.trace_id
    return trajectory.framework in _OURS and own_id and trajectory.instrumentation is None


_LONGEST = 600


def diagnosis_view(attribution: Attribution, trajectory: Trajectory, way: ValueWay) -> View:
    """``attribution`` for the template."""
    heading, *lines = explanation(attribution)
    quote = lines.pop(0).text if attribution.heading_finding is not None and attribution.heading_finding.quote else ""
    is_blamed = attribution.certainty in ("clear", "likely")
    return dict(
        found=attribution,
        title=_TITLES[attribution.certainty],
        verdict=heading.text,
        quote=one_line(quote, _LONGEST),
        certainty=attribution.certainty or "abstained",
        tone=_TONES.get(attribution.certainty, ""),
        sure=tuple(_sureness(attribution)),
        is_blamed=is_blamed,
        mode=_mode(attribution),
        lines=[line for line in lines if line.role not in ("advice", "way", "start")],
        places=() if is_blamed or attribution.certainty is None else attribution.places,
        way=way,
        way_tone=_TONES.get(attribution.certainty, "") if way.is_blamed else "",
        suggestion=one_line(suggestion(attribution, trajectory), _LONGEST),
        source=_source(attribution),
    )


_TITLES = {"clear": "What went wrong", "likely": "What went wrong", "weak": "Where to look", None: "What is known"}
_TONES: dict[str | None, str] = {"clear": "failed", "likely": "open"}


def _mode(attribution: Attribution) -> str:
    mode = attribution.error_mode
    is_blamed = attribution.certainty in ("clear", "likely")
    return f"{mode.title} ({mode.value})" if is_blamed and mode is not None else ""


def _sureness(attribution: Attribution) -> Iterator[str]:
    """How sure the diagnosis is, and from what."""
    confidence = f"confidence {attribution.confidence:.0%}"
    if attribution.certainty == "clear":
        yield f"Clear, {confidence}: the rejected answer rests on what was found."
    elif attribution.certainty == "likely":
        yield f"Likely, not certain: {confidence}."
    elif attribution.certainty == "weak":
        yield f"Weak: no step reaches a confidence of {LIKELY_FROM:.0%}, so nobody is blamed."
    if attribution.certainty is not None and attribution.own_labels_right is not None:
        right, tried = attribution.own_labels_right
        yield f"Right in {right} of {tried} of your labels, each judged by a fit that had not seen its question."
    elif attribution.certainty is not None and attribution.attributor.endswith("+fit"):
        yield "The confidence is fitted to labelled runs of your own."


def _source(attribution: Attribution) -> str:
    parts = [clean(attribution.attributor) or "unnamed attributor", in_seconds(attribution.elapsed_s)]
    if attribution.usage is not None:
        parts.append(f"{attribution.usage.total:,} tokens")
    return ", ".join(part for part in parts if part)


_STYLES = {"finding": "", "quote": "italic", "way": "", "start": ""}


def diagnosis_text(trajectory: Trajectory, attribution: Attribution) -> RenderableType:
    """Return what :func:`rich.print` shows of a diagnosis.

    Text from the run is never read as markup, so brackets in it are shown as they are.
    """
    from rich.console import Group

    return Group(*_lines(trajectory, attribution))


def _lines(trajectory: Trajectory, attribution: Attribution) -> Iterator[RenderableType]:
    heading, *lines = explanation(attribution)
    yield styled((one_line(heading.text, 400), "bold red" if attribution.certainty == "clear" else "bold yellow"))
    yield styled((_run_line(trajectory), "dim"))
    for line in lines:
        if line.role not in ("advice", "words"):
            indented = "  " if line.role in ("finding", "quote") else ""
            text = f"“{one_line(line.text, _LONGEST)}”" if line.role == "quote" else one_line(line.text, _LONGEST)
            yield styled((f"{indented}{'  ' if line.role == 'quote' else ''}{text}", _STYLES[line.role]))
    if told := suggestion(attribution, trajectory):
        yield styled(("What to try  ", "bold"), (one_line(told, _LONGEST), ""))
    if attribution.certainty in ("clear", "likely"):
        mode = "" if attribution.error_mode is None else f"{attribution.error_mode.title}, "
        yield styled((f"{mode}confidence {attribution.confidence:.0%}, by {_source(attribution)}", "dim"))
    else:
        yield styled((f"by {_source(attribution)}", "dim"))
    if attribution.explanation is not None:
        yield from (styled((one_line(line.text, 2 * _LONGEST), "")) for line in attribution.explanation.lines)


def _run_line(trajectory: Trajectory) -> str:
    name = one_line(trajectory.team, 60) or "unnamed team"
    parts = [f"run {one_line(trajectory.run_id, 60)} of {name}", f"{len(trajectory.steps)} steps"]
    parts.append(trajectory.outcome.value)
    if trajectory.outcome_reason:
        parts.append(one_line(trajectory.outcome_reason, 160))
    return ", ".join(parts)
