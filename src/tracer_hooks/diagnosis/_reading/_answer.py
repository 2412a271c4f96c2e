"""The final answer of a run, and what its check or a reference says of it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tracer_hooks.diagnosis._reading._text import canonical, find_value, numbers_in, quoted_in, stated_values
from tracer_hooks.schema import RunOutcome

if TYPE_CHECKING:
    from tracer_hooks.diagnosis._reading._run import RunReading

_TRACEBACK = re.compile(
    r"^\s*Traceback \(most recent call last\):"
    r"|^\s*(?:[A-Za-z_]\w*\.){0,5}[A-Z]\w{0,40}(?:Error|Exception)\b\s*[:(]"
    r"|\bError code: \d{3}\b",
    re.MULTILINE,
)
_MARKED = re.compile(r"\bfinal answer\b\W{0,6}(?:is\b\W{0,4})?([^\n]{1,300})", re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\{((?:[^{}]|\{[^{}]{0,40}\}){1,80})\}")
_STATED = re.compile(
    r"\b(?:answer|result|total)\b(?:\s+(?:is|was|equals)\b\s*[:=]?|\s*\**[:=]|(?=\W{1,4}\d))\s*\**\s*([^\n]{1,200})",
    re.IGNORECASE,
)
_EDGES = " \t*_$`'\"“”"
_LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """Answer of a run."""

    text: str
    """The answer alone, without what was said around it; empty where the run gives none."""
    whole: str
    """The last words that it stands in, without an error that is glued to them."""
    is_marked: bool = False
    """The words themselves say that this is the answer: "FINAL ANSWER: 25", a box, the last field of a JSON reply."""


def without_traceback(text: str) -> str:
    """Words of an agent up to the error message that a log glues to them; all of them where there is none."""
    found = _TRACEBACK.search(text)
    return text[: found.start()].rstrip() if found is not None and text[: found.start()].strip() else text


def answer_in(text: str) -> FinalAnswer:
    """Find the answer in a run's last words."""
    whole = without_traceback(text[-_LONGEST:]).strip()
    marked = [
        stated for match in (*_MARKED.finditer(whole), *_BOXED.finditer(whole)) if (stated := _plain(match.group(1)))
    ]
    if marked:
        return FinalAnswer(marked[-1], whole, is_marked=True)
    field = _last_field(whole)
    if field is not None:
        return FinalAnswer(field, whole, is_marked=True)
    named = [match.group(1) for match in _STATED.finditer(whole)]
    return FinalAnswer(_plain(named[-1] if named else whole), whole)


def _plain(text: str) -> str:
    """Without marks of emphasis, the full stop and what follows it in a sentence of its own."""
    return text.strip().strip(_EDGES).removesuffix(".").strip(_EDGES)


def _last_field(text: str) -> str | None:
    """The last field of a reply that is a JSON object, fenced or not, when it is a plain value."""
    body = re.sub(r"^```\w*\n|\n?```$", "", text)
    if not body.startswith("{"):
        return None
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    value = list(found.values())[-1] if isinstance(found, dict) and found else None
    return str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None


_FILLER = r"that|the|an?|be|to|is|was|it|answer|value|result|output|total|of|say|contain|equal"
_BEFORE = rf"[\s:=(]{{0,4}}(?:(?:{_FILLER})\W{{1,3}}){{0,4}}[\s:='\"`“(]{{0,4}}$"
_EXPECTED = re.compile(
    r"\b(?:expect(?:ed|s|ing)?|should(?: have)?(?: be(?:en)?)?|must(?: be)?|want(?:ed|s)?|correct|right"
    r"|reference|gold(?:en)?"
    r"|truth|target|instead of|missing|lacks?|needs?|rather than|not (?:in|equal to|found)|!=|contain(?:s"
    r"|ing)?|mention)" + _BEFORE,
    re.IGNORECASE,
)
_WRONG = re.compile(
    r"\b(?:got|received?|actual(?:ly)?|but|was|were|found|returned|answered|gave|given|says?|said"
    r"|observed|wrong|incorrect"
    r"|saw|produced|is|not)" + _BEFORE,
    re.IGNORECASE,
)

# "expected Canberra, got Sydney": values without quotation marks.
_BARE_WORD = re.compile(
    r"\b(?:[Ee]xpected|[Gg]ot|[Rr]eceived|[Aa]ctual|instead of|should (?:be|say|contain))\s*:?\s+"
    r"(?:(?:the|an?|to|be)\s+){0,2}([A-Za-z][\w'-]*(?: [A-Z][\w'-]*){0,3})"
    r"(?=\s*(?:[,;.)!]|$|but\b|got\b|and\b|instead\b))"
)
_NO_VALUE_WORDS = "no nothing none wrong false true answer something different error output it result"
_NO_VALUE = frozenset(_NO_VALUE_WORDS.split())
# A capital letter that does not begin a sentence.
_NAME = re.compile(r"(?<=[a-z,;:] )(?:[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})*)")


@dataclass(frozen=True, slots=True)
class KnownOutcome:
    """Values of the run's answer, as far as they are known."""

    wrong: tuple[str, ...] = ()
    """Values that the answer has and should not have, the surest first."""
    expected: tuple[str, ...] = ()
    """Values that the answer should have."""
    answered: tuple[str, ...] = ()
    """The run's answer, when it failed and nothing says which part of its answer is wrong."""


def read_outcome(run: RunReading) -> KnownOutcome:
    """The wrong and the expected values of a run, from the check's reason and the reference."""
    wrong, expected, unsure = _classify((run.trajectory.outcome_reason or "")[:4_000])
    reference = (run.reference or "").strip()
    shown = [reference] if reference else [*expected, *unsure]
    if reference:
        expected.insert(0, reference)
    for value in unsure:
        (wrong if find_value(run.final_text, value) >= 0 else expected).append(value)
    known = {canonical(value) for value in expected}
    wrong = [part for value in wrong for part in _telling_parts(value, run) if canonical(part) not in known]
    if not wrong and expected and not any(find_value(run.final_text, value) >= 0 for value in expected):
        wrong = [value for value in _answers(run, shown) if canonical(value) not in known]
    failed = run.trajectory.outcome is RunOutcome.FAILED and bool(run.trajectory.final_output)
    answered = _answers(run, shown) if failed and not wrong and not expected else []
    return KnownOutcome(tuple(dict.fromkeys(wrong)), tuple(dict.fromkeys(expected)), tuple(answered))


def _telling_parts(value: str, run: RunReading) -> list[str]:
    """A wrong value itself; of a whole sentence, which its last writer phrased, the number or name that it carries."""
    if len(value.split()) <= 4:
        return [value]
    numbers = [match.group() for match in numbers_in(value) if canonical(match.group()) not in run.task_numbers]
    return numbers[-1:] or _names_in(value, run) or [value]


def named_values(reason: str) -> list[tuple[str, int]]:
    """Numbers, dates, times, ids and quoted strings with their places; what is inside a quoted string is part of it."""
    quoted = list(quoted_in(reason))
    covered = [(start, start + len(text) + 2) for text, start in quoted]
    words = [
        (match.group(1), match.start(1))
        for match in _BARE_WORD.finditer(reason)
        if match.group(1).casefold() not in _NO_VALUE
    ]
    found = [
        (value, place)
        for value, place in [*stated_values(reason), *words]
        if not any(start <= place < end for start, end in covered)
    ]
    return sorted(quoted + found, key=lambda pair: pair[1])


def _classify(reason: str) -> tuple[list[str], list[str], list[str]]:
    """The values that a reason calls wrong, those that it expects, and those of which it does not say."""
    wrong: list[str] = []
    expected: list[str] = []
    unsure: list[str] = []
    previous_end = 0
    for value, start in named_values(reason):
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


def _answers(run: RunReading, shown: Sequence[str]) -> list[str]:
    """Find what the run answered, when it is known to be wrong.

    Args:
        run: The run.
        shown: What the reference or the reason shows of the right answer.
    """
    scope = run.answer.text
    if not scope:
        return []
    values = [value for value, _ in stated_values(scope)]
    fresh = [value for value in values if not _is_in_task(run, value)] or values
    if fresh and (len(scope) <= 60 or not run.reference or any(stated_values(value) for value in shown)):
        return [fresh[-1]]
    names = _names_in(scope, run)
    if names:
        return names
    word = scope.strip("*_ .'\"`")
    return [word] if 0 < len(word) <= 60 and find_value(run.trajectory.task, word) < 0 else []


def _is_in_task(run: RunReading, value: str) -> bool:
    return canonical(value) in run.task_numbers or find_value(run.trajectory.task, value) >= 0


def _names_in(scope: str, run: RunReading) -> list[str]:
    """The proper noun of a short answer that the task does not mention, when there is just one."""
    if len(scope) > 400:
        return []
    found = dict.fromkeys(_NAME.findall(scope))
    fresh = [name for name in found if find_value(run.trajectory.task, name) < 0]
    return fresh if len(fresh) == 1 else []
