"""Occurrences of values: typed tokens of texts and JSON, what is around each, and which stands there usually."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis._reading._text import canonical, parsed_json
from tracer_hooks.schema import Step

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TOKEN = re.compile(
    r"(?P<time>\d{1,2}:\d\d(?::\d\d)?)"
    r"|(?P<iso>(?<!\d)\d{4}-\d\d-\d\d(?!\d))"
    rf"|(?P<day>\b(?:{'|'.join(month.title() for month in _MONTHS)})[a-z]{{0,6}}\.? \d{{1,2}}\b)"
    r"(?:st|nd|rd|th)?(?:,? \d{4})?"
    r"|(?P<id>(?:[A-Za-z]{1,40}[_-]){0,6}(?:[A-Za-z]{1,40}\d|\d{1,40}[A-Za-z])[A-Za-z0-9]{0,80}"
    r"|[A-Za-z]{1,40}(?:_[A-Za-z]{1,40}){0,6}_\d+)"
    r"|(?P<number>\d{1,40}(?:,\d{3})*(?:\.\d{1,20})?)"
    r"|(?P<word>[^\W\d_]+)"
)
_ID_LENGTH, _LONG_NUMBER = 4, 7
"""An id has four signs at least; a number of seven digits names something rather than counts it."""
_KEPT = 60
"""Characters of a text up to which its tokens are kept: keys and values of JSON come again and again."""


class TokenKind(StrEnum):
    """What a token is."""

    DATE = "date"
    ID = "id"
    NUMBER = "number"
    """Of two digits or more, years aside."""
    WORD = "word"
    OTHER = "other"
    """Times, years and single digits: they stand everywhere."""


VALUES = frozenset({TokenKind.DATE, TokenKind.ID, TokenKind.NUMBER})
"""The kinds of tokens that name or count something."""


class TypedToken(NamedTuple):
    """A word or a value of a text."""

    kind: TokenKind
    form: str
    """Equal for values that mean the same: the month and day of a date however it was written, a number's value."""
    words: str
    """As the text has it."""


def tokens_of(line: str) -> tuple[TypedToken, ...]:
    """The tokens of one line, in order."""
    return _kept(line) if len(line) <= _KEPT else tuple(_tokens(line))


@lru_cache(maxsize=20_000)
def _kept(line: str) -> tuple[TypedToken, ...]:
    return tuple(_tokens(line))


def _tokens(line: str) -> Iterator[TypedToken]:
    for match in _TOKEN.finditer(line):
        group = match.lastgroup or ""
        words = match.group(group)
        yield TypedToken(*_READERS[group](words), words)


def _iso(words: str) -> tuple[TokenKind, str]:
    return TokenKind.DATE, words[5:]


def _day(words: str) -> tuple[TokenKind, str]:
    month, day = _MONTHS.index(words[:3].casefold()) + 1, int(words.split()[-1])
    return TokenKind.DATE, f"{month:02d}-{day:02d}"


def _id(words: str) -> tuple[TokenKind, str]:
    return (TokenKind.ID if len(words) >= _ID_LENGTH else TokenKind.WORD), words.casefold()


def _number(words: str) -> tuple[TokenKind, str]:
    form = canonical(words)
    if len(form.replace(".", "")) >= _LONG_NUMBER:
        return TokenKind.ID, form
    is_year = len(words) == 4 and words.startswith(("19", "20"))
    return (TokenKind.OTHER if len(form) < 2 or is_year else TokenKind.NUMBER), form


_READERS: Mapping[str, Callable[[str], tuple[TokenKind, str]]] = {
    "time": lambda words: (TokenKind.OTHER, words),
    "iso": _iso,
    "day": _day,
    "id": _id,
    "number": _number,
    "word": lambda words: (TokenKind.WORD, words.casefold()),
}
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


def _in_line(tokens: Sequence[TypedToken]) -> Iterator[Occurrence]:
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


def _words_around(tokens: Sequence[TypedToken], place: int) -> set[str]:
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


_ANYWHERE = ""
_SMOOTHING = 0.5
"""Sightings that a value is given with everything, at the rate at which it is seen at all."""


class Sightings:
    """Which values one run has with each thing around them.

    A value counts once there, however often the run repeats it: a mistake that is carried on does not become a custom.
    """

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, set[str]]] = {kind: defaultdict(set) for kind in VALUES}

    def add(self, occurrences: Iterable[Occurrence]) -> None:
        """Take in more of the run."""
        for one in occurrences:
            seen = self._seen[one.kind]
            seen[_ANYWHERE].add(one.form)
            for around in one.around:
                seen[around].add(one.form)

    def of_kind(self, kind: str) -> dict[str, set[str]]:
        """For each thing that values of a kind were seen with, the values."""
        return self._seen[kind]


def fit(one: Occurrence, runs: Sequence[Sightings]) -> float:
    """How well a value fits its place: log-likelihood ratio of this value there against this value anywhere.

    Things around it are taken for independent of each other, which they are not, so the sum is divided by the root of
    their number. Things that were never seen with a value of this kind say nothing; 0 when there is nothing else.
    """
    tables = [run.of_kind(one.kind) for run in runs]
    here, total = _count(tables, _ANYWHERE, one.form)
    base = (here + _SMOOTHING) / (total + 1.0)
    evidence: list[float] = []
    for around in one.around:
        here, seen = _count(tables, around, one.form)
        if seen:
            evidence.append(math.log((here + _SMOOTHING * base) / ((seen + _SMOOTHING) * base)))
    # fsum: the order of a set's members differs from one process to the next, and a sum's last digit with it.
    return math.fsum(evidence) / math.sqrt(len(evidence)) if evidence else 0.0


def _count(tables: Sequence[dict[str, set[str]]], around: str, form: str) -> tuple[int, int]:
    """In how many runs the value stands there, and how many values stand there in all of them."""
    here = total = 0
    for table in tables:
        found = table.get(around)
        if found:
            total += len(found)
            here += form in found
    return here, total


def customary(one: Occurrence, passing: Sequence[Sightings]) -> str | None:
    """The value of its shape that the passing runs mostly have with what is around this one; None when it is this one.

    Also None when they have no such value there: who has no other value to offer cannot say that this one is wrong.
    """
    votes: dict[str, float] = defaultdict(float)
    shape = _shape(one.form)
    for around in one.around:
        found = [there for run in passing if (there := run.of_kind(one.kind).get(around))]
        total = sum(len(there) for there in found)
        for there in found:
            for form in there:
                if _shape(form) == shape:
                    votes[form] += 1.0 / total
    best = max(votes, key=lambda form: (round(votes[form], 9), form), default=one.form)
    return None if best == one.form else best


@lru_cache(maxsize=20_000)
def _shape(form: str) -> tuple[bool, int, int]:
    """What tells a flight from a payment: whether there is a letter, how many parts, and how long a single part is."""
    parts = form.count("_") + form.count("-")
    has_letter = any(map(str.isalpha, form))
    return has_letter, parts, len(form) if has_letter and not parts else 0
