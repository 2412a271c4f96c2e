"""Where values stand: each with what is around it, in a text by words, in JSON by keys and what is beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from tracer_hooks.attribution._contrast._typed_tokens import VALUES, Token, TokenKind, tokens_of
from tracer_hooks.attribution._reading._json import parsed_json
from tracer_hooks.attribution._reading._roles import Role
from tracer_hooks.schema import Step

_NEAR_WORDS, _WORD_REACH, _VALUE_REACH = 4, 8, 12
"""How many words on either side count, and how many tokens away words and other values may be."""
_LINE, _VALUES_OF_LINE = 2_000, 40
_LEAF, _SHORT_LEAF = 200, 60
"""Characters of a JSON text that are looked at, and up to which it is a value rather than prose."""
_BESIDE, _ABOVE, _LIST = 24, 12, 200
"""How many tokens beside a JSON value count, how many of those of the object around it, and items of a list."""
MOST_TEXT = 100_000
"""Characters of a text that are read at most."""
_MAX_DEPTH = 24


class Occurrence(NamedTuple):
    """One value in one place."""

    kind: TokenKind
    form: str
    words: str
    around: frozenset[str]
    """What is around it: ``w:`` words, ``l:``, ``ll:``, ``r:`` and ``rr:`` the one or two beside it, ``v:`` other
    values, ``k:`` the key that it stands under, ``t:`` the tool that it is passed to."""


class StepValues(NamedTuple):
    """The values of one step."""

    own: tuple[Occurrence, ...]
    """What the step itself says or passes to a tool."""
    outside: tuple[Occurrence, ...]
    """What tools gave back, and everything that persons and reporters say."""


def step_values(step: Step, role: Role, *, most: int, limit: int) -> StepValues:
    """The values of a step: ``most`` of its own and as many from outside, in ``limit`` characters of each text."""
    said = list(islice(occurrences_in(step.content, limit=limit), most))
    if role is not Role.AGENT:
        return StepValues((), tuple(said))
    own = [*said, *(one for call in step.tool_calls for one in _passed(call.name, call.arguments))]
    outside = (
        one
        for call in step.tool_calls
        for text in (call.result, call.error)
        if text
        for one in occurrences_in(text, limit=limit, beside=_marks(_scalars(call.arguments)))
    )
    return StepValues(tuple(own[:most]), tuple(islice(outside, most)))


def _passed(tool: str, arguments: object) -> Iterator[Occurrence]:
    for one in _in_json(arguments, "", ()):
        yield one._replace(around=one.around | {f"t:{tool}"})


def occurrences_in(text: str, *, limit: int = MOST_TEXT, beside: Sequence[str] = ()) -> Iterator[Occurrence]:
    """The values in a text, which may be JSON.

    Args:
        text: Any text.
        limit: Characters that are read; of a longer text, JSON or not, only the beginning.
        beside: What stands beside everything in it, when it is JSON.
    """
    data = _parsed(text) if len(text) <= limit else None
    if data is not None:
        yield from _in_json(data, "", tuple(beside))
        return
    for line in text[:limit].splitlines():
        yield from _in_line(tokens_of(line[:_LINE]))


def _parsed(text: str) -> object:
    return parsed_json(text) if text[:1] in ("{", "[") else None


def _in_line(tokens: Sequence[Token]) -> Iterator[Occurrence]:
    places = [place for place, token in enumerate(tokens) if token.kind in VALUES]
    for place in places[:_VALUES_OF_LINE]:
        token = tokens[place]
        around = {
            f"v:{tokens[other].form}"
            for other in places
            if abs(other - place) <= _VALUE_REACH and tokens[other].form != token.form
        }
        around |= _words_around(tokens, place)
        yield Occurrence(token.kind, token.form, token.words, frozenset(around))


def _words_around(tokens: Sequence[Token], place: int) -> set[str]:
    before = [one.form for one in tokens[max(0, place - _WORD_REACH) : place] if one.kind is TokenKind.WORD]
    after = [one.form for one in tokens[place + 1 : place + 1 + _WORD_REACH] if one.kind is TokenKind.WORD]
    before, after = before[-_NEAR_WORDS:], after[:_NEAR_WORDS]
    around = {f"w:{word}" for word in (*before, *after)}
    around |= {f"l:{word}" for word in before[-1:]} | {f"r:{word}" for word in after[:1]}
    if len(before) > 1:
        around.add(f"ll:{before[-2]} {before[-1]}")
    if len(after) > 1:
        around.add(f"rr:{after[0]} {after[1]}")
    return around


def _in_json(data: object, key: str, beside: tuple[str, ...], depth: int = 0) -> Iterator[Occurrence]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(data, dict):
        own = _marks(_scalars(data))
        for name, inner in data.items():
            for token in tokens_of(str(name)[:_LEAF]):
                if token.kind is TokenKind.ID:  # objects under ids: {"card_12": {...}}
                    yield Occurrence(token.kind, token.form, token.words, frozenset({f"k:{key}", *own[:8]}))
            yield from _in_json(inner, str(name), (*own, *beside[:_ABOVE]), depth + 1)
    elif isinstance(data, list):
        for inner in data[:_LIST]:
            yield from _in_json(inner, key, beside, depth + 1)
    elif data is not None and not isinstance(data, bool):
        yield from _in_leaf(str(data), key, beside)


def _in_leaf(text: str, key: str, beside: tuple[str, ...]) -> Iterator[Occurrence]:
    if len(text) >= _SHORT_LEAF:
        for line in text.splitlines():
            yield from _in_line(tokens_of(line[:_LINE]))
        return
    place = {f"k:{key}", *beside, *(f"w:{one.form}" for one in tokens_of(key.replace("_", " ")[:_LEAF]))}
    for token in tokens_of(text):
        if token.kind in VALUES:
            yield Occurrence(token.kind, token.form, token.words, frozenset(place - {f"v:{token.form}"}))


def _scalars(data: object) -> Iterator[object]:
    if isinstance(data, Mapping):
        yield from (value for value in data.values() if isinstance(value, (str, int, float)))


def _marks(values: Iterable[object]) -> tuple[str, ...]:
    """Scalars of an object as something that stands beside the others."""
    tokens = (token for value in values if not isinstance(value, bool) for token in tokens_of(str(value)[:80]))
    found = (f"{'v' if token.kind in VALUES else 'w'}:{token.form}" for token in tokens)
    return tuple(islice(found, _BESIDE))
