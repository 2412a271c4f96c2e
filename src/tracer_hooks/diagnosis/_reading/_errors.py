"""Errors in a run: what raised, what a tool or a terminal reports, what was said after it, and what stopped the run."""

from __future__ import annotations

import re

from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import parsed_json
from tracer_hooks.schema import Step, StepKind, ToolCall
from tracer_hooks.telemetry import is_outage

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
LIMIT_REACHED = re.compile(
    r"max(?:imum)?[ _]?(?:number of )?(?:turns?|messages?|steps?|iterations?|rounds?|iter)\b"
    r"|recursion ?limit|GraphRecursion"
    r"|(?:turn|step|iteration|message) limit|stall|too many (?:steps|turns)|without reaching a stop",
    re.IGNORECASE,
)
ADMITS = re.compile(
    r"\b(?:fail|error|unable|could ?n[o']t|can ?not|can't|not (?:available|able|found|possible)"
    r"|unavailable|sorry|apolog"
    r"|did(?: not|n't)|issue|problem|retry|try again|unknown|without (?:the|that|a)|went wrong|timed? ?out)",
    re.IGNORECASE,
)
_SOFT_ERROR = re.compile(
    r"\s*(?:Traceback \(most recent|(?:[A-Za-z_]\w*\.){0,5}\w{0,40}(?:Error|Exception)\b\s*[:(]"
    r"|(?:tool |function )?(?:execution )?(?:error|failed|failure|exception)\b|invalid (?:tool|argument|input)"
    r"|(?:HTTP )?(?:status(?: code)? ?:?)? ?[45]\d\d\b (?:[A-Z]))",
    re.IGNORECASE,
)


def limit_reached(run: RunReading) -> bool:
    """Tell whether the framework stopped the run for its length."""
    trajectory = run.trajectory
    said = (trajectory.outcome_reason, trajectory.stop_reason)
    return any(LIMIT_REACHED.search((reason or "")[:2_000]) for reason in said)


def prints_error(run: RunReading, step: int) -> bool:
    """Tell whether a step's words, or what its tools returned, have the marks of an error message."""
    return any(ERROR_MARKER.search(passage.text) for passage in run.passages(step, "content", "result", "tool error"))


def outage_at(run: RunReading) -> int | None:
    """The last step of a run that ended because the model endpoint could not be reached; None for any other run."""
    errors = [index for index in run.acts if run.steps[index].kind is StepKind.ERROR]
    if not errors or errors[-1] != run.acts[-1]:
        return None
    return errors[-1] if all(is_unreachable(run.steps[index]) for index in errors) else None


def is_unreachable(step: Step) -> bool:
    """Tell by its class, else by its text, whether the error of a step means that the model could not be reached."""
    text = step.error or step.content
    return (step.error_type is not None and is_outage(step.error_type)) or OUTAGE.search(text[:4_000]) is not None


def error_line(run: RunReading, step: int) -> str | None:
    """The line of a step that raised which names the error, else its first words."""
    for passage in run.passages(step, "error", "tool error", "content"):
        start = len(passage.raw) - len(passage.raw.lstrip())
        first = passage.quote_raw(start, start + 1) if start < len(passage.raw) else None
        quote = passage.search(ERROR_LINE) or first
        if quote:
            return quote
    return None


def failure_text(call: ToolCall) -> str | None:
    """Why a call failed: its error, or a result that is itself an error message. None when it went well."""
    if call.error is not None:
        return call.error or "error"
    result = call.result or ""
    if _SOFT_ERROR.match(result[:400]):
        return result
    return _error_in_json(result)


def _error_in_json(result: str) -> str | None:
    """The message under a key such as ``error`` of a JSON object: there the key is the structure, not a chance word."""
    text = result.strip()
    if not text.startswith("{") or len(text) > 20_000:
        return None
    data = parsed_json(text)
    if not isinstance(data, dict):
        return None
    for key in ("error", "exception", "error_message"):
        value = data.get(key)
        if isinstance(value, str) and value.strip():
            return value if value in result else text[:200]
        if isinstance(value, dict) and value:
            return text[:200]
    return None


def last_successes(run: RunReading) -> dict[str, int]:
    """The last step in which a call of each tool went well."""
    found: dict[str, int] = {}
    for step in reversed(run.steps):
        for call in step.tool_calls:
            if call.name not in found and failure_text(call) is None:
                found[call.name] = step.index
    return found


def reply_after(run: RunReading, step: int) -> int | None:
    """The caller's next text, or the next agent's when the caller says nothing more."""
    caller = run.next_act(step, agent=run.steps[step].agent)
    for candidate in (caller, run.next_act(step)):
        if (
            candidate is not None
            and run.steps[candidate].kind is StepKind.MESSAGE
            and run.steps[candidate].content.strip()
        ):
            return candidate
    return None
