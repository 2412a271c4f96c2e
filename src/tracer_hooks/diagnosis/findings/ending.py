"""``ending``: how a run ended, when not by itself.

Read from the record (a step that raised, the reason of the outcome, an empty answer) and from the text of logs, where
an error of the endpoint or a traceback is glued to the last agent's words. Silent in a run that passed, and where the
last words give an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracer_hooks.diagnosis._reading._answer import without_traceback
from tracer_hooks.diagnosis._reading._errors import ERROR_LINE, LIMIT_REACHED, is_unreachable
from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import code_spans
from tracer_hooks.diagnosis._wording import one_line
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.schema import Finding, FindingKind, RunOutcome, StepKind

_KIND = FindingKind.ENDING
ENDPOINT_ERROR, LIMIT, GAVE_UP, EMPTY = "endpoint_error", "limit", "gave_up", "empty"
EXCEPTION, BROKEN_OFF = "exception", "broken_off"
_ENDPOINT = re.compile(
    r"\bError code: \d{3}\b|content_filter|context[_ ]length|invalid_request_error|insufficient_quota|overloaded_error"
    r"|\b(?:API(?:Connection|Timeout|Status)|RateLimit)Error\b"
)
"""An error that only the endpoint of a model gives; a lost connection alone may be a tool's."""
_LIMIT = re.compile(
    r"\bmax(?:imum)?\b[^.\n]{0,30}\b(?:turns?|rounds?|steps?|iterations?|messages?|time)\b"
    r"[^.\n]{0,30}\b(?:reached|exceeded|hit)\b"
    r"|\b(?:turn|round|step|iteration|message|recursion|time) limit\b[^.\n]{0,30}\b(?:reached|exceeded|hit)\b"
    r"|\b(?:stopped|ended|reached)\b[^.\n]{0,20}\b(?:turn|round|step|iteration|message|recursion|time) limit\b"
    r"|\breached (?:the )?max(?:imum)?\b[^.\n]{0,20}\b(?:turns|rounds|steps|iterations|messages|time)\b",
    re.IGNORECASE,
)
_NEXT_ACT = re.compile(
    r"\b(?:let me|let's|let us|(?:I|we)(?:'ll| will)(?: now| next| then| first)?) "
    r"(?:proceed|start|begin|try|check|search|run|execute|verify|review|continue|analy[sz]e|calculate|find|look"
    r"|visit|open|navigate|attempt|extract|inspect|fetch|compute|test|download|examine)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!:;?])\s+|\n+")
_GIVES_UP = re.compile(
    r"\b(?:(?:I|we)(?:'m| am| are)? (?:not able to|unable to|cannot|can't|can not) "
    r"(?:go on|continue|proceed|complete|finish|provide|determine|answer|find|solve|help)"
    r"|(?:I|we) (?:give|gave) up|(?:was|were) (?:unable|not able) to (?:complete|finish|find|determine|solve|provide)"
    r"|could not (?:be )?(?:complete|completed|determine|determined|solved?)\b"
    r"|unable to (?:complete|determine|proceed|continue|fulfil\w*)"
    r"|please (?:provide|share|upload|attach|supply) (?:me |us )?(?:with )?(?:the|your|more|any|a copy)\b"
    r"[^.!?\n]{0,160}"
    r"(?:\b(?:so|and|then|once|before)\b[^.!?\n]{0,60}\b(?:I|we)(?:'ll| can| will)\b|\bfindings\b|\bfile\b))",
    re.IGNORECASE,
)
_ANNOUNCES = (" is:", " are:", " was:", "answer:", "result:", "output:")
_EDGE = 3
"""Lines at the head and at the tail of the last words in which a log notes a limit."""
_LONGEST_NOTE = 160
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
    """A step that raised, and was the last; or an exception that ended the run after it."""
    step = run.steps[_last(run)]
    error = step.error or (step.content if step.kind is StepKind.ERROR else "")
    reason = run.trajectory.outcome_reason or ""
    # An assertion is a check's.
    raised = not run.trajectory.final_output and ERROR_LINE.match(reason) and "AssertionError" not in reason
    if not error and raised and not _ENDPOINT.search(reason[:2_000]):
        line = one_line(reason)
        return _ending(run, EXCEPTION, f"The run ended with {line!r} after the words of {step.agent!r}", step.index, "")
    if not error:
        return None
    line = one_line(error)
    if is_unreachable(step) or _ENDPOINT.search(error[:4_000]):
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
        if _ENDPOINT.search(named[-1] if named else error[:4_000]):
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
    stopped = run.trajectory.stop_reason if _goes_round(run) else None
    for reason in (stopped or "", run.trajectory.outcome_reason or ""):
        if LIMIT_REACHED.search(reason[:2_000]) or _LIMIT.search(reason[:2_000]):
            return _ending(run, LIMIT, f"The run was stopped at a limit: {one_line(reason)!r}", _last(run), "")
    step = run.steps[_last(run)]
    lines = [line.strip() for line in _ends_of(step.content).splitlines() if line.strip()]
    for line in (*lines[:_EDGE], *lines[-_EDGE:]):
        if run.roles[step.index] is not Role.PERSON and len(line) <= _LONGEST_NOTE and _LIMIT.search(line):
            text = f"The run ends in step {step.index} with {one_line(line)!r}"
            return _ending(run, LIMIT, text, step.index, line)
    return None


def _goes_round(run: RunReading) -> bool:
    """Tell whether an agent acts after another had its turn: a fixed number of turns in a row is no limit."""
    agents = [run.steps[index].agent for index in run.acts]
    turns = [agent for place, agent in enumerate(agents) if place == 0 or agent != agents[place - 1]]
    return len(turns) > len(set(turns))


def _ends_of(text: str) -> str:
    """The head and the tail of a long text."""
    return text if len(text) <= 4_000 else f"{text[:2_000]}\n{text[-2_000:]}"


def _empty(run: RunReading) -> Finding | None:
    """No answer at all."""
    final, last = run.trajectory.final_output, run.steps[_last(run)]
    if final is not None and final.rstrip().casefold().endswith(_ANNOUNCES):
        text = f"The last words of {last.agent!r} announce an answer and end before it"
        return _ending(run, EMPTY, text, last.index, last.content)
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
    if Role.PERSON in run.roles[speaker + 1 :]:
        return None  # a person closed the talk, in which one wish could not be met
    line = _line_around(content, match)
    return _ending(run, GAVE_UP, f"{run.steps[speaker].agent!r} gave up in its last words", speaker, line)


def _broken_off(run: RunReading) -> Finding | None:
    """A run that stops in the middle of an act."""
    return _open_call(run) or _unread_report(run) or _code_not_run(run) or _act_not_done(run)


def _open_call(run: RunReading) -> Finding | None:
    """A last call that has no result, in a run whose other calls have one."""
    calls = [call for step in run.steps for call in step.tool_calls]
    last = run.steps[_last(run)]
    open_calls = [call for call in last.tool_calls if call.result is None and call.error is None]
    if not open_calls or not any(call.result is not None for call in calls):
        return None
    text = f"The run breaks off at a call of {open_calls[0].name!r} by {last.agent!r} that has no result"
    return _ending(run, BROKEN_OFF, text, last.index, "")


def _unread_report(run: RunReading) -> Finding | None:
    """A terminal's or an environment's report that nobody takes up, in a run that records no answer."""
    last = run.steps[_last(run)]
    author = run.author_before(last.index)
    if run.roles[last.index] is not Role.REPORTER or run.trajectory.final_output or author is None:
        return None
    if run.roles[author] is not Role.AGENT or _closes(run.steps[author].content):
        return None
    text = f"The run breaks off at the words of {last.agent!r} in step {last.index}; no agent takes them up"
    return _ending(run, BROKEN_OFF, text, last.index, last.content)


def _code_not_run(run: RunReading) -> Finding | None:
    """Code as the last words of a team in which a terminal runs code, in a run that records no answer."""
    last = run.steps[_last(run)]
    ran = any(role is Role.REPORTER for role in run.roles)
    if not ran or run.trajectory.final_output or "```" not in last.content or _closes(last.content):
        return None
    start, end = next(code_spans(last.content), (0, 0))
    text = f"The run breaks off at code of {last.agent!r} in step {last.index} that nobody runs"
    return _ending(run, BROKEN_OFF, text, last.index, last.content[start:end])


def _act_not_done(run: RunReading) -> Finding | None:
    """A next act that the last sentence announces."""
    last = run.steps[_last(run)]
    said = last.content[-_SHORT:].strip()
    recorded = (run.trajectory.final_output or said).strip()
    if (
        run.roles[last.index] is not Role.AGENT
        or last.tool_calls
        or run.answer.is_marked
        or recorded[-80:] != said[-80:]
    ):
        return None
    sentence = _SENTENCE_END.split(said)[-1].strip()
    if len(sentence) > 300 or not _NEXT_ACT.search(sentence):
        return None
    text = f"The run ends where {last.agent!r} announces its next act in step {last.index}: {one_line(sentence)!r}"
    return _ending(run, BROKEN_OFF, text, last.index, sentence)


def _closes(content: str) -> bool:
    """Tell whether words end the conversation."""
    return content.rstrip().rstrip(".!*\"'`#").endswith(("TERMINATE", "DONE", "STOP", "FINISHED"))


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
    GAVE_UP: "Give the agent what it says it lacks, or another way to get it.",
    EXCEPTION: "Handle this exception where the agent runs.",
    BROKEN_OFF: "Allow more rounds, and end a run only after an agent has given the answer.",
}

KIND = KindOfFinding(
    kind=_KIND,
    definition="The run ended otherwise than by its own last words.",
    find=find,
    advice=lambda found: _ADVICE.get(found.detail, ""),
)
