"""One value of a reply replaced by another: its result, a number throughout, or an argument of a tool call."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

from tracer_hooks_lab.faults._context import FaultContext
from tracer_hooks_lab.faults._text_parts import (
    Number,
    Span,
    conclusion,
    has_code,
    near,
    numbers_in,
    replace_at,
    replace_value,
    value_of,
    values_in,
)
from tracer_hooks_lab.faults._words import names_in, negate, other_name, turn_verdict

_CHOICE = re.compile(r"\(?\b([A-J])\b\)?")
_YES = {"yes": "no", "no": "yes", "true": "false", "false": "true"}


@dataclass(frozen=True)
class Result:
    """Result that a reply gives."""

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


Path = tuple[Any, ...]


def change_leaf(arguments: Any, known: Sequence[str], rng: Random) -> Any:
    """The arguments with one number, or else one name, changed; None when they hold neither."""
    changed = replace_leaf_value(arguments, None, rng, avoid=values_in(known))
    return changed if changed is not None else swap_leaf(arguments, known, rng)


def replace_leaf_value(
    arguments: Any, values: Collection[Decimal] | None, rng: Random, *, avoid: Collection[Decimal] = ()
) -> Any:
    """The arguments with one number changed: one of ``values``, or any when that is None; None without such a one."""

    def change(leaf: Any) -> Any:
        if isinstance(leaf, bool) or not isinstance(leaf, int | float | str):
            return None
        if isinstance(leaf, str):
            fitting = [n for n in numbers_in(leaf) if values is None or n.value in values]
            number = rng.choice(fitting) if fitting else None
            return None if number is None else replace_at(leaf, number, near(number.text, rng, avoid=avoid))
        if abs(leaf) >= 1e15:  # beyond what a float, and a reader, tells apart
            return None
        written = str(leaf)
        if "e" in written or "n" in written or (values is not None and value_of(written) not in values):
            return None
        return type(leaf)(near(written, rng, avoid=avoid))

    return _change_one(arguments, change, rng)


def swap_leaf(arguments: Any, known: Sequence[str], rng: Random) -> Any:
    """The arguments with one name exchanged for another that ``known`` texts hold; None when there is none."""
    given = {leaf for _, leaf in _leaves(arguments, ()) if isinstance(leaf, str)}

    def change(leaf: Any) -> Any:
        if not isinstance(leaf, str):
            return None
        for name in names_in(f"x {leaf}"):  # so that a name at the start is none of a sentence's first word
            other = other_name(name, known, rng)
            if other is not None and other not in given:
                return leaf.replace(name, other)
        return None

    return _change_one(arguments, change, rng)


def _change_one(arguments: Any, change: Callable[[Any], Any], rng: Random) -> Any:
    leaves = list(_leaves(arguments, ()))
    rng.shuffle(leaves)
    for path, leaf in leaves:
        changed = change(leaf)
        if changed is not None and changed != leaf:
            return _with(arguments, path, changed)
    return None


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from _leaves(item, (*path, place))
    else:
        yield path, value


def _with(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    if isinstance(value, Mapping):
        return {key: _with(item, path[1:], new) if key == path[0] else item for key, item in value.items()}
    return [_with(item, path[1:], new) if place == path[0] else item for place, item in enumerate(value)]
