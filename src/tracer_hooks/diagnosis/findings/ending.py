"""``ending``: how a run ended, when not by itself.

Read from the record (a step that raised, the reason of the outcome, an empty answer) and from the text of logs, where
an error of the endpoint or a traceback is glued to the last agent's words. Silent in a run that passed, and where the
last words give an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracer_hooks.diagnosis._reading._answer import without_traceback
from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._rules._errors import ERROR_LINE, OUTAGE
from tracer_hooks.diagnosis._rules._repetition import limit_reached
from tracer_hooks.diagnosis._wording import one_line
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.schema import Finding, FindingKind, RunOutcome, StepKind

_KIND = FindingKind.ENDING
ENDPOINT_ERROR, LIMIT, GAVE_UP, EMPTY = "endpoint_error", "limit", "gave_up", "empty"
EXCEPTION, BROKEN_OFF = "exception", "broken_off"
_REFUSED = re.compile(r"\bError code: \d{3}\b|content_filter|context[_ ]length|invalid_request_error")
_LIMIT = re.compile(
    r"\bmax(?:imum)?\b[^.\n]{0,30}\b(?:turns?|rounds?|steps?|iterations?|messages?)\b"
    r"|\b(?:turn|round|step|iteration|message|recursion|time) limit\b",
    re.IGNORECASE,
)
_GIVES_UP = re.compile(
    r"\b(?:(?:I|we)(?:'m| am| are)? (?:not able to|unable to|cannot|can't|can not) "
    r"(?:go on|continue|proceed|complete|finish|provide|determine|answer|find|solve|help)"
    r"|(?:I|we) (?:give|gave) up|(?:was|were) (?:unable|not able) to (?:complete|finish|find|determine|solve|provide)"
    r"|could not (?:be )?(?:complete|completed|determine|determined|solved?)\b"
    r"|unable to (?:complete|determine|proceed|continue|fulfil\w*))",
    re.IGNORECASE,
)
_TAIL = 2_000
_SHORT = 1_200
"""Longer last words hold an answer, and a sentence in them that gives up one part of it."""


def find(run: RunReading) -> Iterator[Finding]:
    """The unusual ending of a run that did not pass; one at the most."""
    if not run.steps or run.trajectory.outcome is RunOutcome.SUCCEEDED:
        return
    for look in (_raised, _glued_error, _limit, _empty, _gave_up, _broken_off):
        found = look(run)
        if found is not None:
            yield found
            return


def _last(run: RunReading) -> int:
    return len(run.steps) - 1


def _raised(run: RunReading) -> Finding | None:
    """A step that raised, and was the last."""
    step = run.steps[_last(run)]
    error = step.error or (step.content if step.kind is StepKind.ERROR else "")
    if not error:
        return None
    line = one_line(error)
    if OUTAGE.search(error[:4_000]) or _REFUSED.search(error[:4_000]):
        text = f"The run ended when the model's endpoint failed under {step.agent!r}: {line!r}"
        return _ending(run, ENDPOINT_ERROR, text, step.index, error)
    return _ending(run, EXCEPTION, f"The run ended when {step.agent!r} raised {line!r}", step.index, error)


def _glued_error(run: RunReading) -> Finding | None:
    """An error message behind the last words, as logs of text have it."""
    for index in (_last(run), _last(run) - 1):
        content = run.steps[index].content[-20_000:] if index >= 0 else ""
        said = without_traceback(content)
        error = content[len(said) :].strip() if run.roles[max(index, 0)] is not Role.REPORTER else ""
        if not error or (said.strip() and run.trajectory.final_output and run.answer.is_marked):
            continue
        named = ERROR_LINE.findall(error)
        line = one_line(named[-1] if named else error)
        if OUTAGE.search(error[:4_000]) or _REFUSED.search(error[:4_000]):
            text = (
                f"After the words of {run.steps[index].agent!r} the log has an error of the model's endpoint: {line!r}"
            )
            return _ending(run, ENDPOINT_ERROR, text, index, named[-1] if named else error)
        if index == _last(run):
            text = f"The log ends in an exception after the words of {run.steps[index].agent!r}: {line!r}"
            return _ending(run, EXCEPTION, text, index, named[-1] if named else error)
    return None


def _limit(run: RunReading) -> Finding | None:
    """A limit of rounds, steps or time that stopped the run."""
    if limit_reached(run):
        reason = one_line(run.trajectory.outcome_reason or "")
        return _ending(run, LIMIT, f"The run was stopped at a limit: {reason!r}", _last(run), "")
    tail = run.steps[_last(run)].content[-_TAIL:]
    match = _LIMIT.search(tail)
    if match is None or len(tail) > _SHORT or run.answer.is_marked:
        return None
    line = _line_around(tail, match)
    return _ending(run, LIMIT, f"The last words tell of a limit: {one_line(line)!r}", _last(run), line)


def _empty(run: RunReading) -> Finding | None:
    """No answer at all."""
    final, last = run.trajectory.final_output, run.steps[_last(run)]
    if (final is not None and not final.strip()) or (final is None and not (last.content.strip() or last.tool_calls)):
        return _ending(
            run, EMPTY, f"The run ended without an answer; {last.agent!r} was the last to act", last.index, ""
        )
    return None


def _gave_up(run: RunReading) -> Finding | None:
    """Last words that give up."""
    speaker = run.last_speaker
    content = run.steps[speaker].content.strip() if speaker is not None else ""
    match = _GIVES_UP.search(content[:_SHORT])
    if speaker is None or match is None or len(content) > _SHORT or run.answer.is_marked:
        return None
    line = _line_around(content, match)
    return _ending(run, GAVE_UP, f"{run.steps[speaker].agent!r} gave up in its last words", speaker, line)


def _broken_off(run: RunReading) -> Finding | None:
    """A last call that has no result, in a run whose other calls have one."""
    calls = [call for step in run.steps for call in step.tool_calls]
    last = run.steps[_last(run)]
    open_calls = [call for call in last.tool_calls if call.result is None and call.error is None]
    if not open_calls or not any(call.result is not None for call in calls):
        return None
    text = f"The run breaks off at a call of {open_calls[0].name!r} by {last.agent!r} that has no result"
    return _ending(run, BROKEN_OFF, text, last.index, "")


def _line_around(text: str, match: re.Match[str]) -> str:
    start, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
    return text[start : end if end >= 0 else len(text)].strip()[:300]


def _ending(run: RunReading, detail: str, text: str, step: int, quote: str) -> Finding:
    line = next((part.strip() for part in quote.splitlines() if part.strip()), "")
    return finding(run, _KIND, text, step=step, detail=detail, quote=line[:300])


_ADVICE = {
    ENDPOINT_ERROR: "Look at the model's endpoint first: retry, another model, or a shorter or cleaner prompt.",
    LIMIT: "Raise the limit, or let a termination condition end the run when the work is done.",
    EMPTY: "Have the last agent end with an answer, and check that it reaches the caller.",
    EXCEPTION: "Handle this exception where the agent runs.",
}

KIND = KindOfFinding(
    kind=_KIND,
    definition="The run ended otherwise than by its own last words.",
    find=find,
    advice=lambda found: _ADVICE.get(found.detail, ""),
)
