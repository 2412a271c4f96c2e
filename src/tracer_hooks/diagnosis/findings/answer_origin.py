"""Origin of the final answer: a tool's result, the task, a calculation, an agent's memory, typed-in data, or nothing.

It is told of the one main value or name of a short answer, or of one that is clearly marked. Silent about yes and no,
single digits and common words, and where the run does not show what its agents saw: results that were not kept, pages
that an agent only describes, a value that stands before in another form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import (
    StepPassage,
    canonical,
    code_spans,
    find_value,
    is_number,
    numbers_in,
    parsed_json,
    quoted_in,
)
from tracer_hooks.diagnosis._wording import one_line
from tracer_hooks.diagnosis.findings._code import CodeCell, cells_of, output_of, rounds_to, typed_values
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, Precision, finding
from tracer_hooks.schema import Finding, FindingKind, RunOutcome
from tracer_hooks.values import calculations_in, dates_in, times_in

_LONGEST_VALUE, _MOST_WORDS = 90, 7
_WORDS, _TELLING = 3, 3
_SHORT_ANSWER = 60
"""Characters of last words that are the answer as a whole."""
_LONGEST_PROSE = 1_200
"""Characters of an unmarked answer that one value may be taken from."""
_LONGEST_SAYING = 3_000
"""Characters of a step above which an agent hands on a page rather than says something."""
_EMPTY = frozenset(
    (
        *("true", "false", "none", "null", "unknown", "terminate", "done", "error", "success", "failed", "completed"),
        *("correct", "incorrect", "right", "wrong", "approved", "rejected", "accepted", "agreed", "checked"),
        *("verified", "confirmed", "thanks", "okay", "fine", "good", "great", "complete", "finished", "pass", "fail"),
    )
)
_PLAIN_FIELDS = frozenset(("answer", "content", "data", "output", "result", "text", "value"))
"""Fields that say nothing of what their value is."""
_BROWSES = re.compile(r"\bI (?:clicked|typed|scrolled|opened|visited|navigated|hovered|pressed)\b")
_SHORT_TEXT = 300
"""Characters of a text that a number of two digits is not found in by chance."""
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}:\d{2}")
_FULL_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+(?: [A-Z][a-z'-]+){1,2}(?!\w)")
"""A name of several words that does not begin a sentence."""
_FILE = re.compile(r"[\w/-]+\.[a-z]{2,5}")  # a sentence is about it
_ERROR_CODE = re.compile(r"\b(?:Error code: \d{3}\b|[A-Z]\w+Error\b)")
_ASKS_WHO = re.compile(r"\bwho(?:m|se)?\b|\bname\b", re.IGNORECASE)
_BOLD = re.compile(r"\*\*([^*\n]{2,60})\*\*")


@dataclass(frozen=True, slots=True)
class _First:
    """Where the value stands first."""

    step: int
    passage: StepPassage
    at: int

    @property
    def is_shown(self) -> bool:
        return self.passage.part in ("result", "tool error")


def find(run: RunReading) -> Iterator[Finding]:
    """One finding about the answer's main value, of a run that is not known to have passed."""
    passed = run.trajectory.outcome is RunOutcome.SUCCEEDED
    has_error = _ERROR_CODE.search(run.answer.whole) is not None
    value = None if passed or has_error or _is_conversation(run) else _main_value(run)
    if value is None:
        return
    first = _first(run, value)
    if find_value(run.trajectory.task, value) >= 0:
        yield _told(run, f"The answer {value!r} stands in the task itself", "task", value)
    elif first is None:
        if len(run.acts) > 1 and run.trajectory.final_output and _can_tell(run, value, len(run.steps)):
            yield _told(run, f"The answer {value!r} stands in no step, tool result or task", "nowhere", value)
    elif first.is_shown or run.roles[first.step] is Role.REPORTER:
        if not _is_chance(value, first):
            yield from _shown(run, value, first)
    elif run.roles[first.step] is Role.PERSON:
        if not _is_chance(value, first):
            who = run.steps[first.step].agent
            yield _told(
                run,
                f"The answer {value!r} first stands in what {who!r} said in step {first.step}",
                "task",
                value,
                first,
            )
    elif not (first.step == 0 and run.is_brief(0)):
        yield from _said(run, value, first)


def _told(
    run: RunReading,
    text: str,
    detail: str,
    value: str,
    first: _First | None = None,
    *,
    step: int | None = None,
    quote: str = "",
) -> Finding:
    """A finding at the place where the value stands first, or at a step of its own with a quotation of its own."""
    if step is None and first is not None:
        step, quote = first.step, first.passage.quote_raw(first.at, first.at + len(value))
    return finding(
        run, FindingKind.ANSWER_ORIGIN, text, detail=detail, step=step, quote=quote, claimed=value, leads_to_answer=True
    )


def _main_value(run: RunReading) -> str | None:
    answer = run.answer
    text = answer.text.strip()
    short = len(answer.whole) <= _SHORT_ANSWER
    if answer.is_marked or (short and (len(text.split()) <= _WORDS or not any(numbers_in(answer.whole)))):
        return _worth_telling(_number_alone(text if answer.is_marked else answer.whole.strip().rstrip(".")))
    if len(answer.whole) > _LONGEST_PROSE or "```" in answer.whole or "\\frac" in answer.whole:
        return None
    bold = {found.strip(" :.\"'“”") for found in _BOLD.findall(answer.whole) if not found.rstrip().endswith(":")}
    whole = _moments(answer.whole)
    numbers = [
        found for found in numbers_in(answer.whole) if not any(start <= found.start() < end for start, end in whole)
    ]
    task = run.trajectory.task[:_LONGEST_SAYING]
    given = {task[start:end] for start, end in _moments(task)}
    moments = {answer.whole[start:end] for start, end in whole} - given
    if moments:
        return moments.pop() if len(moments) == 1 else None
    new = {canonical(found.group()): found.group() for found in numbers}
    for number in [number for number in new if number in run.task_numbers or _is_small(number)]:
        del new[number]
    if short and all(len(number.lstrip("-")) < _TELLING for number in new):
        return None
    results = [found.group() for found in numbers if answer.whole[: found.start()].rstrip(" $€£").endswith("=")]
    quoted = {found for found, _ in quoted_in(answer.whole) if not numbers and _FILE.fullmatch(found) is None}
    if len(bold) == 1 and len(new) == 1 and find_value(next(iter(bold)), next(iter(new.values()))) < 0:
        return None
    for alone in (bold, set(new.values()), set(results[-1:]), quoted):
        if len(alone) == 1:
            return _worth_telling(_number_alone(next(iter(alone))))
    names = {match.group() for match in _FULL_NAME.finditer(answer.whole) if find_value(task, match.group()) < 0}
    return names.pop() if len(names) == 1 and _ASKS_WHO.search(task) else None


def _moments(text: str) -> list[tuple[int, int]]:
    """Where the dates and the times of day of a text stand."""
    dates = [(each.start, each.end) for each in dates_in(text)]
    return dates + [(each.start, each.end) for each in times_in(text)]


def _is_small(number: str) -> bool:
    """Tell whether a number in a sentence is a digit, or looks like a year."""
    return len(number) == 1 or (len(number) == 4 and number[:2] in ("19", "20"))


def _is_conversation(run: RunReading) -> bool:
    """Tell whether a person speaks between the agents' turns, so that the last words are a reply and no answer."""
    persons = [step for step, role in enumerate(run.roles) if role is Role.PERSON]
    return bool(persons) and bool(run.acts) and persons[-1] > run.acts[0]


def _number_alone(text: str) -> str:
    """The number of "25 kg" or "$25"; any other text as it is."""
    numbers = [found.group() for found in numbers_in(text)]
    alone = len(numbers) == 1 and len(text.split()) <= 3 and _DATE.search(text) is None
    letters = sum(char.isalpha() for char in text)
    return numbers[0].lstrip("+") if alone and letters <= 12 else text


def _worth_telling(value: str) -> str | None:
    if (
        not 2 <= len(value) <= _LONGEST_VALUE
        or any(sign in value for sign in "\n[{<=\\")
        or len(value.split()) > _MOST_WORDS
    ):
        return None
    if is_number(value):
        return value if len(canonical(value).lstrip("-")) > 1 else None
    if value.casefold() in _EMPTY or len(value) < 4 or not any(char.isalnum() for char in value):
        return None
    return value if _is_name(value) else None


def _is_name(value: str) -> bool:
    """Tell whether a text is a name, a code or a list of numbers rather than a phrase or a formula."""
    words = value.split()
    if len(words) == 1:
        return len(value) > 4 or not value.islower()
    telling = [word for word in words if len(word) > 3 or any(char.isdigit() for char in word)]
    named = all(word.lstrip("(\"'“")[:1].isupper() or any(char.isdigit() for char in word) for word in telling)
    return bool(telling) and named and " - " not in value and not any(sign in value for sign in ":+*")


def _first(run: RunReading, value: str) -> _First | None:
    for step in range(len(run.steps)):
        parts = ("arguments", "result", "tool error", "content") if run.steps[step].tool_calls else ("content", "error")
        for part in parts:
            for passage in run.passages(step, part):
                at = find_value(passage.raw, value)
                if at >= 0:
                    return _First(step, passage, at)
    return None


def _shown(run: RunReading, value: str, first: _First) -> Iterator[Finding]:
    """A value that a tool returned or a terminal printed; who wrote the code that printed it decides."""
    author = first.step if first.is_shown else first.step - 1
    cells = list(cells_of(run, author)) if author >= 0 else []
    if cells and not any(cell.reads_outside for cell in cells):
        yield from _computed(run, value, author, cells)
        return
    who = run.steps[first.step].agent
    if first.is_shown:
        calls = [call.name for call in run.steps[first.step].tool_calls if find_value(call.result or "", value) >= 0]
        who = calls[0] if calls else who
    field = _field_of(value, first.passage.raw)
    is_telling = field is not None and field not in _PLAIN_FIELDS and any(map(str.isalpha, field))
    under = f"is the field {field!r} of" if is_telling else "first stands in"
    text = f"The answer {value!r} {under} what {who!r} returned in step {first.step}"
    yield _told(run, text, "tool", value, first)


def _field_of(value: str, result: str) -> str | None:
    """The one field of a JSON result whose value, or one of whose values, is the answer."""
    fields: set[str] = set()
    stack: list[tuple[str, object]] = [("", parsed_json(result) if result.lstrip()[:1] == "{" else None)]
    while stack:
        name, item = stack.pop()
        if isinstance(item, dict):
            stack += item.items()
        elif isinstance(item, list):
            stack += [(name, each) for each in item]
        elif canonical(str(item)) == canonical(value):
            fields.add(name)
    return fields.pop() if len(fields) == 1 else None


def _computed(run: RunReading, value: str, author: int, cells: Sequence[CodeCell]) -> Iterator[Finding]:
    """A value that code printed which reads nothing from outside."""
    agent = run.steps[author].agent
    for cell in cells:
        typed = typed_values(run, author, cell)
        if typed:
            at = max(0, cell.text.find(typed[0]))
            text = f"The answer {value!r} comes from code into which {agent!r} typed {typed[0]!r} in step {author}"
            said = f"{text}; no task, tool or person gave that"
            yield _told(run, said, "typed_in", value, step=author, quote=cell.quote(at, at + len(typed[0])))
            return
    if not any("random" in cell.text for cell in cells):
        text = f"The answer {value!r} is what the code of {agent!r} in step {author} computes, which reads no source"
        yield _told(run, text, "derived", value, step=author)


def _said(run: RunReading, value: str, first: _First) -> Iterator[Finding]:
    """A value that an agent was the first to write."""
    step, agent = first.step, run.steps[first.step].agent
    printed = output_of(run, step)
    typed = _is_in_code(first) or any(find_value(cell.text, value) >= 0 for cell in cells_of(run, step))
    if typed and printed is not None and find_value(printed[1].raw, value) >= 0:
        text = f"{agent!r} wrote the answer {value!r} into its code or call in step {step}, before it was printed back"
        yield _told(run, text, "typed_in", value, first)
        return
    if _BROWSES.search(first.passage.raw[:_SHORT_TEXT]) and not _is_chance(value, first):
        text = f"The answer {value!r} first stands in what {agent!r} reports of a page in step {step}"
        yield _told(run, text, "tool", value, first)
        return
    worked = _calculation_of(value, first) if is_number(value) else None
    if worked is not None:
        text = f"{agent!r} works out the answer {value!r} in step {step}: {one_line(worked)}"
        yield _told(run, text, "derived", value, first)
        return
    if (
        (len(first.passage.raw) > _LONGEST_SAYING and not run.is_brief(step))
        or _is_chance(value, first)
        or not _can_tell(run, value, step)
    ):
        return
    if step == run.last_speaker:
        if len(run.acts) > 1:
            idle = _idle_tool(run)
            why = f"no tool was called, not even {idle!r}" if idle else "no earlier step, tool or task has it"
            text = f"The answer {value!r} stands in the last words of {agent!r} only: {why}"
            yield _told(run, text, "nowhere", value, first)
        return
    idle = _idle_tool(run)
    why = f"no tool was called, not even {idle!r}" if idle else "no tool or person gave it before"
    text = f"{agent!r} is the first to say the answer {value!r}, in step {step}; {why}"
    yield _told(run, text, "memory", value, first)


def _idle_tool(run: RunReading) -> str | None:
    """A tool of the team where none was called in the whole run."""
    if any(run.steps[step].tool_calls for step in range(len(run.steps))):
        return None
    return next((tool for agent in run.trajectory.agents for tool in agent.tools), None)


def _calculation_of(value: str, first: _First) -> str | None:
    near = first.passage.raw[max(0, first.at - _SHORT_TEXT) : first.at + _SHORT_TEXT]
    for found in calculations_in(near):
        if found.holds and canonical(found.stated.text.strip(" $€£%")) == canonical(value):
            return found.left
    return None


def _is_chance(value: str, first: _First) -> bool:
    """Tell whether a number may stand there for another reason: 12 is in most long texts, or it ends a calculation."""
    if not is_number(value):
        return False
    if len(canonical(value)) < 3 and len(first.passage.raw) > _SHORT_TEXT:
        return True
    return "=" in first.passage.raw[max(0, first.at - 8) : first.at]


def _is_in_code(first: _First) -> bool:
    return any(start <= first.at < end for start, end in code_spans(first.passage.raw))


def _can_tell(run: RunReading, value: str, before: int) -> bool:
    """Tell whether the run shows enough to say that nothing before a step has the value, in whatever form."""
    if _DATE.search(value) or dates_in(value) or times_in(value):
        return False  # it may stand before in another form
    shown = [run.trajectory.task]
    acted = _idle_tool(run) is not None
    for step in range(min(before + 1, len(run.steps))):
        entry = run.steps[step]
        if any(call.result is None and call.error is None for call in entry.tool_calls):
            return False
        acted = acted or bool(entry.tool_calls) or run.roles[step] is Role.REPORTER
        acted = acted or _BROWSES.search(entry.content[:_SHORT_TEXT]) is not None
        if run.roles[step] is not Role.AGENT:
            shown.append(entry.content)
        shown += [passage.raw for passage in run.passages(step, "result")]
        if step < before:
            shown += [passage.raw for passage in run.passages(step, "content")]
    if is_number(value):
        return acted and not any(rounds_to(text[: run.limit], value) for text in shown)
    words = re.findall(r"\w{2,}", value.casefold())
    return not any(all(word in lower for word in words) for lower in (text.casefold() for text in shown))


_ADVICE = {
    "memory": "Have {agent} look the answer up with a tool, or let another agent check it against a source.",
    "typed_in": "Have the code of {agent} read its data from a source instead of values that the agent types in.",
    "nowhere": "Ask the last agent to name the step that its answer comes from.",
}


def _advice(found: Finding) -> str:
    if found.detail == "memory" and found.values is not None and is_number(found.values.claimed or ""):
        return f"Have {found.agent!r} look its number up or work it out with a tool, and show from what."
    return _ADVICE.get(found.detail, "").format(agent=repr(found.agent) if found.agent else "the agent")


KIND = KindOfFinding(
    kind=FindingKind.ANSWER_ORIGIN,
    definition="Where the main value of a short or marked final answer comes from; silent where the run does not show "
    "what its agents saw.",
    find=find,
    precision=Precision(48, 49, "500 odd rows of Aegis"),
    advice=_advice,
)
