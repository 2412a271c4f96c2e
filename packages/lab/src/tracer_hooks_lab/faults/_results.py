"""The result that a reply gives: changed alone or throughout, in the format it has."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from random import Random

from tracer_hooks_lab.faults._context import FaultContext
from tracer_hooks_lab.faults._entities import names_in, other_name
from tracer_hooks_lab.faults._numbers import Number, near, numbers_in, replace_at, replace_value, values_in
from tracer_hooks_lab.faults._opposites import negate, turn_verdict
from tracer_hooks_lab.faults._prose import Span, conclusion, conclusion_sentence, has_code

_CHOICE = re.compile(r"\(?\b([A-J])\b\)?")
_YES = {"yes": "no", "no": "yes", "true": "false", "false": "true"}


@dataclass(frozen=True)
class Result:
    """What a reply gives as its result."""

    span: Span
    """Where the conclusion stands."""
    number: Number | None
    """The number that it comes down to, if it is one."""


def result_in(text: str) -> Result | None:
    """The conclusion of a reply; without one, the last number of its prose."""
    span = conclusion(text)
    if span is not None:
        inside = [n for n in numbers_in(text) if span.start <= n.start < span.end]
        equals = text.rfind("=", span.start, span.end)
        after = [n for n in inside if n.start > equals]
        return Result(span, (after or inside)[0] if inside else None)
    if has_code(text):
        return None
    numbers = numbers_in(text)
    return Result(Span(numbers[-1].start, numbers[-1].end), numbers[-1]) if numbers else None


def stated_result(text: str) -> Result | None:
    """The number that a reply states as its result; None when it states none, or no number."""
    result = result_in(text) if conclusion(text) is not None else None
    return result if result is not None and result.number is not None else None


def result_value(text: str) -> Decimal | None:
    """The number that a reply states as its result."""
    result = stated_result(text)
    return result.number.value if result is not None and result.number is not None else None


def change_result(text: str, context: FaultContext, rng: Random) -> str | None:
    """``text`` with another result, the reasoning before it left as it is; None when it gives no result."""
    result = result_in(text)
    if result is None:
        return None
    if result.number is not None:
        return replace_at(text, result.number, near(result.number.text, rng, avoid=values_in([text, context.task])))
    changed = _other_words(result.span.of(text), context, rng)
    return None if changed is None else text[: result.span.start] + changed + text[result.span.end :]


def change_result_throughout(text: str, context: FaultContext, rng: Random) -> str | None:
    """``text`` with another result wherever it names it."""
    result = result_in(text)
    if result is None or result.number is None:
        return change_result(text, context, rng)
    new = near(result.number.text, rng, avoid=values_in([text, context.task]))
    return replace_value(text, result.number.value, new)


def set_result(text: str, new: str) -> str | None:
    """``text`` with the number of its result written as ``new``; None when it has none, or has this one."""
    result = result_in(text)
    if result is None or result.number is None or result.number.text == new:
        return None
    return replace_at(text, result.number, new)


def change_value(text: str, value: Decimal, new: str, context: FaultContext, rng: Random) -> str | None:
    """``text`` with one value written as ``new`` throughout, and another result to go with it."""
    changed = replace_value(text, value, new)
    if changed == text:
        return None
    before = stated_result(text)
    if before is None or before.number is None or before.number.value == value:  # the value was the result itself
        return changed
    written = near(before.number.text, rng, avoid=values_in([text, context.task, new]))
    return replace_value(changed, before.number.value, written)


def closing(text: str, context: FaultContext) -> str | None:
    """The line or sentence of the reply that gives its result, or one of the run in the same format."""
    for source in (text, *(u.text for u in reversed(context.history) if not u.is_tool_result)):
        sentence = conclusion_sentence(source)
        if sentence is not None:
            return sentence.of(source)
    return None


def _other_words(words: str, context: FaultContext, rng: Random) -> str | None:
    bare = words.strip(" .*_\"'`").lower()
    if bare in _YES:
        return re.sub(re.escape(bare), lambda m: _like(m.group(), _YES[bare]), words, flags=re.IGNORECASE)
    turned = turn_verdict(words)
    if turned is not None:
        return turned
    letter = _CHOICE.fullmatch(words.strip(" ."))
    if letter is not None:
        new = rng.choice([choice for choice in "ABCD" if choice != letter.group(1)])
        return words.replace(letter.group(1), new)
    known = [context.task, *(u.text for u in context.history)]
    for name in names_in(f"x {words}"):
        other = other_name(name, known, rng)
        if other is not None:
            return words.replace(name, other)
    return negate(words)


def _like(model: str, word: str) -> str:
    return word.upper() if model.isupper() else word.capitalize() if model[:1].isupper() else word
