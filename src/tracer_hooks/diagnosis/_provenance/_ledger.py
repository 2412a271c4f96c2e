"""The values of a run, step by step: given, shown by tools, passed to tools and asserted."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from operator import attrgetter
from typing import Any, TypeVar

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis._provenance._values import Kind, Sighting, Texts, is_same
from tracer_hooks.diagnosis._provenance._words import words_around
from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import StepPassage, find_value, prose_of
from tracer_hooks.schema import Step
from tracer_hooks.values import (
    Calculation,
    DateCalculation,
    Expression,
    calculations_in,
    date_calculations_in,
    expressions_in,
)

_CHARS = 12_000
"""Characters that are read of the task and of each agent's instructions."""
MOST_STEPS = 200
"""Steps of which the values are read; in a longer run what lies in the middle is not."""
_FIRST, _LAST = 40, 110
_RESULT_ROOM, _COMMON_STEPS = 20_000, 80
_BUDGET, _LEAST_ROOM, _MOST_ROOM = 100_000, 300, 4_000
_CENTURY = 100
_MOST_GIVEN = 20
_COMMON = 100
_SHORT_TEXT = 600
"""Up to here a reply in JSON is the agent's own statement."""
_MOST_ALIKE = 60
"""Entries of like size that are compared, the latest first."""
_MOST_DATES = 200
_PLAIN = {0x2010: "-", 0x2011: "-", 0x2012: "-", 0x202F: " ", 0xA0: " "}
"""Hyphens and spaces that do not break: dates are written with them."""
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_PROGRAM = re.compile(
    r"```(?:python|py|sh|bash|js|javascript|sql|java|c|cpp|html|xml)\b|^\s*(?:import|from|def|class|print"
    r"|return|for|if)\b",
    re.MULTILINE,
)
_PLACE = re.compile(r"\.[a-z]{1,4}:$|\bline $")
_T = TypeVar("_T")


class Place(IntEnum):
    """Place of a value in the run, in the order in which a step brings them in."""

    GIVEN = 0
    """The task, a person's words, an agent's instructions."""
    USED = 1
    """An argument of a tool call."""
    SHOWN = 2
    """The result of a tool, or what a machine reported."""
    SAID = 3
    """An agent's own words."""


@dataclass(eq=False)
class Entry:
    """One value in one place of the run; no two are equal."""

    value: Sighting
    step: int
    """Index of the step; -1 for the task and the agents' instructions."""
    place: Place
    passage: StepPassage | None = None
    tool: str | None = None
    """Name of the tool, for arguments and results."""
    order: tuple[int, int] = field(init=False)
    """Sorts entries by when they came into the run."""

    def __post_init__(self) -> None:
        self.order = self.step, int(self.place)

    @property
    def text(self) -> str:
        """The value as it is written there."""
        return self.value.text.strip()

    @cached_property
    def quote(self) -> str | None:
        """The sentence around the value."""
        if self.passage is None:
            return None
        return self.passage.quote_at(self.value.start, self.value.end) or None

    @cached_property
    def words(self) -> frozenset[str]:
        """The telling words of its sentence, each by its stem."""
        return words_around(self.passage.text, self.value.start, self.value.end) if self.passage else frozenset()

    def quote_of(self, calculation: Calculation | None) -> str | None:
        """The sentence around the calculation that the value belongs to; around the value where there is none."""
        if calculation is None or self.passage is None:
            return self.quote
        return self.passage.quote_at(calculation.start, calculation.end) or self.quote


order_of = attrgetter("order")
"""Sorts entries by when they came into the run."""


class Ledger:
    """Every value of a run in the order of the steps, and where each was seen before."""

    def __init__(self, run: RunReading) -> None:
        self.run = run
        self._room = max(_LEAST_ROOM, min(_MOST_ROOM, _BUDGET // max(1, len(run.steps))))
        """Characters of each text that are read for values, so that the size of a run does not cost time."""
        self.texts = Texts(run.reader)
        self.entries: list[Entry] = sorted(self._read(), key=order_of)
        self._by_key: dict[Hashable, list[Entry]] = defaultdict(list)
        self._by_step: dict[int, list[Entry]] = defaultdict(list)
        self._by_place: dict[tuple[int, tuple[Place, ...]], list[Entry]] = {}
        self._occurrences: dict[Hashable, list[Entry]] = {}
        self._remembered: dict[Hashable, Any] = {}
        self._given = [entry for entry in self.entries if entry.place is Place.GIVEN]
        self._sources = [entry for entry in self.entries if entry.place in (Place.SHOWN, Place.SAID)]
        self._calendar = [entry for entry in self.entries if entry.value.kind is Kind.DATE]
        for entry in self.entries:
            self._by_step[entry.step].append(entry)
            for key in _kept_under(entry.value):
                self._by_key[key].append(entry)

    def is_read(self, step: int) -> bool:
        """Tell whether the values of a step are read: of a very long run those at its beginning and towards its end."""
        steps = len(self.run.steps)
        return steps <= MOST_STEPS or step < _FIRST or step >= steps - _LAST

    def _read(self) -> Iterator[Entry]:
        """Every value of the run, the given ones first."""
        run, steps = self.run, len(self.run.steps)
        given = [run.trajectory.task, *(agent.instructions or "" for agent in run.trajectory.agents)]
        # What the first step was shown is given; what later ones were shown holds earlier steps' words as well.
        given += [shown.text for step in run.steps[:1] for shown in step.inputs if shown.step is None and shown.text]
        for text in given:
            for value in self.texts.sightings(text[:_CHARS].translate(_PLAIN)):
                yield Entry(value, -1, Place.GIVEN)
        for step in run.steps:
            if not self.is_read(step.index):
                continue
            tools = iter([call.name for call in step.tool_calls if call.result])
            for passage in run.passages(step.index):
                is_result = passage.part == "result"
                tool = next(tools, None) if is_result else _tool_of(passage, step)
                # What tools returned is read whole in a run of common size: a value that is missed there seems made up.
                room = max(self._room, _RESULT_ROOM) if is_result and steps <= _COMMON_STEPS else self._room
                text = without_code(_within(passage.text, room)).translate(_PLAIN)
                place = _place_of(passage, run.roles[step.index])
                for value in self.texts.sightings(text):
                    yield Entry(value, step.index, place, passage, tool)

    def of_step(self, step: int, *places: Place) -> Sequence[Entry]:
        """The values of one step, in those places or in all."""
        known = self._by_place.get((step, places))
        if known is None:
            own = self._by_step.get(step, [])
            known = [entry for entry in own if entry.place in places] if places else own
            self._by_place[step, places] = known
        return known

    def remember(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Read a part of the run once: what was read of it before, else what ``make`` reads."""
        if key not in self._remembered:
            self._remembered[key] = make()
        found: _T = self._remembered[key]
        return found

    def given(self) -> list[Entry]:
        """The values of the task and of what persons said."""
        return self._given

    def occurrences(self, value: Sighting) -> Sequence[Entry]:
        """Every place that has the value, in order."""
        known = self._occurrences.get(value.identity)
        if known is None:
            near = {id(entry): entry for key in _kept_under(value) for entry in self._by_key.get(key, ())}
            known = sorted((entry for entry in near.values() if is_same(value, entry.value)), key=order_of)
            self._occurrences[value.identity] = known
        return known

    def before(self, value: Sighting, step: int, place: Place = Place.SAID) -> Entry | None:
        """The latest source of a value for what a step writes there: earlier steps, and the step's own tool results.

        Args:
            value: What is written.
            step: Who writes it.
            place: Where; the arguments of a call cannot rest on its results.
        """
        limit = place if place is Place.USED else Place.SAID
        latest: Entry | None = None
        for key in _kept_under(value):
            alike = self._by_key.get(key, [])
            end = _end_of(alike, step, limit)
            for entry in reversed(alike[max(0, end - _MOST_ALIKE) : end]):
                if is_same(value, entry.value):
                    latest = entry if latest is None or entry.order > latest.order else latest
                    break
        return latest

    def is_known(self, value: Sighting, step: int, place: Place = Place.SAID) -> bool:
        """Tell whether anything before a place of a step has the value."""
        limit = (step, place if place is Place.USED else Place.SAID)
        for key in value.keys:  # mostly the very first entry under a key tells
            alike = self._by_key.get(key)
            if alike and alike[0].order < limit and is_same(value, alike[0].value):
                return True
        return self.before(value, step, place) is not None

    def calculations(self, step: int) -> list[Calculation]:
        """The calculations of a step in its own words; read once."""
        return self.remember(
            ("calculations", step), lambda: calculations_in(self._own_words(step), reader=self.run.reader)
        )

    def expressions(self, step: int) -> list[Expression]:
        """The calculations that the step writes down without their result."""
        return expressions_in(self._own_words(step), reader=self.run.reader)

    def date_calculations(self, step: int) -> list[DateCalculation]:
        """The statements of a step on dates that the calendar can check; read once."""

        def read() -> list[DateCalculation]:
            return date_calculations_in(self.run.reader.plain(self._own_words(step)), year=self._year)

        return self.remember(("dates", step), read)

    def _own_words(self, step: int) -> str:
        passage = self.run.content(step)
        if passage is None:
            return ""
        return self.remember(("own", step), lambda: without_code(_within(passage.text, self._room)))

    @cached_property
    def _year(self) -> int | None:
        """The one year of the run's dates."""
        dates = [entry.value.date for entry in self._calendar if entry.value.date is not None]
        years = {date.year for date in dates if date.year is not None and date.year > _CENTURY}
        return years.pop() if len(years) == 1 else None

    @cached_property
    def is_conversation(self) -> bool:
        """Tell whether a person speaks in the course of the run."""
        return sum(role is Role.PERSON for role in self.run.roles) > 1

    @property
    def is_cut(self) -> bool:
        """Tell whether values of the run were not read, so that none can be called new."""
        return len(self.run.steps) > MOST_STEPS

    def has_within(self, part: str, step: int) -> bool:
        """Tell whether an id that stood in the run before the words of a step holds ``part`` and more."""
        limit = (step, Place.SAID)
        return any(part in code and part != code for order, code in self._ids if order < limit)

    @cached_property
    def _ids(self) -> list[tuple[tuple[int, int], str]]:
        """Each id of the run with where it first stood."""
        first: dict[str, tuple[int, int]] = {}
        for entry in self.entries:
            if entry.value.kind is Kind.CODE:
                first.setdefault(str(entry.value.keys[0]), entry.order)
        return [(order, code) for code, order in first.items()]

    def dates_before(self, step: int) -> list[Entry]:
        """The latest dates before a step's words."""
        end = _end_of(self._calendar, step)
        return self._calendar[max(0, end - _MOST_DATES) : end]

    def is_new(self, entry: Entry) -> bool:
        """Tell whether a step states a value in prose, and no text before it holds it, however long."""
        if entry.passage is None:
            return False
        start, end = entry.value.start, entry.value.end
        if _PLACE.search(entry.passage.text[max(0, start - 24) : start]):
            return False  # of a traceback or a warning
        if entry.place is Place.SAID and len(entry.passage.raw) > _SHORT_TEXT:
            if not self._prose(entry.passage)[start:end].strip():
                return False  # in an address, a record, a program
            if entry.value.unit == "%" or (
                entry.value.number is not None and not entry.value.decimals and abs(entry.value.number) < _COMMON
            ):
                return False  # a page is full of them
        if find_value(self.run.trajectory.task, entry.text) >= 0:
            return False
        return all(self.run.locate(step, entry.text) is None for step in range(entry.step))

    def _prose(self, passage: StepPassage) -> str:
        is_whole = len(passage.raw) == len(passage.text)
        return self.remember(("prose", id(passage)), lambda: prose_of(passage.raw if is_whole else passage.text))

    def at_hand(self, step: int, most: int = 60) -> list[Entry]:
        """The values that a step could have used: its own results, the task, and the latest ones before it."""
        given = self._given[: min(_MOST_GIVEN, _end_of(self._given, step))]
        end = _end_of(self._sources, step)
        return [*given, *self._sources[max(0, end - most) : end]]


def _end_of(entries: Sequence[Entry], step: int, place: Place = Place.SAID) -> int:
    """Count the entries that come before a place of a step."""
    limit: tuple[int, int] = (step, place)
    return bisect_left(entries, limit, key=order_of)


def without_code(text: str) -> str:
    """Without fenced programs, in which a number is no statement; other fenced text stays. Places stay, too."""
    if "```" not in text:
        return text
    return _FENCED.sub(
        lambda match: " " * len(match.group()) if _PROGRAM.search(match.group()) else match.group(), text
    )


def _within(text: str, room: int) -> str:
    """The head and the tail of a text with blanks between, so that every place stays where it was."""
    if len(text) <= room:
        return text
    head, tail = room * 2 // 3, room // 3
    return text[:head] + " " * (len(text) - head - tail) + text[-tail:]


def _tool_of(passage: StepPassage, step: Step) -> str | None:
    """The tool that a step's words or arguments go to; None where that is not clear."""
    calls = step.tool_calls
    if len(calls) > 1:
        calls = tuple(call for call in calls if passage.part == "arguments" and passage.raw in str(call.arguments))
    return calls[0].name if calls else None


def _place_of(passage: StepPassage, role: Role) -> Place:
    if passage.part == "arguments":
        return Place.USED
    if passage.part != "content":
        return Place.SHOWN
    return {Role.PERSON: Place.GIVEN, Role.REPORTER: Place.SHOWN, Role.AGENT: Place.SAID}[role]


def _kept_under(value: Sighting) -> Iterable[Hashable]:
    """The keys under which a value is kept and looked up; a date by its day, since it may lack the year."""
    if value.kind is Kind.DATE and value.date is not None:
        return [("date", value.date.month, value.date.day)]
    return value.keys
