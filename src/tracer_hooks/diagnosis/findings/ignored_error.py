"""``ignored_error``: a tool failed, no later call of it went well, and the run went on.

``asserted``: a reply after it states a value or a success as if the tool had answered. ``not_overcome``: the run failed
with the tool's error standing. Silent where a later call overcame the error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracer_hooks.diagnosis._reading._errors import ADMITS, failure_text, last_successes, reply_after
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import canonical, find_value, numbers_in
from tracer_hooks.diagnosis._wording import one_line
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.schema import ErrorMode, Finding, FindingKind, RunOutcome

_KIND = FindingKind.IGNORED_ERROR
ASSERTED, NOT_OVERCOME = "asserted", "not_overcome"
_SHOWN = 80
_DONE = re.compile(
    r"\b(?:has|have|was|were|is|are) (?:now |been |successfully )*(?:booked|sent|paid|refunded|confirmed|created"
    r"|updated|saved|reserved|scheduled|cancelled|delivered|submitted)\b",
    re.IGNORECASE,
)

_NO_ERROR = re.compile(r"\b(?:no|without(?: any)?) (?:failure|error|issue|problem)s?\b", re.IGNORECASE)
"""Words that deny an error rather than admit it."""


def find(run: RunReading) -> Iterator[Finding]:
    """Failed tools whose error stood, with the claim that followed where there is one."""
    succeeded = last_successes(run)
    standing: dict[str, tuple[int, str]] = {}
    for index in run.acts:
        for call in run.steps[index].tool_calls:
            failure = failure_text(call)
            if failure is not None and succeeded.get(call.name, -1) < index:
                standing[call.name] = index, failure  # of several tries the last: what is claimed stands after it
    for tool, (index, failure) in standing.items():
        yield from _finding(run, index, tool, one_line(failure, _SHOWN))


def _finding(run: RunReading, index: int, tool: str, failure: str) -> Iterator[Finding]:
    failed = run.trajectory.outcome is RunOutcome.FAILED
    reply = reply_after(run, index)
    claim = None if reply is None else _claim(run, index, reply)
    if reply is not None and claim is not None:
        agent, rests = run.steps[reply].agent, failed and find_value(run.final_text, claim) >= 0
        own = agent == run.steps[index].agent  # the earlier step is the one to mend: the call, where its caller claims
        text = (
            f"{tool!r} failed in step {index} with {failure!r}; {agent!r} says {claim!r} in step {reply} all the same"
        )
        yield finding(
            run,
            _KIND,
            text,
            step=index if own else reply,
            detail=ASSERTED,
            quote=_error_line(run, index) if own else run.locate(reply, claim, "content"),
            claimed=claim,
            source=index,
            subject=tool,
            leads_to_answer=rests,
        )
    elif failed:
        text = f"{tool!r} failed with {failure!r}, and no later call of it went well"
        quote = _error_line(run, index)
        yield finding(
            run, _KIND, text, step=index, detail=NOT_OVERCOME, quote=quote, subject=tool, leads_to_answer=True
        )


def _error_line(run: RunReading, index: int) -> str:
    """The first line of the error, as it stands there."""
    texts = (passage.raw for passage in run.passages(index, "tool error", "result"))
    lines = (line.strip() for text in texts for line in text[:4_000].splitlines() if line.strip())
    return next(lines, "")[:300]


def _claim(run: RunReading, failed: int, reply: int) -> str | None:
    """A value or a success that the reply states, which nothing before it gives."""
    prose = run.prose(reply)
    if not prose.strip() or ADMITS.search(_NO_ERROR.sub("", prose)):
        return None
    for match in numbers_in(prose):
        number = match.group()
        if ":" in (prose[match.start() - 1 : match.start()], prose[match.end() : match.end() + 1]):
            continue  # part of a time
        if canonical(number) in run.task_numbers or len(canonical(number)) < 2:
            continue
        if not any(run.locate(step, number) for step in range(reply)):
            return number
    done = _DONE.search(prose)
    return done.group() if done is not None else None


def _advice(found: Finding) -> str:
    tool = found.values.subject if found.values is not None else None
    if found.detail == ASSERTED:
        return f"Tell {found.agent!r} to say so when {tool!r} fails, and not to go on as if it had answered."
    return f"Make {tool!r} retry, or tell {found.agent!r} what to do without it."


KIND = KindOfFinding(
    kind=_KIND,
    definition="A tool failed, no later call of it went well, and the run went on or ended with the error standing.",
    find=find,
    mode=ErrorMode.FM_2_6,
    blame={ASSERTED: 0.7, NOT_OVERCOME: 0.7},
    advice=_advice,
)
