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
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.schema import Finding, FindingKind, RunOutcome
from tracer_hooks.values import calculations_in, dates_in, times_in

_LONGEST_VALUE, _MOST_WORDS = 90, 7
_WORDS, _TELLING = 3, 3
_SHORT_ANSWER = 60
"""Characters of last words that are the answer as a whole."""
_LONGEST_PROSE = 1_200
"""Characters of an unmarked answer that one value may be taken from."""
_LONGEST_LAST = 400
"""Characters of the last paragraph of a longer one."""
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
_FULL_NAME = re.compile(r"(?<=[a-z,] )[A-Z][A-Za-z]+(?: [A-Z][A-Za-z'-]+){1,2}(?!\w)")
"""A name of several words that does not begin a sentence."""
_LATEX = re.compile(r"\\(?:text|mathrm)\s?\{([^{}]*)\}|\\[][(),;:! ]")
_LATEX_UNIT = re.compile(r"\\(?:text|mathrm)\s?\{[^{}]*\}|\\[,;:! ]")
_FILE = re.compile(r"[\w/-]+\.[a-z]{2,5}")  # a sentence is about it
_ERROR_CODE = re.compile(r"\b(?:Error code: \d{3}\b|[A-Z]\w+Error\b)")
_ASKS_WHO = re.compile(r"\bwho(?:m|se)?\b|\bname\b", re.IGNORECASE)
_HEAD = 60
_NAME = re.compile(r"[A-Za-z_]{1,12}")
_LONGEST_LINE = 160
_GOES_ON = re.compile(r"\s*[-+*/^]\s*\d")
_LONGEST_UNIT = 30
_UNKNOWN = re.compile(r"\d[a-z]\b")
"""An unknown with its factor: an equation to be solved, and no calculation."""
_EQUALS = re.compile(
    "(?:=|≈|\\\\approx)[ \t$€£\\\\({*&]*(?:boxed\\{)?(?P<number>-?\\d[\\d,]*(?:\\.\\d+)?)(?![\\w.,]*\\d)"
    "(?!\\s*(?:[-+*/\N{MULTIPLICATION SIGN}÷·^\N{MINUS SIGN}(]\\s*\\d|\\\\(?:times|cdot|div|frac)))"
)
"""An equals sign with a number that nothing more is done with."""
_CALCULATES = re.compile(
    "\\d[^\n=≈]*?(?:[-+*/\N{MULTIPLICATION SIGN}÷·^\N{MINUS SIGN}]|\\\\(?:times|cdot|div)|%)[^\n=≈]*\\d"
    "|\\\\(?:[dt]?frac|sqrt|binom)[^\n=≈]*\\d"
)
"""A left side with an operation on numbers."""
_FORMULA = re.compile(r"\A\s*\d+(?:\.\d+)?\s*[-+*/]\s*\d[^=]*\Z")
_BOLD = re.compile(r"\*\*([^*\n]{2,60})\*\*(?!\s*:)")


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
    value = None if passed or has_error else _main_value(run)
    if value is None:
        return
    is_reply = _is_conversation(run)  # the last words are then no answer, unless an agent has worked them out
    worked, first = _worked_out(run, value), _first(run, value)
    # A person who hands on what agents said, as in a debate, is no source.
    is_earlier = first is not None and not is_reply and run.roles[first.step] is not Role.PERSON
    if worked is not None and worked.step is not None and not (is_earlier and first and first.step < worked.step):
        yield worked
    elif not is_reply and not _is_digit(value):
        yield from _traced(run, value, first)


def _traced(run: RunReading, value: str, first: _First | None) -> Iterator[Finding]:
    """Where a value that nobody worked out stands first."""
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
    text, said = answer.text.strip(), answer.whole
    short = len(said) <= _SHORT_ANSWER
    if answer.is_marked or (short and (len(text.split()) <= _WORDS or not any(numbers_in(said)))):
        alone = _worth_telling(_number_alone(text if answer.is_marked else said.strip().rstrip(".")))
        if alone is not None or (answer.is_marked and "\\" not in text):
            return alone
    if "```" in said:
        return None
    if len(said) > _LONGEST_PROSE or "\\frac" in said:
        said = said[said.rfind("\n\n") :].strip()  # the last paragraph says what follows from the others
        if not said or len(said) > _LONGEST_LAST or "\\frac" in said:
            return None
    return _value_in(run, said, is_short=short)


def _value_in(run: RunReading, said: str, *, is_short: bool) -> str | None:
    """The one value or name that a text without a marked answer carries, and the task does not."""
    if _FORMULA.search(said):
        return None
    bold = {
        found.strip(" :.\"'“”")
        for found in _BOLD.findall(said)
        if not found.rstrip().endswith(":") and not found.islower()
    }
    whole = _moments(said)
    numbers = [found for found in numbers_in(said) if not any(start <= found.start() < end for start, end in whole)]
    task = run.trajectory.task[:_LONGEST_SAYING]
    given = {task[start:end] for start, end in _moments(task)}
    moments = {said[start:end] for start, end in whole} - given
    if moments:
        return moments.pop() if len(moments) == 1 else None
    new = {canonical(found.group()): found.group() for found in numbers}
    for number in [number for number in new if number in run.task_numbers or _is_small(number)]:
        del new[number]
    if is_short and len(new) != 1 and numbers and all(len(number.lstrip("-")) < _TELLING for number in new):
        return None
    results = [found.group() for found in numbers if said[: found.start()].rstrip(" $€£").endswith("=")]
    quoted = {found for found, _ in quoted_in(said) if not numbers and _is_new(task, found)}
    if len(bold) == 1 and len(new) == 1 and find_value(next(iter(bold)), next(iter(new.values()))) < 0:
        return None
    for alone in (bold, set(new.values()), set(results[-1:]), quoted):
        if len(alone) == 1:
            return _worth_telling(_number_alone(next(iter(alone))))
    names = {match.group() for match in _FULL_NAME.finditer(said) if find_value(task, match.group()) < 0}
    return names.pop() if len(names) == 1 and (is_short or _ASKS_WHO.search(task)) else None


def _is_new(task: str, found: str) -> bool:
    return find_value(task, found) < 0 and _FILE.fullmatch(found) is None


def _moments(text: str) -> list[tuple[int, int]]:
    """Where the dates and the times of day of a text stand."""
    dates = [(each.start, each.end) for each in dates_in(text)]
    return dates + [(each.start, each.end) for each in times_in(text)]


def _is_small(number: str) -> bool:
    """Tell whether a number in a sentence is a digit, or looks like a year."""
    return len(number) == 1 or (len(number) == 4 and number[:2] in ("19", "20"))


def _is_conversation(run: RunReading) -> bool:
    """Tell whether a person speaks between the agents' turns, so that the last words are a reply and no answer."""
    persons = [step for step, role in enumerate(run.roles) if role is Role.PERSON and run.acts and step > run.acts[0]]
    if not persons:
        return False
    texts = (run.trajectory.task, *(run.steps[step].content for step in run.acts))
    heads = [" ".join(text[: 40 * _HEAD].split())[:_HEAD] for text in texts]
    for step in persons:
        said = " ".join(run.steps[step].content.split())
        if not any(len(head) == _HEAD and head in said for head in heads):  # else it only hands on what was said
            return True
    return False


def _number_alone(text: str) -> str:
    """The number of "25 kg" or "$25"; any other text as it is."""
    text = _LATEX_UNIT.sub(" ", text)
    numbers = [found.group() for found in numbers_in(text)]
    alone = len(numbers) == 1 and len(text.split()) <= 3 and _DATE.search(text) is None and "\\" not in text
    letters = sum(char.isalpha() for char in text)
    return numbers[0].lstrip("+") if alone and letters <= 12 else text


def _worth_telling(value: str) -> str | None:
    if (
        not 1 <= len(value) <= _LONGEST_VALUE
        or any(sign in value for sign in "\n[{<=\\")
        or len(value.split()) > _MOST_WORDS
    ):
        return None
    if is_number(value):
        return value
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
        yield _works_out(run, value, first, worked)
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


def _worked_out(run: RunReading, value: str) -> Finding | None:
    """The first calculation of an agent that ends in the value."""
    if not is_number(value) or find_value(run.trajectory.task, value) >= 0:
        return None
    wanted = canonical(value)
    for step in run.acts:
        for passage in run.passages(step, "content"):
            for found in _EQUALS.finditer(passage.raw):
                if canonical(found["number"]) != wanted:
                    continue
                left = _left_of(passage.raw, found.start())
                in_code = any(start <= found.start() < end for start, end in code_spans(passage.raw))
                worked = _CALCULATES.search(left)
                if in_code or worked is None or len(left) - worked.end() > _LONGEST_UNIT or _UNKNOWN.search(left):
                    continue
                begin = max(left.rfind(". ", 0, worked.start() + 1), left.rfind(": ", 0, worked.start() + 1)) + 1
                first = _First(step, passage, found.start("number"))
                return _works_out(run, value, first, f"{left[begin:].strip()} = {value}")
    return None


def _works_out(run: RunReading, value: str, first: _First, worked: str) -> Finding:
    text = f"{run.steps[first.step].agent!r} works out the answer {value!r} in step {first.step}: {one_line(worked)}"
    return _told(run, text, "derived", value, first)


def _calculation_of(value: str, first: _First) -> str | None:
    """A calculation in words beside the value."""
    near = first.passage.raw[max(0, first.at - _SHORT_TEXT) : first.at + _SHORT_TEXT]
    if _GOES_ON.match(first.passage.raw, first.at + len(value)):
        return None
    for found in calculations_in(near):
        if found.holds and canonical(found.stated.text.strip(" $€£%")) == canonical(value):
            return f"{found.left} = {value}"
    return None


def _left_of(text: str, equals: int) -> str:
    """What stands between an equals sign and the one before on its line, or, where nothing does, on the line before."""
    name = ""
    for _ in range(4):
        begin = max(text.rfind("\n", 0, equals) + 1, equals - _LONGEST_LINE)
        left = _LATEX.sub(lambda found: found[1] or "", text[begin:equals])
        left = re.split("[=≈]|approx", left)[-1].replace("\\times", "\N{MULTIPLICATION SIGN}").strip(" \t$[]*&-\\")
        if begin == 0 or (left and left != name and not _NAME.fullmatch(left)):
            return left
        name, equals = name or left, begin - 1  # "W = 360 * 20" on the line before "W = 7200"
    return ""


def _is_digit(value: str) -> bool:
    return is_number(value) and len(canonical(value).lstrip("-")) == 1


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
    advice=_advice,
)
