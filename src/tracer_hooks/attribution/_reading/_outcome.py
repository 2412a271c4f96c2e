"""What the check, or a reference, says about the answer: which values are wrong and which were expected."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tracer_hooks.attribution._reading._numbers import canonical, find_value, is_number, numbers_in, quoted_in
from tracer_hooks.attribution._reading._trace import Trace
from tracer_hooks.schema import RunOutcome, Trajectory

_FILLER = r"that|the|an?|be|to|is|was|it|answer|value|result|output|total|of|say|contain|equal"
_WORD = rf"[\s:=(]{{0,4}}(?:(?:{_FILLER})\W{{1,3}}){{0,4}}[\s:='\"`“(]{{0,4}}$"
_EXPECTED = re.compile(
    r"\b(?:expect(?:ed|s|ing)?|should(?: have)?(?: be(?:en)?)?|must(?: be)?|want(?:ed|s)?|correct|right"
    r"|reference|gold(?:en)?"
    r"|truth|target|instead of|missing|lacks?|needs?|rather than|not (?:in|equal to|found)|!=|contain(?:s"
    r"|ing)?|mention)" + _WORD,
    re.IGNORECASE,
)
_WRONG = re.compile(
    r"\b(?:got|received?|actual(?:ly)?|but|was|were|found|returned|answered|gave|given|says?|said"
    r"|observed|wrong|incorrect"
    r"|saw|produced|is|not)" + _WORD,
    re.IGNORECASE,
)
_ANSWER = re.compile(
    r"(?:final answer|answer|result|total)\b(?:\s+(?:is|was|equals))?\s*[:=]?\s*\**\s*([^\n]{1,80})", re.IGNORECASE
)

# "expected Canberra, got Sydney": values without quotation marks.
_BARE_WORD = re.compile(
    r"\b(?:[Ee]xpected|[Gg]ot|[Rr]eceived|[Aa]ctual|instead of|should (?:be|say|contain))\s*:?\s+"
    r"(?:(?:the|an?|to|be)\s+){0,2}([A-Za-z][\w'-]*(?: [A-Z][\w'-]*){0,3})"
    r"(?=\s*(?:[,;.)!]|$|but\b|got\b|and\b|instead\b))"
)
_NO_VALUE = frozenset(
    (
        "no",
        "nothing",
        "none",
        "wrong",
        "false",
        "true",
        "answer",
        "something",
        "different",
        "error",
        "output",
        "it",
        "result",
    )
)
# A capital letter that does not begin a sentence.
_NAME = re.compile(r"(?<=[a-z,;:] )(?:[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})*)")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Values of the run's answer, as far as they are known."""

    wrong: tuple[str, ...] = ()
    """Values that the answer has and should not have, the surest first."""
    expected: tuple[str, ...] = ()
    """Values that the answer should have."""
    answered: tuple[str, ...] = ()
    """What the run answered, when it failed and nothing says which part of its answer is wrong."""


def expected_values(trajectory: Trajectory, *, reference: str | None = None) -> tuple[str, ...]:
    """The values of the right answer that a trajectory gives away, in its reference or in the check's reason.

    For those who write something that an agent will read and must not tell it the answer.
    """
    trace = Trace(trajectory, reference if reference is not None else trajectory.reference)
    found = list(read_outcome(trace).expected)
    # Whatever the reason names and the run's own answer lacks may be the right answer, in whatever words it is put.
    found += [value for value, _ in _values(trajectory.outcome_reason or "") if find_value(trace.final_text, value) < 0]
    return tuple(dict.fromkeys(value for value in found if value.strip()))


def read_outcome(trace: Trace) -> Verdict:
    """The wrong and the expected values of a run, from the check's reason and the reference."""
    reason = (trace.trajectory.outcome_reason or "")[:4_000]
    wrong, expected, unsure = _classify(reason)
    if trace.reference and trace.reference.strip():
        expected.insert(0, trace.reference.strip())
    for value in unsure:
        (wrong if find_value(trace.final_text, value) >= 0 else expected).append(value)
    known = {canonical(value) for value in expected}
    wrong = [part for value in wrong for part in _telling_parts(value, trace) if canonical(part) not in known]
    if not wrong and expected and not any(find_value(trace.final_text, value) >= 0 for value in expected):
        wrong = [value for value in _answers(trace) if canonical(value) not in known]
    failed = trace.trajectory.outcome is RunOutcome.FAILED and bool(trace.trajectory.final_output)
    answered = _answers(trace) if failed and not wrong and not expected else []
    return Verdict(tuple(dict.fromkeys(wrong)), tuple(dict.fromkeys(expected)), tuple(answered))


def _telling_parts(value: str, trace: Trace) -> list[str]:
    """A wrong value itself; of a whole sentence, which its last writer phrased, the number or name that it carries."""
    if len(value.split()) <= 4:
        return [value]
    numbers = [m.group() for m in numbers_in(value) if canonical(m.group()) not in trace.task_numbers]
    return numbers[-1:] or _names_in(value, trace) or [value]


def _values(reason: str) -> list[tuple[str, int]]:
    """Numbers and quoted strings with their places; a number inside a quoted string counts as part of it."""
    quoted = list(quoted_in(reason))
    covered = [(start, start + len(text) + 2) for text, start in quoted]
    numbers = [
        (match.group(), match.start())
        for match in numbers_in(reason)
        if not any(start <= match.start() < end for start, end in covered)
    ]
    words = [
        (match.group(1), match.start(1))
        for match in _BARE_WORD.finditer(reason)
        if match.group(1).casefold() not in _NO_VALUE
        and not any(start <= match.start(1) < end for start, end in covered)
    ]
    return sorted(quoted + numbers + words, key=lambda pair: pair[1])


def _classify(reason: str) -> tuple[list[str], list[str], list[str]]:
    wrong: list[str] = []
    expected: list[str] = []
    unsure: list[str] = []
    previous_end = 0
    for value, start in _values(reason):
        before = reason[previous_end:start][-60:]
        previous_end = start + len(value)
        comparison = re.match(r"['\"`”]?\s*(?:!=|is not|does not equal)\s", reason[start + len(value) :])
        if comparison and not _EXPECTED.search(before):
            wrong.append(value)  # "41 != 42", as assertions put it: first what came, then what should have come
        elif _EXPECTED.search(before):
            expected.append(value)
        elif _WRONG.search(before):
            wrong.append(value)
        else:
            unsure.append(value)
    return wrong, expected, unsure


def _answers(trace: Trace) -> list[str]:
    """What the run answered, when it is known to be wrong."""
    text = trace.final_text.strip()
    if not text:
        return []
    stated = [match.group(1) for match in _ANSWER.finditer(text)]
    scope = stated[-1] if stated else text
    numbers = [match.group() for match in numbers_in(scope)]
    fresh = [number for number in numbers if canonical(number) not in trace.task_numbers] or numbers
    numeric_expected = any(is_number(value) for value in _plain_expected(trace))
    if fresh and (numeric_expected or len(scope) <= 60 or not trace.reference):
        return [fresh[-1]]
    names = _names_in(scope, trace)
    if names:
        return names
    word = scope.strip().strip("*_ .'\"`")
    return [word] if 0 < len(word) <= 60 and find_value(trace.trajectory.task, word) < 0 else []


def _names_in(scope: str, trace: Trace) -> list[str]:
    """The proper noun of a short answer that the task does not mention, when there is just one."""
    if len(scope) > 400:
        return []
    found = dict.fromkeys(_NAME.findall(scope))
    fresh = [name for name in found if find_value(trace.trajectory.task, name) < 0]
    return fresh if len(fresh) == 1 else []


def _plain_expected(trace: Trace) -> list[str]:
    reason = trace.trajectory.outcome_reason or ""
    return [trace.reference.strip()] if trace.reference else _classify(reason[:4_000])[1] + _classify(reason[:4_000])[2]
