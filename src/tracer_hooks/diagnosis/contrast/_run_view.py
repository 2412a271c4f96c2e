"""A trajectory made ready to be compared: the acts of its steps, and the claims that their texts make."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis._reading._roles import Role, fold, roles_of
from tracer_hooks.diagnosis._reading._text import canonical
from tracer_hooks.diagnosis.contrast._occurrences import (
    MOST_TEXT,
    Occurrence,
    Sightings,
    StepValues,
    occurrences_in,
    step_values,
)
from tracer_hooks.schema import Step, StepKind, Trajectory

_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"

# Scripts without spaces give one token a character; other tokens keep the joints of dates, mail addresses and ids.
_TOKEN = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+(?:(?:[.@:'\u2019/-]|,(?=\d{{3}}(?!\d))|_+)[^\W_{_CJK}]+)*")
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_DIGITS = re.compile(r"\d+")
_NAME = re.compile(r"(?<=[^\W\d_][ ,])(?:[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})+)")
_SENTENCE = re.compile(r"[^.!?\n]+")
_COUNTED = re.compile(r"(\d+)[^\W\d_]{0,2}")
_WORD = re.compile(r"[^\W_]+")
_MIN_SENTENCE_WORDS, _MAX_SENTENCE_WORDS, _MAX_SENTENCES = 5, 40, 12


class ClaimKind(StrEnum):
    """What a claim is about."""

    NUMBER = "number"
    CODE = "code"
    """A token with digits that is no number, a mail address, an abbreviation in capitals: ids, dates, airports."""
    NAME = "name"
    """Several capitalised words inside a sentence."""
    ARGUMENT = "argument"
    """The value of one argument of one tool."""
    SENTENCE = "sentence"


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


def read_text(text: str, *, sentences: bool = False) -> TextReading:
    """Take a text apart.

    Args:
        text: Any text; the caller cuts it to a length that it can afford.
        sentences: Whether whole sentences count as claims too.
    """
    words: dict[str, int] = {}
    claims: dict[Claim, str] = {}
    for token, count in Counter(_TOKEN.findall(text)).items():
        forms, claim = _read_token(token)
        for form in forms:
            words[form] = words.get(form, 0) + count
        if claim is not None:
            claims.setdefault(claim, token)
    for match in _NAME.finditer(text):
        claims.setdefault(Claim(ClaimKind.NAME, match.group().casefold()), match.group())
    if sentences:
        claims.update(_sentences(text))
    return TextReading(words, claims)


@lru_cache(maxsize=50_000)
def _read_token(token: str) -> tuple[tuple[str, ...], Claim | None]:
    """The words that a token counts as, and the claim that it makes."""
    claim = _claim_of(token)
    if claim is not None:
        return (claim.value,), claim
    return tuple(part.casefold() for part in _WORD.findall(token)), None


def _claim_of(token: str) -> Claim | None:
    if token.isalpha():
        is_short_code = 3 <= len(token) <= 5 and token.isascii() and token.isupper()
        return Claim(ClaimKind.CODE, token.casefold()) if is_short_code else None
    if _DIGITS.search(token) is None:
        return Claim(ClaimKind.CODE, token.casefold()) if "@" in token else None
    if _NUMBER.fullmatch(token):
        return Claim(ClaimKind.NUMBER, canonical(token))
    return Claim(ClaimKind.CODE, token.casefold())


def _sentences(text: str) -> Iterator[tuple[Claim, str]]:
    found = 0
    for match in _SENTENCE.finditer(text):
        words = _WORD.findall(match.group())
        if _MIN_SENTENCE_WORDS <= len(words) <= _MAX_SENTENCE_WORDS:
            yield Claim(ClaimKind.SENTENCE, " ".join(words).casefold()), match.group().strip()
            found += 1
            if found == _MAX_SENTENCES:
                return


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
    return all(_is_known_part(part, known) for part in _WORD.findall(claim.value))


def _is_known_part(part: str, known: Set[Claim]) -> bool:
    if part.isalpha():
        return True
    match = _COUNTED.fullmatch(part)
    return match is not None and Claim(ClaimKind.NUMBER, canonical(match[1])) in known


def claim_weight(claim: Claim) -> float:
    """How much a claim says, from 0 to 1: numbers of one or two digits stand in every list and every date."""
    if claim.kind is ClaimKind.NUMBER:
        digits = sum(char.isdigit() for char in claim.value)
        return 0.2 if digits < 2 else 0.6 if digits == 2 else 0.8
    if claim.kind is ClaimKind.CODE:
        return 1.0 if len(claim.value) > 3 and _DIGITS.search(claim.value) else 0.25
    if claim.kind is ClaimKind.NAME:
        return 0.4
    return 1.0 if claim.kind is ClaimKind.ARGUMENT else 0.2


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


@dataclass(frozen=True)
class RunView:
    """One run as the comparison sees it."""

    trajectory: Trajectory
    steps: tuple[ComparedStep, ...]
    task_words: Mapping[str, int]
    given: frozenset[Claim]
    """The claims in the task."""

    @cached_property
    def agents(self) -> frozenset[str]:
        """Those who acted, persons aside; everybody when only persons did."""
        acting = {step.act.agent for step in self.steps if step.role is not Role.PERSON}
        return frozenset(acting or {step.act.agent for step in self.steps})

    @cached_property
    def acts(self) -> tuple[int, ...]:
        """The steps of members of the team; all steps when there is no other."""
        own = tuple(step.index for step in self.steps if step.role is Role.AGENT)
        return own or tuple(step.index for step in self.steps)

    @cached_property
    def values(self) -> tuple[StepValues, ...]:
        """For each step, the values in it and from outside, each with what is around it."""
        count = max(1, len(self.steps))
        most = max(_LEAST_VALUES, min(_MOST_VALUES, _RUN_VALUES // count))
        limit = max(_LEAST, min(MOST_TEXT, _VALUES_BUDGET // count))
        pairs = zip(self.trajectory.steps, self.steps, strict=True)
        return tuple(step_values(step, view.role, most=most, limit=limit) for step, view in pairs)

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
    def claim_counts(self) -> Counter[Claim]:
        """In how many of its steps the team makes each claim."""
        return Counter(claim for index in self.acts for claim in self.steps[index].made)

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


def view_of(trajectory: Trajectory) -> RunView:
    """Read a trajectory for comparison; its labels, outcome and reference are not looked at."""
    limit = max(_LEAST, min(_MOST, _RUN_BUDGET // max(1, len(trajectory.steps))))
    roles = roles_of(trajectory)
    task = read_text(_clip(trajectory.task, _TASK_LIMIT))
    return RunView(
        trajectory=trajectory,
        steps=tuple(_step_view(step, role, limit) for step, role in zip(trajectory.steps, roles, strict=True)),
        task_words=task.words,
        given=frozenset(task.claims),
    )


def _step_view(step: Step, role: Role, limit: int) -> ComparedStep:
    own, outside = list(_own_texts(step)), list(_outside_texts(step))
    share = max(_LEAST_OF_TEXT, limit // max(1, len(own) + len(outside)))
    is_own = role is Role.AGENT
    said = read_text("\n".join(_clip(text, share) for text in own), sentences=is_own)
    made, received = (said.claims, {}) if is_own else ({}, said.claims)
    terms = said.words
    for call in step.tool_calls:
        made.update(argument_claims(call.name, call.arguments))
    if outside:
        heard = read_text("\n".join(_clip(text, share) for text in outside))
        received.update(heard.claims)
        terms = {word: terms.get(word, 0) + heard.words.get(word, 0) for word in (*terms, *heard.words)}
    return ComparedStep(step.index, _act_of(step), role, terms, made, received)


def _act_of(step: Step) -> Act:
    if step.tool_calls:
        return Act(fold(step.agent), StepKind.TOOL_CALL, "+".join(sorted({call.name for call in step.tool_calls})))
    return Act(fold(step.agent), step.kind, fold(step.recipient or ""))


def _own_texts(step: Step) -> Iterator[str]:
    if step.content:
        yield step.content
    for call in step.tool_calls:
        values = [surface for _, surface in argument_claims(call.name, call.arguments)]
        if values:
            yield " \n".join(values)


def _outside_texts(step: Step) -> Iterator[str]:
    if step.error:
        yield step.error
    for call in step.tool_calls:
        if call.result:
            yield call.result
        if call.error:
            yield call.error


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit // 2]} {text[-(limit // 2) :]}"


def value_claims(step: ComparedStep) -> Iterator[tuple[Claim, str]]:
    """What a step brings forward, sentences left aside: they differ from run to run without meaning anything."""
    return ((claim, words) for claim, words in step.made.items() if claim.kind is not ClaimKind.SENTENCE)
