"""``record_contradicted``: the words say otherwise than what a tool, the task or an earlier step has on record.

Compared are values of one field or one label: amounts, dates, ids, names, digits that were miscopied. Silent where a
likeness may be chance, as in long runs of which much was not recorded.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tracer_hooks.diagnosis._provenance import Departure, DepartureKind
from tracer_hooks.diagnosis._reading._errors import failure_text
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import (
    canonical,
    find_value,
    number_set,
    numbers_in,
    parsed_json,
    plain_fields,
)
from tracer_hooks.diagnosis.findings._departures import from_departure, leads, sure_departures
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.diagnosis.findings._rows import Source, misquoted_rows, more_rows
from tracer_hooks.schema import ErrorMode, Finding, FindingKind, RunOutcome, StepKind

_KIND = FindingKind.RECORD_CONTRADICTED
EXAMPLE = "example"
_READ, _LONGEST_EXAMPLE = 8_000, 120
_CALLED = re.compile(r"\b(\w+)\([^()`\n]{0,200}\)\s*(?:==|->|=>|returns)\s*(?=\S)")
_OPTION = re.compile(r"\s*\(?[A-Z][).] ")
"""One of several answers to choose from, at the head of its line: no record of anything."""
_NO_LITERAL = object()
_BARE, _FAR = 24, 100
"""Characters up to which a result is the value alone, and the steps before a call in which a number may stand."""


def find(run: RunReading) -> Iterator[Finding]:
    """Values that were read or copied wrongly."""
    for departure in sure_departures(run, DepartureKind.MISREAD, DepartureKind.MISCOPIED):
        if _is_of_record(run, departure) and (leads(run, departure) or not _is_given(run, departure)):
            yield from_departure(run, _KIND, departure, subject=_tool(run, departure))
    yield from _missed_example(run)
    for odd in misquoted_rows(run):
        assert odd.source is not None
        agent, right = run.steps[odd.step].agent, odd.source.numbers[0]
        given = f"{_where(run, odd.source)} has {right}{more_rows(odd)}"
        yield finding(
            run,
            _KIND,
            f"{agent!r} has {odd.row.number} for {odd.row.label!r}; {given}",
            step=odd.step,
            quote=odd.row.line,
            claimed=odd.row.number,
            right=right,
            source=odd.source.step,
            leads_to_answer=odd.leads_to_answer,
        )
    yield from _unlike_results(run)


def _unlike_results(run: RunReading) -> Iterator[Finding]:
    """Replies with one new number, in the place of the bare number that the call before them gave back."""
    for step in run.acts:
        reply = run.next_act(step) if run.steps[step].tool_calls else None
        passage = run.content(reply) if reply is not None and run.steps[reply].kind is StepKind.MESSAGE else None
        if reply is None or passage is None:
            continue
        for call in run.steps[step].tool_calls:
            result = (call.result or "").strip()
            numbers = number_set(result) if len(result) <= _BARE and failure_text(call) is None else set()
            right = next(iter(numbers), "")
            if len(numbers) != 1 or find_value(passage.raw, right) >= 0:
                continue
            new = [match for match in numbers_in(passage.prose) if not _is_known(run, step, canonical(match.group()))]
            if len(new) != 1 or _is_rounded(float(canonical(new[0].group())), float(right)):
                continue  # none: not about the number; several: it calculates with it
            said = new[0].group()
            yield finding(
                run,
                _KIND,
                f"{run.steps[reply].agent!r} says {said}, but {call.name!r} returned {right} in step {step}",
                step=reply,
                quote=passage.quote_at(new[0].start(), new[0].end()),
                claimed=said,
                right=right,
                source=step,
                subject=call.name,
                leads_to_answer=run.trajectory.outcome is RunOutcome.FAILED and find_value(run.final_text, said) >= 0,
            )


def _is_known(run: RunReading, step: int, number: str) -> bool:
    before = range(max(0, step - _FAR), step + 1)
    return number in run.task_numbers or any(run.locate(at, number, "content", "arguments") for at in before)


def _is_rounded(one: float, other: float) -> bool:
    near = abs(one - other) <= 0.02 * max(abs(one), abs(other))
    return near and not (one.is_integer() and other.is_integer())


def _missed_example(run: RunReading) -> Iterator[Finding]:
    """Code that gave another value than the one example of the task, where it was run for the last time."""
    examples = list(_examples_in(run.trajectory.task[:_READ]))
    if len(examples) != 1:
        return
    name, example, want = examples[0]
    code = re.compile(rf"\bdef {re.escape(name)}\(")
    tried = [
        (step, call, _literal(call.result or ""))
        for step in run.acts
        for call in run.steps[step].tool_calls
        if code.search(str(call.arguments))
    ]
    if not tried or tried[-1][2] == want or not _are_alike(tried[-1][2], want):
        return
    step, call, got = tried[-1]
    author = next((each for each in reversed(run.acts) if each < step and code.search(run.steps[each].content)), step)
    yield finding(
        run,
        _KIND,
        f"The task has {example}; the code of {run.steps[author].agent!r} gave {got!r} in step {step}"
        + _taken(run, step),
        step=author,
        detail=EXAMPLE,
        quote=run.locate(author, "return ") or run.locate(author, f"def {name}") or run.first_words(author),
        claimed=repr(got),
        right=repr(want),
        source=step,
        subject=call.name,
        leads_to_answer=run.trajectory.outcome is RunOutcome.FAILED,
    )


def _taken(run: RunReading, step: int) -> str:
    """End of the sentence: what a colleague said to it, where that is a word or two."""
    reply = run.next_act(step)
    said = run.steps[reply].content.strip() if reply is not None else ""
    return "" if reply is None or not 0 < len(said) <= 20 else f"; {run.steps[reply].agent!r} says {said!r}"


def _are_alike(got: object, want: object) -> bool:
    return type(got) is type(want) or (isinstance(got, (int, float)) and isinstance(want, (int, float)))


def _examples_in(task: str) -> Iterator[tuple[str, str, object]]:
    """Calls with the value that they are to give, ``f(2) == 4``: the name, the whole, the value."""
    for match in _CALLED.finditer(task):
        line = task[match.end() :].partition("\n")[0][:_LONGEST_EXAMPLE]
        for end in range(len(line), 0, -1):
            want = _literal(line[:end]) if line[end - 1] != "." else _NO_LITERAL  # a full stop
            if want is not _NO_LITERAL:
                yield match.group(1), (match.group() + line[:end]).strip(), want
                break


def _literal(text: str) -> object:
    """The Python value that a text writes out."""
    try:
        found: object = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return _NO_LITERAL
    return found


def _where(run: RunReading, source: Source) -> str:
    return "the task" if source.step is None else f"step {source.step} of {run.steps[source.step].agent!r}"


def _is_of_record(run: RunReading, departure: Departure) -> bool:
    """Tell whether the right value is the one of a record: no example of a prompt, no member of a list of values."""
    right, value = departure.right or "", departure.value or ""
    if not right:
        return True
    if _is_reworded(value, right):
        return False
    if not departure.sources:
        return find_value(run.trajectory.task, right) >= 0 or any(
            run.locate(step, right) is not None for step in range(departure.step + 1)
        )
    source = departure.sources[0]
    having = [line for line in run.steps[source].content.splitlines() if find_value(line, right) >= 0]
    if having and all(_OPTION.match(line) for line in having):
        return False
    if len(canonical(right)) == 1 and run.locate(source, _number_of(value)) is not None:
        return False
    if any(find_value(failure_text(call) or "", right) >= 0 for call in run.steps[source].tool_calls):
        return False  # a number of an error message
    if source == departure.step and run.locate(source, right, "result") is not None:
        keys = {key for call in run.steps[source].tool_calls for key in _keys_of(call.arguments, value)}
        named = {
            key for call in run.steps[source].tool_calls for key in _keys_of(parsed_json(call.result or ""), right)
        }
        return not keys or bool(keys & named)  # a condition of a search is no copy of what it finds
    results = [parsed_json(passage.raw) for passage in run.passages(source, "result")]
    if any(_keys_of(result, f"-{_number_of(value)}") for result in results):
        return False  # money that was paid back, without its sign
    return not any(_is_listed(result, right) for result in results)


def _is_reworded(value: str, right: str) -> bool:
    """Tell whether two values are one in other words, or an amount of money and a measure with the same number."""
    first, second = (
        sorted(word[:5] for word in re.findall(r"[^\W\d_]{3,}", each.casefold())) for each in (value, right)
    )
    if len(first) > 2 and first == second:
        return True
    is_money = [re.search(r"[$€£]|\b(?:EUR|USD|GBP)\b", each) is not None for each in (value, right)]
    return is_money[0] != is_money[1] and _number_of(value) == _number_of(right) and value.strip() != right.strip()


def _keys_of(data: object, value: str) -> set[str]:
    """The keys under which a value stands."""
    return {key for key, each in plain_fields(data) if each == value}


def _number_of(value: str) -> str:
    """The number of a value, "131" of "131 EUR"; all of a value without one."""
    return next((canonical(match.group()) for match in numbers_in(value)), value)


def _is_listed(data: object, value: str) -> bool:
    """Tell whether a value stands in a list of several plain values."""
    if isinstance(data, dict):
        return any(_is_listed(each, value) for each in data.values())
    if not isinstance(data, list):
        return False
    plain = [str(each) for each in data if isinstance(each, (str, int, float))]
    return (len(plain) > 1 and value in plain) or any(_is_listed(each, value) for each in data)


def _is_given(run: RunReading, departure: Departure) -> bool:
    """Tell whether the task or an earlier step has the very value: it may be rightly said of something else."""
    value = _number_of(departure.value or "")
    if find_value(run.trajectory.task, value) >= 0:
        return True
    own_call = departure.step in departure.sources and run.locate(departure.step, value, "arguments") is not None
    earlier = any(run.locate(step, value) is not None for step in range(departure.step))
    return own_call or earlier or run.locate(departure.step, value, "result") is not None


def _tool(run: RunReading, departure: Departure) -> str | None:
    """The tool whose record it is, where its step called a single one."""
    source = departure.sources[0] if departure.sources else departure.step
    calls = run.steps[source].tool_calls
    return calls[0].name if len({call.name for call in calls}) == 1 else None


def _advice(found: Finding) -> str:
    where = "what it was given"
    if found.detail == EXAMPLE:
        return f"Have the example of the task run as a test, and hand what it gave back to {found.agent!r}."
    if found.values is not None and found.values.source is not None:
        where = f"step {found.values.source}"
    if found.values is not None and found.values.subject is not None:
        where = f"the reply of {found.values.subject!r}"
    return f"Have {found.agent!r} copy values word for word from {where}."


KIND = KindOfFinding(
    kind=_KIND,
    definition="A value that a step states is another one in the record of a tool, the task or the step it rests on.",
    find=find,
    mode=ErrorMode.FM_2_5,
    modes={EXAMPLE: ErrorMode.FM_1_1},
    blame={"": 0.77, EXAMPLE: 0.8},
    advice=_advice,
)
