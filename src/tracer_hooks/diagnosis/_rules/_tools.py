"""Tool calls that failed, and what was claimed after them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import parsed_json
from tracer_hooks.diagnosis._rules._errors import OUTAGE
from tracer_hooks.diagnosis._rules._signal import MODERATE, STRONG, WEAK, Family, Signal
from tracer_hooks.schema import ErrorMode, StepKind, ToolCall

_SOFT_ERROR = re.compile(
    r"\s*(?:Traceback \(most recent|(?:[A-Za-z_]\w*\.){0,5}\w{0,40}(?:Error|Exception)\b\s*[:(]"
    r"|(?:tool |function )?(?:execution )?(?:error|failed|failure|exception)\b|invalid (?:tool|argument|input)"
    r"|(?:HTTP )?(?:status(?: code)? ?:?)? ?[45]\d\d\b (?:[A-Z]))",
    re.IGNORECASE,
)
_BAD_ARGUMENTS = re.compile(
    r"TypeError|ValueError|KeyError|ValidationError|IndexError|ZeroDivision|invalid|missing|required|unexpected"
    r"|not (?:a )?valid|must be|unknown|no such|not found|does not exist|cannot parse|malformed",
    re.IGNORECASE,
)
ADMITS = re.compile(
    r"\b(?:fail|error|unable|could ?n[o']t|can ?not|can't|not (?:available|able|found|possible)"
    r"|unavailable|sorry|apolog"
    r"|did(?: not|n't)|issue|problem|retry|try again|unknown|without (?:the|that|a)|went wrong|timed? ?out)",
    re.IGNORECASE,
)


def failure_text(call: ToolCall) -> str | None:
    """Why a call failed: its error, or a result that is itself an error message. None when it went well."""
    if call.error is not None:
        return call.error or "error"
    result = call.result or ""
    if _SOFT_ERROR.match(result[:400]):
        return result
    return _error_in_json(result)


def failed_tools(trace: RunReading) -> Iterator[Signal]:
    """Failed tool calls; the caller answers for them, less so when a later call of the same tool went well."""
    succeeded = last_successes(trace)
    for index in trace.acts:
        for call in trace.steps[index].tool_calls:
            failure = failure_text(call)
            if failure is None:
                continue
            overcome = succeeded.get(call.name, -1) > index
            bad_arguments = _BAD_ARGUMENTS.search(failure[:2_000]) is not None and not OUTAGE.search(failure[:2_000])
            yield Signal(
                family=Family.TOOL,
                step=index,
                weight=WEAK if overcome else STRONG + (WEAK if bad_arguments else 0.0),
                mode=_mode(trace, index, bad_arguments=bad_arguments),
                why=f"The tool {call.name!r}, called by {trace.steps[index].agent!r}, failed here, and "
                + ("a later call of it went well." if overcome else "no later call of it went well."),
                quote=_quote_failure(trace, index, failure),
            )


def claims_after_failure(trace: RunReading) -> Iterator[Signal]:
    """Replies that go on after a failed tool as if it had answered."""
    succeeded = last_successes(trace)
    for index in trace.acts:
        failed = [call for call in trace.steps[index].tool_calls if failure_text(call) is not None]
        if not failed or succeeded.get(failed[0].name, -1) > index:
            continue
        claim = reply_after(trace, index)
        if claim is None or ADMITS.search(trace.prose(claim)):
            continue
        speaker, tool = trace.steps[claim].agent, failed[0].name
        yield Signal(
            family=Family.TOOL,
            step=claim,
            weight=MODERATE + WEAK,
            mode=ErrorMode.FM_2_5,
            why=f"{speaker!r} goes on here without a word about the tool {tool!r}, which failed in step {index}.",
        )


def _mode(trace: RunReading, index: int, *, bad_arguments: bool) -> ErrorMode:
    """How the caller went wrong: it called the tool wrongly, ended there, or went on without what the tool owed it."""
    if bad_arguments:
        return ErrorMode.FM_2_6
    return ErrorMode.FM_3_1 if trace.next_act(index) is None else ErrorMode.FM_2_2


def reply_after(trace: RunReading, index: int) -> int | None:
    """The caller's next text, or the next agent's when the caller says nothing more."""
    caller = trace.next_act(index, agent=trace.steps[index].agent)
    for candidate in (caller, trace.next_act(index)):
        if (
            candidate is not None
            and trace.steps[candidate].kind is StepKind.MESSAGE
            and trace.steps[candidate].content.strip()
        ):
            return candidate
    return None


def last_successes(trace: RunReading) -> dict[str, int]:
    """The last step in which a call of each tool went well."""
    found: dict[str, int] = {}
    for step in reversed(trace.steps):
        for call in step.tool_calls:
            if call.name not in found and failure_text(call) is None:
                found[call.name] = step.index
    return found


def _quote_failure(trace: RunReading, index: int, failure: str) -> str | None:
    for passage in trace.passages(index, "tool error", "result"):
        if passage.raw == failure or failure in passage.raw:
            start = max(0, passage.raw.find(failure))
            lead = len(failure) - len(failure.lstrip())
            return passage.quote_raw(start + lead, min(start + lead + 1, len(passage.raw))) or None
    return None


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
