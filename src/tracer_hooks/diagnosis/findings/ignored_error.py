"""``ignored_error``: a tool failed, no later call of it went well, and the run went on.

``asserted``: a reply after it states a value or a success as if the tool had answered. Otherwise the run failed with
the tool's error standing: the team has no such tool (``unknown_tool``), it did not take its arguments
(``bad_arguments``), or it failed of itself (``not_overcome``). Silent where a later call overcame the error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tracer_hooks.diagnosis._reading._errors import ADMITS, OUTAGE, failure_text, last_successes, reply_after
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import canonical, find_value, numbers_in
from tracer_hooks.diagnosis._wording import one_line
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.schema import ErrorMode, Finding, FindingKind, RunOutcome

_KIND = FindingKind.IGNORED_ERROR
ASSERTED, NOT_OVERCOME = "asserted", "not_overcome"
UNKNOWN_TOOL, BAD_ARGUMENTS = "unknown_tool", "bad_arguments"
_SHOWN, _CALLED = 80, 60
_DONE = re.compile(
    r"\b(?:has|have|was|were|is|are) (?:now |been |successfully )*(?:booked|sent|paid|refunded|confirmed|created"
    r"|updated|saved|reserved|scheduled|cancelled|delivered|submitted)\b",
    re.IGNORECASE,
)

_DID = re.compile(
    r"\bI (?:have )?(?:ran|run|deleted|removed|changed|updated|sent|booked|created|saved|fixed)\b[^.?!\n]{0,60}"
    r"|\b(?:was|were|has been|have been) (?:deleted|removed|changed|fixed)\b|^Done\b",
    re.IGNORECASE,
)
_ARGUMENTS = re.compile(
    r"\b(?:TypeError|ValueError|KeyError|ValidationError|JSONDecodeError)\b"
    r"|\b(?:invalid|missing|unexpected|malformed)\b[^.\n]{0,40}\b(?:argument|parameter|input|field|expression)"
    r"|\b(?:argument|parameter)s?\b[^.\n]{0,40}\b(?:invalid|missing|required|unexpected|must be)",
    re.IGNORECASE,
)
_NO_SUCH_TOOL = re.compile(
    r"\b(?:unknown|no such|not an? (?:known|valid)) (?:tool|function)"
    r"|(?:tool|function)\b[^.\n]{0,40}\b(?:not (?:found|exist)|does not exist|unknown)|^KeyError",
    re.IGNORECASE,
)
_CHANGES = frozenset(("affected", "changed", "deleted", "inserted", "matched", "modified", "updated"))
_LONGEST_NOTE = 200
_ENOUGH = 3
"""Calls of other tools that went well, after which a failure no longer stands for the end of the run."""
_NO_ERROR = re.compile(r"\b(?:no|without(?: any)?) (?:failure|error|issue|problem)s?\b", re.IGNORECASE)
"""Words that deny an error rather than admit it."""


def find(run: RunReading) -> Iterator[Finding]:
    """Failed tools whose error stood, with the claim that followed where there is one."""
    succeeded = last_successes(run)
    standing: dict[str, tuple[int, str]] = {}
    for index in run.acts:
        for call in run.steps[index].tool_calls:
            failure, unchanged = failure_text(call), _nothing_done(call.result or "")
            if unchanged is not None and succeeded.get(call.name, -1) <= index:
                standing[call.name] = index, unchanged
            elif failure is not None and succeeded.get(call.name, -1) < index:
                standing[call.name] = index, failure  # of several tries the last: what is claimed stands after it
    for tool, (index, failure) in standing.items():
        yield from _finding(run, index, tool, one_line(failure, _SHOWN))


def _nothing_done(result: str) -> str | None:
    """A short result that says that nothing was changed."""
    words = result.casefold().split()[:5] if len(result) <= _LONGEST_NOTE else []
    return result if words[:1] in (["0"], ["no"]) and _CHANGES & set(words) else None


def _finding(run: RunReading, index: int, tool: str, failure: str) -> Iterator[Finding]:
    failed = run.trajectory.outcome is RunOutcome.FAILED
    reply = reply_after(run, index)
    claim = None if reply is None else _claim(run, reply)
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
        sort = _sort(run, index, tool, failure)
        later = any(call.name == tool for step in run.steps[index + 1 :] for call in step.tool_calls)
        end = "no later call of it went well" if later else "it was not called again"
        text = f"{tool!r} failed with {failure!r}, and {end}"
        if sort == UNKNOWN_TOOL:
            text = f"{run.steps[index].agent!r} calls {tool!r}, a tool that the team does not have"
        elif sort == BAD_ARGUMENTS:
            text = f"{tool!r} did not take {_arguments(run, index, tool)!r}, and {end}"
        yield finding(
            run,
            _KIND,
            text + _told_all_the_same(run, index),
            step=index,
            detail=sort,
            quote=_error_line(run, index),
            subject=tool,
            leads_to_answer=not _had_answer(run, index) and not _went_on(run, index),
        )


def _went_on(run: RunReading, index: int) -> bool:
    """Tell whether the agent did with other tools what this one failed to do."""
    agent = run.steps[index].agent
    later = [call for step in run.steps[index + 1 :] if step.agent == agent for call in step.tool_calls]
    return sum(failure_text(call) is None and bool(call.result) for call in later) >= _ENOUGH


def _had_answer(run: RunReading, index: int) -> bool:
    """Tell whether an agent had said the answer's number before the tool failed."""
    numbers = [match.group() for match in numbers_in(run.answer.text)]
    fresh = [number for number in numbers if canonical(number) not in run.task_numbers and len(canonical(number)) > 1]
    return any(run.locate(step, number, "content") is not None for number in fresh for step in run.acts if step < index)


def _sort(run: RunReading, index: int, tool: str, failure: str) -> str:
    """Whether the call or the tool itself is what failed."""
    own = {name for agent in run.trajectory.agents for name in agent.tools}
    if own and tool not in own and _NO_SUCH_TOOL.search(failure):
        return UNKNOWN_TOOL
    is_call = _ARGUMENTS.search(failure) is not None and OUTAGE.search(failure) is None
    return BAD_ARGUMENTS if is_call and _arguments(run, index, tool) else NOT_OVERCOME


def _arguments(run: RunReading, index: int, tool: str) -> str:
    """What a tool was called with, in short."""
    given = next(call.arguments for call in reversed(run.steps[index].tool_calls) if call.name == tool)
    if isinstance(given, dict):
        values = [value if isinstance(value, str) else json.dumps(value, default=str) for value in given.values()]
        return one_line(", ".join(values), _CALLED)
    return one_line(str(given or ""), _CALLED)


def _told_all_the_same(run: RunReading, index: int) -> str:
    """End of the sentence where the last words state a number that nothing before them gives."""
    last = run.last_speaker
    claim = None if last is None or last <= index else _claim(run, last)
    return (
        ""
        if claim is None or last is None
        else f"; {run.steps[last].agent!r} says {claim!r} in step {last} all the same"
    )


def _error_line(run: RunReading, index: int) -> str:
    """The first line of the error, as it stands there."""
    texts = (passage.raw for passage in run.passages(index, "tool error", "result"))
    lines = (line.strip() for text in texts for line in text[:4_000].splitlines() if line.strip())
    return next(lines, "")[:300]


def _claim(run: RunReading, reply: int) -> str | None:
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
    done = _DONE.search(prose) or _DID.search(prose)
    return done.group() if done is not None else None


def _advice(found: Finding) -> str:
    tool = found.values.subject if found.values is not None else None
    if found.detail == ASSERTED:
        return f"Tell {found.agent!r} to say so when {tool!r} fails, and not to go on as if it had answered."
    if found.detail == UNKNOWN_TOOL:
        return (
            f"Name in the prompt of {found.agent!r} the tools that it may call, and answer a call of another with them."
        )
    if found.detail == BAD_ARGUMENTS:
        return f"Show {found.agent!r} in its prompt how {tool!r} is called, and give it the error to try once more."
    return f"Make {tool!r} retry, or tell {found.agent!r} what to do without it."


KIND = KindOfFinding(
    kind=_KIND,
    definition="A tool failed, no later call of it went well, and the run went on or ended with the error standing.",
    find=find,
    mode=ErrorMode.FM_2_6,
    blame={ASSERTED: 0.7, NOT_OVERCOME: 0.7, UNKNOWN_TOOL: 0.7, BAD_ARGUMENTS: 0.7},
    advice=_advice,
)
