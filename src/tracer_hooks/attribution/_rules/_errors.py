"""Steps that raised, and errors that a terminal reports about another agent's code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracer_hooks.attribution._reading._passage import Passage
from tracer_hooks.attribution._reading._roles import Role
from tracer_hooks.attribution._reading._trace import Trace
from tracer_hooks.attribution._rules._signal import DECISIVE, MODERATE, STRONG, WEAK, Family, Signal
from tracer_hooks.schema import ErrorMode, RunOutcome, StepKind

ERROR_MARKER = re.compile(
    r"exit ?code:?\s*[1-9-]\d*|Traceback \(most recent call last\)|\bexecution failed\b"
    r"|^\s*(?:[A-Za-z_]\w*\.){0,5}\w{0,40}(?:Error|Exception)\b\s*[:(]|^\s*(?:error|fatal error|exception)\b\s*[:\-]",
    re.IGNORECASE | re.MULTILINE,
)
_ERROR_LINE = re.compile(r"^\s*(?:[A-Za-z_]\w*\.){0,5}[A-Z]\w{0,40}(?:Error|Exception)\b.*$", re.MULTILINE)
OUTAGE = re.compile(
    r"connection ?(?:refused|reset|error|aborted)|connect ?timeout|(?:read|request|api) ?time(?:d)? ?-?out|timed out"
    r"|TimeoutError|APIConnection|ServiceUnavailable|service unavailable|bad gateway|gateway time-?out"
    r"|internal ?server ?error"
    r"|InternalServerError|rate ?limit|too many requests|overloaded|insufficient_quota"
    r"|(?:error code|status(?: code)?|http(?:/\d\.\d)?)\W{0,3}(?:429|5\d\d)|name or service not known"
    r"|network is unreachable|remote end closed|server disconnected|RemoteProtocolError|peer closed connection",
    re.IGNORECASE,
)

_STOPPED = re.compile(r"CancelledError|KeyboardInterrupt|GeneratorExit|GraphInterrupt|\bcancell?ed\b|\binterrupted\b")


def raised_steps(trace: Trace) -> Iterator[Signal]:
    """Steps that gave no reply since something raised in them."""
    last = trace.acts[-1] if trace.acts else -1
    for index in trace.acts:
        step = trace.steps[index]
        if step.kind is not StepKind.ERROR and step.error is None:
            continue
        if step.error and (_STOPPED.search(step.error[:500]) or _echoes_tool(trace, index)):
            continue  # stopped from outside, or the same exception as a tool's, on its way up
        ended_it = index >= last or bool(step.error and _same_error(step.error, trace.trajectory.outcome_reason))
        yield Signal(
            family=Family.ERROR,
            step=index,
            weight=DECISIVE if ended_it else MODERATE,
            mode=ErrorMode.FM_3_1,
            why=f"{step.agent!r} raised" + (" and the run ended there" if ended_it else ", and the run went on"),
            quote=_headline(trace, index),
        )


def reported_errors(trace: Trace) -> Iterator[Signal]:
    """Errors that a terminal or an environment printed: the author of the code answers for them, not the messenger."""
    reports = [index for index, role in enumerate(trace.roles) if role is Role.REPORTER]
    failing = [index for index in reports if _marker(trace, index) is not None]
    succeeded_after = max((index for index in reports if index not in set(failing)), default=-1)
    for order, report in enumerate(failing):
        author = trace.author_before(report)
        if author is None or trace.roles[author] is Role.REPORTER:
            continue
        writer, runner = trace.steps[author].agent, trace.steps[report].agent
        overcome = succeeded_after > report and trace.trajectory.outcome is not RunOutcome.FAILED
        first = STRONG if not overcome else MODERATE
        yield Signal(
            family=Family.ERROR,
            step=author,
            weight=first if order == 0 else WEAK,
            mode=ErrorMode.FM_3_2,
            why=f"what {writer!r} wrote here failed when {runner!r} ran it (step {report})",
            quote=_code_or_first_words(trace, author),
        )


def outage(trace: Trace) -> Signal | None:
    """Whether the run ended because the model endpoint could not be reached, whatever the team did."""
    errors = [index for index in trace.acts if trace.steps[index].kind is StepKind.ERROR]
    if not errors or errors[-1] != trace.acts[-1]:
        return None
    for index in errors:
        step = trace.steps[index]
        if OUTAGE.search((step.error or step.content)[:4_000]) is None:
            return None
    last = errors[-1]
    return Signal(
        family=Family.ERROR,
        step=last,
        weight=DECISIVE,
        mode=ErrorMode.FM_3_1,
        why="the model endpoint could not be reached, and the run ended there",
        quote=_headline(trace, last),
    )


def report_of_error(trace: Trace, author: int) -> tuple[int, str] | None:
    """The first report of an error about a step, with a quotation of it."""
    for index in range(author + 1, min(author + 4, len(trace.steps))):
        if trace.roles[index] is Role.REPORTER:
            quote = _marker(trace, index)
            return (index, quote) if quote else None
    return None


def _marker(trace: Trace, index: int) -> str | None:
    for passage in trace.passages(index, "content", "result", "tool error"):
        quote = passage.search(_ERROR_LINE) if passage.search(ERROR_MARKER) else None
        if quote:
            return quote
        quote = passage.search(ERROR_MARKER)
        if quote:
            return quote
    return None


def _headline(trace: Trace, index: int) -> str | None:
    for passage in trace.passages(index, "error", "tool error", "content"):
        quote = passage.search(_ERROR_LINE) or _first_line(passage)
        if quote:
            return quote
    return None


def _first_line(passage: Passage) -> str | None:
    start = len(passage.raw) - len(passage.raw.lstrip())
    return passage.quote_raw(start, start + 1) if start < len(passage.raw) else None


def _code_or_first_words(trace: Trace, index: int) -> str | None:
    passage = trace.content(index)
    if passage is not None:
        at = passage.raw.find("```")
        line = passage.raw.find("\n", at)
        if at >= 0 and 0 < line < len(passage.raw) - 1:
            return passage.quote_raw(line + 1, line + 2) or trace.first_words(index)
    return trace.first_words(index)


def _echoes_tool(trace: Trace, index: int) -> bool:
    error = trace.steps[index].error or ""
    failures = (call.error for step in trace.steps[max(0, index - 5) : index + 1] for call in step.failed_tools)
    return any(failure and (failure.strip() in error or error.strip() in failure) for failure in failures)


def _same_error(error: str, reason: str | None) -> bool:
    return bool(reason) and error.strip()[:80] in (reason or "")
