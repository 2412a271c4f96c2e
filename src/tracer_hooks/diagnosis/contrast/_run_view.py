"""A run read for comparison: the tokens of its texts, the claims they make, what stands around values, its acts."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis._reading._roles import Role, fold
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import canonical, parsed_json
from tracer_hooks.schema import Step, StepKind, Trajectory

_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts without spaces, of which each sign is a token."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TOKEN = re.compile(
    r"(?P<time>\d{1,2}:\d\d(?::\d\d)?)"
    r"|(?P<iso>(?<!\d)\d{4}-\d\d-\d\d(?!\d))"
    rf"|(?P<day>\b(?:{'|'.join(month.title() for month in _MONTHS)})[a-z]{{0,6}}\.? \d{{1,2}}\b)"
    r"(?:st|nd|rd|th)?"
    r"|(?P<id>(?:[A-Za-z]{1,40}[_-]){0,6}(?:[A-Za-z]{1,40}\d|\d{1,40}[A-Za-z])[A-Za-z0-9]{0,80}"
    r"|[A-Za-z]{1,40}(?:_[A-Za-z]{1,40}){0,6}_\d+)"
    r"|(?P<number>\d{1,40}(?:,\d{3})*(?:\.\d{1,20})?)"
    rf"|(?P<word>[{_CJK}]|[^\W\d_{_CJK}]+)"
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
    "iso": lambda words: (TokenKind.DATE, words[5:]),
    "day": _day,
    "id": _id,
    "number": _number,
    "word": lambda words: (TokenKind.WORD, words.casefold()),
}


_DIGITS = re.compile(r"\d+")
_NAME = re.compile(r"(?<=[^\W\d_][ ,])(?:[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})+)")
_COUNTED = re.compile(r"(\d+)[^\W\d_]{0,2}")
_WORD = re.compile(r"[^\W_]+")


class ClaimKind(StrEnum):
    """What a claim is about."""

    NUMBER = "number"
    CODE = "code"
    """A date, a time, an id, an abbreviation in capitals."""
    NAME = "name"
    """Several capitalised words inside a sentence."""
    ARGUMENT = "argument"
    """The value of one argument of one tool."""


class Claim(NamedTuple):
    """One thing that a step says or uses; equal claims have equal values whatever way they were written."""

    kind: ClaimKind
    value: str
    slot: str = ""
    """Of an argument, the tool and the place in its arguments: ``"refund.amount"``."""


class TextReading(NamedTuple):
    """One text taken apart."""

    words: dict[str, int]
    """How often each token occurs, in comparable form, numbers and codes among them."""
    claims: dict[Claim, str]
    """The claims, each with the words in which the text makes it first."""


def read_text(text: str) -> TextReading:
    """Take a text apart, which the caller has cut to a length that it can afford."""
    words: dict[str, int] = {}
    claims: dict[Claim, str] = {}
    for token, count in Counter(_tokens(text)).items():
        words[token.form] = words.get(token.form, 0) + count
        for claim in _claims_of(token):
            claims.setdefault(claim, token.words)
    for match in _NAME.finditer(text):
        claims.setdefault(Claim(ClaimKind.NAME, match.group().casefold()), match.group())
    return TextReading(words, claims)


@lru_cache(maxsize=50_000)
def _claims_of(token: TypedToken) -> tuple[Claim, ...]:
    if token.kind is TokenKind.DATE and token.words[0].isdigit():
        return Claim(ClaimKind.CODE, token.form), Claim(ClaimKind.NUMBER, token.words[:4])
    if token.kind in (TokenKind.DATE, TokenKind.ID) or ":" in token.form:
        return (Claim(ClaimKind.CODE, token.form),)
    if token.kind is not TokenKind.WORD:
        return (Claim(ClaimKind.NUMBER, token.form),)
    is_short_code = 3 <= len(token.words) <= 5 and token.words.isascii() and token.words.isupper()
    return (Claim(ClaimKind.CODE, token.form),) if is_short_code else ()


def argument_claims(tool: str, arguments: object, room: int = 60) -> Iterator[tuple[Claim, str]]:
    """The values in a tool's arguments, each under its place; positions in lists are left out, since order may vary."""
    stack: list[tuple[str, object]] = [(tool, arguments)]
    while stack and room:
        place, value = stack.pop()
        if isinstance(value, dict):
            stack.extend((f"{place}.{key}", inner) for key, inner in reversed(list(value.items())))
        elif isinstance(value, list):
            stack.extend((place, inner) for inner in reversed(value))
        elif value is not None and str(value).strip():
            room -= 1
            surface = str(value)[:400]
            folded = canonical(surface) if len(surface) < 40 else " ".join(surface.casefold().split())
            yield Claim(ClaimKind.ARGUMENT, folded, place), surface


def parts_of(claims: Iterable[Claim]) -> set[Claim]:
    """The claims, and the plain numbers inside their codes: who has read ``2024-05-17`` can say "May 17"."""
    found = set(claims)
    for claim in claims:
        if claim.kind in (ClaimKind.CODE, ClaimKind.ARGUMENT):
            found.update(Claim(ClaimKind.NUMBER, canonical(digits)) for digits in _DIGITS.findall(claim.value[:80]))
        if claim.kind is ClaimKind.ARGUMENT:
            found.update(read_text(claim.value).claims)
    return found


def is_rewording(claim: Claim, known: Set[Claim]) -> bool:
    """Tell whether a code only writes known numbers in another way: "13th", "19:00" of "19:00:00", "May 26/27"."""
    if claim.kind is not ClaimKind.CODE or _DIGITS.search(claim.value) is None:
        return False
    parts = [part for part in _WORD.findall(claim.value) if not part.isalpha()]
    counted = [_COUNTED.fullmatch(part) for part in parts]
    return all(match and Claim(ClaimKind.NUMBER, canonical(match[1])) in known for match in counted)


def claim_weight(claim: Claim) -> float:
    """How much a claim says, from 0 to 1: numbers of one or two digits stand in every list and every date."""
    if claim.kind is ClaimKind.NUMBER:
        digits = sum(char.isdigit() for char in claim.value)
        return 0.2 if digits < 2 else 0.6 if digits == 2 else 0.8
    if claim.kind is ClaimKind.CODE:
        return 1.0 if len(claim.value) > 3 and _DIGITS.search(claim.value) else 0.25
    return 0.4 if claim.kind is ClaimKind.NAME else 1.0


_NEAR_WORDS, _WORD_REACH, _VALUE_REACH = 4, 8, 12
"""How many words on either side count, and how many tokens away words and other values may be."""
_LINE, _VALUES_OF_LINE = 2_000, 40
_LEAF, _SHORT_LEAF = 200, 60
"""Characters of a JSON text that are looked at, and up to which it is a value rather than prose."""
_BESIDE, _ABOVE, _LIST = 24, 12, 200
"""How many tokens beside a JSON value count, how many of those of the object around it, and items of a list."""
_MOST_TEXT = 100_000
"""Characters of a text that are read at most."""
_MAX_DEPTH = 24


class Occurrence(NamedTuple):
    """One value in one place."""

    kind: TokenKind
    form: str
    words: str
    around: frozenset[str]
    """What is around it: ``w:`` words, ``v:`` other values, ``k:`` the key that it stands under, ``t:`` the tool that
    it is passed to."""


def occurrences_in(text: str, *, limit: int = _MOST_TEXT, beside: Sequence[str] = ()) -> Iterator[Occurrence]:
    """The values in a text, which may be JSON.

    Args:
        text: Any text.
        limit: Characters that are read; of a longer text, JSON or not, only the beginning.
        beside: What stands beside everything in it, when it is JSON.
    """
    data = parsed_json(text) if text[:1] in ("{", "[") and len(text) <= limit else None
    if data is not None:
        yield from _in_json(data, "", tuple(beside))
        return
    for line in text[:limit].splitlines():
        yield from _in_line(tokens_of(line[:_LINE]))


def _in_line(tokens: Sequence[TypedToken]) -> Iterator[Occurrence]:
    places = [place for place, token in enumerate(tokens) if token.kind in VALUES]
    for place in places[:_VALUES_OF_LINE]:
        token = tokens[place]
        around = {
            f"v:{tokens[other].form}"
            for other in places
            if abs(other - place) <= _VALUE_REACH and tokens[other].form != token.form
        }
        before = [one.form for one in tokens[max(0, place - _WORD_REACH) : place] if one.kind is TokenKind.WORD]
        after = [one.form for one in tokens[place + 1 : place + 1 + _WORD_REACH] if one.kind is TokenKind.WORD]
        around |= {f"w:{word}" for word in (*before[-_NEAR_WORDS:], *after[:_NEAR_WORDS])}
        yield Occurrence(token.kind, token.form, token.words, frozenset(around))


def _in_json(data: object, key: str, beside: tuple[str, ...], depth: int = 0) -> Iterator[Occurrence]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(data, dict):
        own = _scalars(data)
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


def _scalars(data: object) -> tuple[str, ...]:
    """The scalars of an object as something that stands beside its values."""
    values = data.values() if isinstance(data, Mapping) else ()
    scalars = (value for value in values if isinstance(value, (str, int, float)) and not isinstance(value, bool))
    tokens = (token for value in scalars for token in tokens_of(str(value)[:80]))
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


_RUN_BUDGET = 90_000
"""Characters of one run that are looked at, so that long runs cost no more than a fraction of a second."""
_LEAST, _MOST = 500, 6_000
"""Characters of one step that are looked at, at least and at most: half from its head, half from its tail."""
_LEAST_OF_TEXT = 200
"""Characters of each text of a step that are looked at, at least."""
_TASK_LIMIT = 8_000
_RUN_VALUES, _LEAST_VALUES, _MOST_VALUES = 8_000, 5, 600
"""Places of values of one run, and of one step at least and at most, that are looked at."""
_VALUES_BUDGET = 600_000
"""Characters of one run in which values are looked for; a long reply of a tool holds what later steps take from it."""


class Act(NamedTuple):
    """What kind of act a step is, without its content."""

    agent: str
    kind: StepKind
    target: str = ""
    """The tools called, or the agent handed to."""


@dataclass(frozen=True, slots=True)
class ComparedStep:
    """One step as the comparison sees it."""

    index: int
    act: Act
    role: Role
    terms: Mapping[str, int]
    """How often each word, number and code stands in the step."""
    made: Mapping[Claim, str]
    """The claims that the step itself brings forward, with the words it uses."""
    received: Mapping[Claim, str]
    """The claims that came from outside: tool results, errors, and everything that persons and reporters say."""

    @property
    def is_empty(self) -> bool:
        """Tell whether the step holds nothing to compare."""
        return not self.terms and not self.act.target


class StepValues(NamedTuple):
    """The values of one step, each with what is around it."""

    own: tuple[Occurrence, ...]
    """What the step itself says or passes to a tool."""
    outside: tuple[Occurrence, ...]
    """What tools gave back, and everything that persons and reporters say."""


class RunView:
    """One run as the comparison sees it; its labels, outcome and reference are not looked at."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.reading = RunReading(trajectory)
        self.acts = tuple(self.reading.acts)
        """The steps of members of the team; all steps when there is no other."""
        limit = max(_LEAST, min(_MOST, _RUN_BUDGET // max(1, len(trajectory.steps))))
        self.steps = tuple(_compared(self.reading, step, limit) for step in trajectory.steps)
        task = read_text(_clip(trajectory.task, _TASK_LIMIT))
        self.task_words = task.words
        self.given = frozenset(task.claims)
        """The claims in the task."""

    @property
    def is_empty(self) -> bool:
        """Tell whether the team's acts hold nothing to compare."""
        return all(self.steps[index].is_empty for index in self.acts)

    @cached_property
    def agents(self) -> frozenset[str]:
        """Those who acted, persons aside; everybody when only persons did."""
        acting = {step.act.agent for step in self.steps if step.role is not Role.PERSON}
        return frozenset(acting or {step.act.agent for step in self.steps})

    @cached_property
    def values(self) -> tuple[StepValues, ...]:
        """For each step, the values in it and from outside, each with what is around it."""
        count = max(1, len(self.steps))
        most = max(_LEAST_VALUES, min(_MOST_VALUES, _RUN_VALUES // count))
        limit = max(_LEAST, min(_MOST_TEXT, _VALUES_BUDGET // count))
        pairs = zip(self.trajectory.steps, self.steps, strict=True)
        return tuple(_step_values(step, compared.role, most, limit) for step, compared in pairs)

    @cached_property
    def given_values(self) -> tuple[Occurrence, ...]:
        """The values in the task."""
        return tuple(islice(occurrences_in(self.trajectory.task), _MOST_VALUES))

    @cached_property
    def sightings(self) -> Sightings:
        """Which values the run has with what around them."""
        found = Sightings()
        found.add(self.given_values)
        for values in self.values:
            found.add((*values.own, *values.outside))
        return found

    @cached_property
    def own_places(self) -> Mapping[tuple[str, str], Sequence[tuple[int, Occurrence]]]:
        """For each kind and form of a value, where the team has it: the step, and what is around it."""
        found: dict[tuple[str, str], list[tuple[int, Occurrence]]] = {}
        for index in self.acts:
            for one in self.values[index].own:
                found.setdefault((one.kind, one.form), []).append((index, one))
        return found

    @cached_property
    def act_counts(self) -> Counter[Act]:
        """How often the team did each kind of act."""
        return Counter(self.steps[index].act for index in self.acts)

    @cached_property
    def known(self) -> frozenset[Claim]:
        """Every claim of the run, said or received, with the parts of codes."""
        everything = set(self.given)
        for step in self.steps:
            everything.update(step.made, step.received)
        return frozenset(parts_of(everything))

    @cached_property
    def known_before(self) -> tuple[frozenset[Claim], ...]:
        """For each step, every claim that the run had seen before it."""
        seen, before = set(parts_of(self.given)), []
        for step in self.steps:
            before.append(frozenset(seen))
            seen |= parts_of([*step.made, *step.received])
        return tuple(before)


def _compared(reading: RunReading, step: Step, limit: int) -> ComparedStep:
    role = reading.roles[step.index]
    is_own = role is Role.AGENT
    passed = [tuple(argument_claims(call.name, call.arguments)) for call in step.tool_calls]
    own = [step.content, *(" \n".join(surface for _, surface in values) for values in passed)]
    outside = [passage.raw for passage in reading.passages(step.index, "error", "result", "tool error")]
    share = max(_LEAST_OF_TEXT, limit // max(1, sum(map(bool, own)) + len(outside)))
    said = read_text("\n".join(_clip(text, share) for text in own if text))
    heard = read_text("\n".join(_clip(text, share) for text in outside))
    arguments = {claim: surface for values in passed for claim, surface in values}
    made = {**said.claims, **arguments} if is_own else arguments
    received = heard.claims if is_own else {**said.claims, **heard.claims}
    terms = Counter(said.words)
    terms.update(heard.words)
    return ComparedStep(step.index, _act_of(step), role, terms, made, received)


def _act_of(step: Step) -> Act:
    if step.tool_calls:
        return Act(fold(step.agent), StepKind.TOOL_CALL, "+".join(sorted({call.name for call in step.tool_calls})))
    return Act(fold(step.agent), step.kind, fold(step.recipient or ""))


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit // 2]} {text[-(limit // 2) :]}"


def _step_values(step: Step, role: Role, most: int, limit: int) -> StepValues:
    """The values of a step: ``most`` of its own and as many from outside, in ``limit`` characters of each text."""
    own = list(islice(occurrences_in(step.content, limit=limit), most))
    if role is not Role.AGENT:
        return StepValues((), tuple(own))
    for call in step.tool_calls:
        own += [one._replace(around=one.around | {f"t:{call.name}"}) for one in _in_json(call.arguments, "", ())]
    outside = (
        one
        for call in step.tool_calls
        for text in (call.result, call.error)
        if text
        for one in occurrences_in(text, limit=limit, beside=_scalars(call.arguments))
    )
    return StepValues(tuple(own[:most]), tuple(islice(outside, most)))
