"""The values of a run's texts, each with the step and the place that it stands in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from operator import attrgetter

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis._provenance._labels import label_in_result, neighbours, noun_after, words_around
from tracer_hooks.diagnosis._provenance._sightings import Sighting
from tracer_hooks.diagnosis._provenance._texts import Texts
from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import StepPassage
from tracer_hooks.values import Calculation

_CHARS = 12_000
"""Characters that are read of the task and of each agent's instructions."""
MOST_STEPS = 200
"""Steps of which the values are read; in a longer run what lies in the middle is not."""
_FIRST, _LAST = 40, 110
_NUMBERED = re.compile(r"\d[.,]\d{3}|\d{2}")
_RESULT_ROOM, _COMMON_STEPS = 20_000, 80
_BUDGET, _LEAST_ROOM, _MOST_ROOM = 100_000, 300, 4_000
_PLAIN = {0x2010: "-", 0x2011: "-", 0x2012: "-", 0x202F: " ", 0xA0: " "}
"""Hyphens and spaces that do not break: dates are written with them."""
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_PROGRAM = re.compile(
    r"```(?:python|py|sh|bash|js|javascript|sql|java|c|cpp|html|xml)\b|^\s*(?:import|from|def|class|print"
    r"|return|for|if)\b",
    re.MULTILINE,
)


class Place(IntEnum):
    """Where in the run a value stands, in the order in which a step brings them in."""

    GIVEN = 0
    """The task, a person's words, an agent's instructions."""
    USED = 1
    """An argument of a tool call."""
    SHOWN = 2
    """The result of a tool, or what a machine reported."""
    SAID = 3
    """An agent's own words."""


@dataclass(frozen=True, eq=False)
class Entry:
    """One value in one place of the run; no two are equal."""

    value: Sighting
    step: int
    """Index of the step; -1 for the task and the agents' instructions."""
    place: Place
    passage: StepPassage | None = None
    tool: str | None = None
    """Name of the tool, for arguments and results."""

    @cached_property
    def order(self) -> tuple[int, int]:
        """Sorts entries by when they came into the run."""
        return self.step, self.place

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

    @cached_property
    def near(self) -> frozenset[str]:
        """The words right before and right after it."""
        return neighbours(self.passage.text, self.value.start, self.value.end) if self.passage else frozenset()

    @cached_property
    def label(self) -> frozenset[str]:
        """What the result of a tool calls it."""
        return label_in_result(self.passage.raw, self.value.start, self.value.end) if self.passage else frozenset()

    @cached_property
    def noun(self) -> str | None:
        """What it counts."""
        return noun_after(self.passage.text, self.value.end) if self.passage else None

    @cached_property
    def record(self) -> tuple[int, int]:
        """The innermost object or line that it stands in, between marks that part entries of a list."""
        text = self.passage.raw if self.passage else ""
        marks = "{}\n;," if "{" not in text else "{}"
        start = max(text.rfind(mark, 0, self.value.start) for mark in marks)
        ends = [at for mark in marks if (at := text.find(mark, self.value.end)) >= 0]
        return start, min(ends, default=len(text))

    def quote_of(self, calculation: Calculation | None) -> str | None:
        """The sentence around the calculation that the value belongs to; around the value where there is none."""
        if calculation is None or self.passage is None:
            return self.quote
        return self.passage.quote_at(calculation.start, calculation.end) or self.quote


order_of = attrgetter("order")
"""When an entry came into the run, to sort by."""


def is_read(step: int, steps: int) -> bool:
    """Tell whether the values of a step are read: of a very long run those at its beginning and towards its end."""
    return steps <= MOST_STEPS or step < _FIRST or step >= steps - _LAST


def entries_of(trace: RunReading, texts: Texts) -> Iterator[Entry]:
    """Every value of a run, the given ones first."""
    room = room_for(len(trace.steps))
    yield from _given(trace.trajectory.task, texts)
    for agent in trace.trajectory.agents:
        yield from _given(agent.instructions or "", texts)
    for step in trace.steps:
        if not is_read(step.index, len(trace.steps)):
            continue
        # What the first step was shown is given; what later ones were shown holds earlier steps' words as well.
        for shown in step.inputs if step.index == 0 else ():
            if shown.step is None and shown.text:
                yield from _given(shown.text, texts)
        role = trace.roles[step.index]
        tools = iter([call.name for call in step.tool_calls if call.result])
        only = step.tool_calls[0].name if len(step.tool_calls) == 1 else None
        for passage in trace.passages(step.index):
            tool = next(tools, None) if passage.part == "result" else only
            # What tools returned is read whole in a run of common size: a value that is missed there seems made up.
            room_here = (
                max(room, _RESULT_ROOM) if passage.part == "result" and len(trace.steps) <= _COMMON_STEPS else room
            )
            text = without_code(within(passage.text, room_here)).translate(_PLAIN)
            for value in texts.sightings(_parted(text) if passage.part == "result" else text):
                yield Entry(value, step.index, _place_of(passage, role), passage, tool)


def room_for(steps: int) -> int:
    """How many characters of each text are read for values, so that the size of a run does not cost time."""
    return max(_LEAST_ROOM, min(_MOST_ROOM, _BUDGET // max(1, steps)))


def within(text: str, room: int) -> str:
    """The head and the tail of a text with blanks between, so that every place stays where it was."""
    if len(text) <= room:
        return text
    head, tail = room * 2 // 3, room // 3
    return text[:head] + " " * (len(text) - head - tail) + text[-tail:]


def without_code(text: str) -> str:
    """Without fenced programs, in which a number is no statement; other fenced text stays. Places stay, too."""
    if "```" not in text:
        return text
    return _FENCED.sub(
        lambda match: " " * len(match.group()) if _PROGRAM.search(match.group()) else match.group(), text
    )


def _parted(text: str) -> str:
    """Comma-separated rows with another mark, so that "express,2,199.80" is not two thousand."""
    rows = [row for row in text.split("\n") if row.strip()]
    commas = {row.count(",") for row in rows}
    if len(rows) < 2 or len(commas) != 1 or 0 in commas or ", " in text or _NUMBERED.search(rows[0]):
        return text
    return text.replace(",", ";")


def _place_of(passage: StepPassage, role: Role) -> Place:
    if passage.part == "arguments":
        return Place.USED
    if passage.part != "content":
        return Place.SHOWN
    return {Role.PERSON: Place.GIVEN, Role.REPORTER: Place.SHOWN, Role.AGENT: Place.SAID}[role]


def _given(text: str, texts: Texts) -> Iterator[Entry]:
    return (Entry(value, -1, Place.GIVEN) for value in texts.sightings(text[:_CHARS].translate(_PLAIN)))
