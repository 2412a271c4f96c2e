"""Steps that raised, and errors that a terminal reports about another agent's code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import StepPassage, code_spans
from tracer_hooks.diagnosis._rules._signal import DECISIVE, MODERATE, STRONG, WEAK, Family, Signal
from tracer_hooks.diagnosis._wording import one_line
from tracer_hooks.schema import ErrorMode, RunOutcome, StepKind

ERROR_MARKER = re.compile(
    r"exit ?code:?\s*[1-9-]\d*|Traceback \(most recent call last\)|\bexecution failed\b"
    r"|^\s*(?:[A-Za-z_]\w*\.){0,5}\w{0,40}(?:Error|Exception)\b\s*[:(]|^\s*(?:error|fatal error|exception)\b\s*[:\-]",
    re.IGNORECASE | re.MULTILINE,
)
ERROR_LINE = re.compile(r"^\s*(?:[A-Za-z_]\w*\.){0,5}[A-Z]\w{0,40}(?:Error|Exception)\b.*$", re.MULTILINE)
OUTAGE = re.compile(
    r"connection ?(?:refused|reset|error|aborted)|connect ?timeout|(?:read|request|api) ?time(?:d)? ?-?out|timed out"
    r"|TimeoutError|APIConnection|ServiceUnavailable|service unavailable|bad gateway|gateway time-?out"
    r"|internal ?server ?error"
    r"|InternalServerError|rate ?limit|too many requests|overloaded|insufficient_quota"
    r"|(?:error code|status(?: code)?|http(?:/\d\.\d)?)\W{0,3}(?:429|5\d\d)|name or service not known"
    r"|network is unreachable|remote end closed|server disconnected|RemoteProtocolError|peer closed connection",
    re.IGNORECASE,
)

_MOST_BLOCKS = 20
_LONGEST_REPORT = 20_000
_TELLING = 6
"""Characters from which a line of code is more than a bracket."""
_STOPPED = re.compile(r"CancelledError|KeyboardInterrupt|GeneratorExit|GraphInterrupt|\bcancell?ed\b|\binterrupted\b")


def raised_steps(trace: RunReading) -> Iterator[Signal]:
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
            why=f"{step.agent!r} raised an error here, and the run "
            + ("ended there." if ended_it else "went on after it."),
            quote=_headline(trace, index),
        )


def reported_errors(trace: RunReading) -> Iterator[Signal]:
    """Errors that a terminal or an environment printed: the author of the code answers for them, not the messenger."""
    reports = [index for index, role in enumerate(trace.roles) if role is Role.REPORTER]
    failing = [index for index in reports if marker_in(trace, index) is not None]
    succeeded_after = max(set(reports) - set(failing), default=-1)
    for order, report in enumerate(failing):
        author = trace.author_before(report)
        if author is None or trace.roles[author] is Role.REPORTER:
            continue
        overcome = succeeded_after > report and trace.trajectory.outcome is not RunOutcome.FAILED
        first = STRONG if not overcome else MODERATE
        yield Signal(
            family=Family.ERROR,
            step=author,
            weight=first if order == 0 else WEAK,
            mode=ErrorMode.FM_3_2,
            why=_told(trace, author, report),
            quote=line_at_fault(trace, author, report) or first_code_line(trace, author),
        )


def outage(trace: RunReading) -> Signal | None:
    """Tell whether the run ended because the model endpoint could not be reached, whatever the team did."""
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
        why="The model endpoint could not be reached or refused to answer, and the run ended there.",
        quote=_headline(trace, last),
    )


def marker_in(trace: RunReading, index: int) -> str | None:
    """The line of a step that tells of an error."""
    for passage in trace.passages(index, "content", "result", "tool error"):
        quote = passage.search(ERROR_LINE) if passage.search(ERROR_MARKER) else None
        if quote:
            return quote
        quote = passage.search(ERROR_MARKER)
        if quote:
            return quote
    return None


def _headline(trace: RunReading, index: int) -> str | None:
    parts = ("error", "tool error", "content") if trace.steps[index].kind is StepKind.ERROR else ("error", "tool error")
    for passage in trace.passages(index, *parts):
        quote = passage.search(ERROR_LINE) or _first_line(passage)
        if quote:
            return quote
    return None


def _first_line(passage: StepPassage) -> str | None:
    start = len(passage.raw) - len(passage.raw.lstrip())
    return passage.quote_raw(start, start + 1) if start < len(passage.raw) else None


def _told(trace: RunReading, author: int, report: int) -> str:
    writer, runner = trace.steps[author].agent, trace.steps[report].agent
    error = one_line(marker_in(trace, report) or "")
    step = trace.steps[author]
    what = f"the code that {writer!r} writes" if "```" in step.content or step.tool_calls else f"what {writer!r} says"
    return f"After {what} here, {runner!r} reports an error in step {report}: {error!r}."


def first_code_line(trace: RunReading, index: int) -> str | None:
    """The first line of a step's code that does more than import or comment; None without code."""
    first = None
    for passage in trace.passages(index, "content", "arguments"):
        for start, end in islice(code_spans(passage.raw), _MOST_BLOCKS):
            at = start
            for line in passage.raw[start : min(end, start + _LONGEST_REPORT)].splitlines(keepends=True):
                text = line.strip()
                begin, at = at + line.find(text), at + len(line)
                if not any(char.isalnum() for char in text):
                    continue
                quote = passage.quote_raw(begin, begin + len(text))
                first = first or quote
                if not text.startswith(("#", "import ", "from ", '"""')):
                    return quote
    return first


def line_at_fault(trace: RunReading, author: int, report: int) -> str | None:
    """The line of the author's code that the report's traceback shows, the innermost one."""
    lines = [line.strip() for line in trace.steps[report].content[:_LONGEST_REPORT].splitlines()]
    written = trace.steps[author].content
    for line in reversed(lines):
        if len(line) >= _TELLING and not line.startswith(("File ", "Traceback")) and line in written:
            start = written.find(line)
            return StepPassage(written, part="content", limit=len(written)).quote_raw(start, start + len(line))
    return None


def _echoes_tool(trace: RunReading, index: int) -> bool:
    error = trace.steps[index].error or ""
    failures = (call.error for step in trace.steps[max(0, index - 5) : index + 1] for call in step.failed_tools)
    return any(failure and (failure.strip() in error or error.strip() in failure) for failure in failures)


def _same_error(error: str, reason: str | None) -> bool:
    return bool(reason) and error.strip()[:80] in (reason or "")
