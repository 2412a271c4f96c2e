"""``answer_origin``: where the value or name that the run answers with came from.

A tool, the task, a calculation, an agent's memory (nothing returned it before), code or data that an agent typed in and
had printed back, or nowhere but the answer itself. Told of a short answer, or one that the run marks; silent on yes and
no, on single digits and on values that stand in many places.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import find_value, is_number, numbers_in
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.schema import Finding, FindingKind, RunOutcome
from tracer_hooks.values import calculations_in

_KIND = FindingKind.ANSWER_ORIGIN
TOOL, TASK, DERIVED, MEMORY, TYPED_IN, NOWHERE = "tool", "task", "derived", "memory", "typed_in", "nowhere"
_LONGEST = 60
_MOST_WORDS = 5
"""Words of an answer that nothing marks as one."""
_SILENT = frozenset(("yes", "no", "true", "false", "none", "unknown", "done", "terminate", "ok", "n/a", "null"))


def find(run: RunReading) -> Iterator[Finding]:
    """Where the answer's main value comes from; one finding at the most."""
    value = _main_value(run)
    talks = sum(role is Role.PERSON for role in run.roles) > 1  # the last words of a talk are no answer to its task
    if value is None or talks or run.trajectory.outcome is RunOutcome.SUCCEEDED:
        return
    if find_value(run.trajectory.task, value) >= 0:
        return  # a choice among what the task names tells nothing
    for index, role in enumerate(run.roles):
        if role is not Role.PERSON and not run.is_brief(index) and run.locate(index, value) is not None:
            found = _of_step(run, index, value)
            # a person's words and a brief are passed over; what stands in them is no memory
            if found is not None and not any(run.locate(earlier, value) for earlier in range(index)):
                yield found
            return
    if not any(run.locate(index, value) for index in range(len(run.steps))):
        yield _origin(run, NOWHERE, f"The answer {value!r} stands in no step of the run", None, value, None)


def _of_step(run: RunReading, index: int, value: str) -> Finding | None:
    """What the first step that has the value tells of it."""
    agent = run.steps[index].agent
    if run.roles[index] is Role.AGENT:
        typed = run.locate(index, value, "arguments") or (value if _in_code(run, index, value) else None)
        if typed is not None:
            later = _printed_back(run, index, value)
            text = f"{agent!r} typed {value!r} in itself, and step {later} printed it back"
            return None if later is None else _origin(run, TYPED_IN, text, index, value, typed)
        said = run.locate(index, value, "content")
        if said is not None and run.locate(index, value, "result") is None:
            return _said(run, index, value, said)
    tool = next((call.name for call in run.steps[index].tool_calls if value in (call.result or "")), agent)
    text = f"The answer {value!r} was returned by {tool!r} in step {index}"
    return _origin(run, TOOL, text, index, value, run.locate(index, value))


def _main_value(run: RunReading) -> str | None:
    text = run.answer.text.strip()
    if not text or "\n" in text or text.casefold() in _SILENT:
        return None
    numbers = [match.group() for match in numbers_in(text)]
    if len(numbers) == 1 and (run.answer.is_marked or len(run.final_text) <= 3 * _LONGEST):
        digits = sum(char.isdigit() for char in numbers[0])
        return numbers[0] if digits >= 2 else None
    is_short = len(text) <= _LONGEST and len(text) > 2 and not numbers
    is_alone = len(run.final_text.strip()) <= _LONGEST and len(text.split()) <= _MOST_WORDS
    is_words = is_short and text[0].isalnum() and (run.answer.is_marked or is_alone)
    return text if is_words else None


def _said(run: RunReading, index: int, value: str, quote: str) -> Finding:
    """A value in an agent's own words: worked out there, or from its memory."""
    agent, content = run.steps[index].agent, run.steps[index].content
    stated = {calculation.stated.text.strip() for calculation in calculations_in(content[:20_000])}
    if is_number(value) and any(find_value(text, value) >= 0 for text in stated):
        return _origin(run, DERIVED, f"{agent!r} works {value!r} out in step {index}", index, value, quote)
    text = f"{agent!r} is the first to say {value!r}, in step {index}; nothing before it returned or said it"
    return _origin(run, MEMORY, text, index, value, quote)


def _in_code(run: RunReading, index: int, value: str) -> bool:
    content = run.steps[index].content
    return "```" in content and find_value(run.prose(index), value) < 0 <= find_value(content, value)


def _printed_back(run: RunReading, index: int, value: str) -> int | None:
    """The result, or the next report, that has the value again."""
    if run.locate(index, value, "result") is not None:
        return index
    later = range(index + 1, min(index + 3, len(run.steps)))
    return next((k for k in later if run.roles[k] is Role.REPORTER and run.locate(k, value) is not None), None)


def _origin(run: RunReading, detail: str, text: str, step: int | None, value: str, quote: str | None) -> Finding:
    return finding(run, _KIND, text, step=step, detail=detail, quote=quote, claimed=value)


_ADVICE = {
    MEMORY: "Have {agent!r} look this up with a tool, and name the source.",
    TYPED_IN: "Have {agent!r} read data from a tool or a file, never from what it typed in itself.",
}

KIND = KindOfFinding(
    kind=_KIND,
    definition="The answer's value came from a tool, a calculation, an agent's memory, typed-in data, or nowhere.",
    find=find,
    advice=lambda found: _ADVICE.get(found.detail, "").format(agent=found.agent or ""),
)
