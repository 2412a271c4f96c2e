"""Faults planted in passing tau2-bench runs: one value, invented or mixed up with another, from one step on."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from _contrast_tau2 import MIN_OTHERS, Task

from tracer_hooks.schema import RunOutcome, Step, Trajectory

MONTHS = (
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
_TEXT = re.compile(
    rf"(?P<date>\d{{4}}-\d\d-\d\d)|(?P<day>\b(?:{'|'.join(MONTHS)}) \d{{1,2}}\b)"
    r"|(?P<price>(?<=\$)\d[\d,]*(?:\.\d+)?)"
    r"|(?<![\w.@-])(?P<id>(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{4,}|\d{5,})(?![\w@]|[.-]\w)"
    r"|(?<![\w.,:/#-])(?P<number>\d{2,4}(?:\.\d+)?)(?![\w:/%-]|[.,]\d)"
)
_UNIT = re.compile(r"\d+(?:st|nd|rd|th|x|kg|lbs?|h|hrs?|G|GB|MB|am|pm)", re.IGNORECASE)
_PLAIN_NUMBER = re.compile(r"(?<=[:\[,] )\d+(?:\.\d+)?(?=[,\]}])")


class ValueKind(StrEnum):
    """What a value is; one is mixed up with another of its own kind only."""

    DATE = "date"
    ID = "id"
    PRICE = "price"
    NUMBER = "number"


@dataclass(frozen=True)
class Value:
    """A value as a text has it."""

    kind: ValueKind
    text: str

    @property
    def shape(self) -> str:
        """Letters and digits each as one sign; any date is like any other."""
        if self.kind is ValueKind.DATE:
            return "date"
        return re.sub("[a-z]", "a", re.sub("[A-Z]", "A", re.sub(r"\d", "9", self.text)))


def values_in(text: str) -> list[Value]:
    """The dates, ids, prices and other numbers of two digits or more in a text, each once, in order."""
    found: dict[Value, None] = {}
    for match in _TEXT.finditer(text):
        group, words = match.lastgroup or "", match.group()
        if group == "id" and _UNIT.fullmatch(words):
            continue
        if group == "number" and len(words) == 4 and words.startswith(("19", "20")):
            continue
        found[Value(ValueKind.DATE if group == "day" else ValueKind(group), words)] = None
    return list(found)


def places(step: Step) -> Iterator[tuple[Value, str]]:
    """The values that the agent passes to a tool or writes, with which of the two: ``argument`` or ``message``."""
    arguments = json.dumps([call.arguments for call in step.tool_calls], ensure_ascii=False)
    for value in values_in(arguments):
        yield value, "argument"
    for value in values_in(step.content):
        yield value, "message"


def invented(value: Value, everything: str, rng: random.Random) -> str | None:
    """A value of the same kind and shape that stands nowhere in ``everything``."""
    for _ in range(30):
        wrong = _moved_date(value.text, rng) if value.kind is ValueKind.DATE else _other_digits(value.text, rng)
        if wrong is not None and not any(form in everything for form in forms(wrong)):
            return wrong
    return None


def _other_digits(text: str, rng: random.Random) -> str:
    places = [place for place, char in enumerate(text) if char.isdigit()]
    changed = list(text)
    for place in rng.sample(places, k=min(len(places), rng.randint(1, 3))):
        changed[place] = rng.choice([digit for digit in "123456789" if digit != changed[place]])
    return "".join(changed)


def _moved_date(text: str, rng: random.Random) -> str | None:
    day = as_date(text)
    return None if day is None else like(day + timedelta(days=rng.choice([-1, 1]) * rng.randint(1, 20)), text)


def mixed_up(value: Value, replies: list[str], rng: random.Random) -> str | None:
    """Another value of the same kind and shape that stands in one of the replies."""
    others: dict[str, None] = {}
    for reply in replies:
        for text in _of_kind(value, reply):
            if not set(forms(text)) & set(forms(value.text)):
                others[text] = None
    return rng.choice(list(others)) if others else None


def _of_kind(value: Value, reply: str) -> Iterator[str]:
    if value.kind in (ValueKind.PRICE, ValueKind.NUMBER):
        digits = len(value.text.partition(".")[0])
        for match in _PLAIN_NUMBER.finditer(reply):
            amount = float(match.group())
            text = str(int(amount)) if amount == int(amount) else f"{amount:.2f}"
            if len(text.partition(".")[0]) == digits:
                yield text
        return
    for other in values_in(reply):
        if other.kind is not value.kind or other.shape != value.shape:
            continue
        day = as_date(other.text) if value.kind is ValueKind.DATE else None
        yield like(day, value.text) if day is not None else other.text


def as_date(text: str) -> date | None:
    """``2024-05-17`` or ``May 17`` (of 2024, in which all these runs take place) as a date."""
    month, _, day = text.partition(" ")
    try:
        return date(2024, MONTHS.index(month) + 1, int(day)) if day else date.fromisoformat(text)
    except ValueError:
        return None


def like(day: date, text: str) -> str:
    """A date written as ``text`` is."""
    return f"{MONTHS[day.month - 1]} {day.day}" if " " in text else day.isoformat()


def forms(text: str) -> list[str]:
    """The ways in which a value is written: a date as ``2024-05-17``, ``May 17`` and ``May 17th``; else as it is."""
    day = as_date(text) if re.fullmatch(r"\d{4}-\d\d-\d\d|[A-Z][a-z]+ \d{1,2}", text) else None
    return [text] if day is None else [day.isoformat(), like(day, " ")]


AGENT, TOOLS = "agent", "environment"


class Fault(StrEnum):
    """What is done to a value."""

    INVENTED = "invented"
    """Replaced by one that stands nowhere in the run."""
    MIXED_UP = "mixed up"
    """Replaced by another of its kind that stands in an earlier tool reply of the run."""


@dataclass(frozen=True)
class PlantedValue:
    """A passing run with one value changed from one step on, and marked as failed."""

    trajectory: Trajectory
    original: Trajectory
    others: tuple[Trajectory, ...]
    """The other passing runs of the task."""
    step: int
    fault: Fault
    place: str
    """``argument`` of a tool call or ``message``."""
    value: Value
    wrong: str
    task: Task


def plant_values(tasks: Sequence[Task], *, per_run: int, seed: int) -> Iterator[PlantedValue]:
    """Up to ``per_run`` faults of each kind in every passing run that has enough passing companions, one a copy."""
    for task in tasks:
        if len(task.passing) <= MIN_OTHERS:
            continue
        for run in task.passing:
            others = tuple(one for one in task.passing if one is not run)
            for fault in Fault:
                rng = random.Random(f"{seed} {run.run_id} {fault}")
                for step, place, value, wrong in _faults(run, fault, per_run, rng):
                    bad = _corrupted(run, step, value, wrong, fault)
                    yield PlantedValue(bad, run, others, step, fault, place, value, wrong, task)


def _faults(run: Trajectory, fault: Fault, at_most: int, rng: random.Random) -> Iterator[tuple[int, str, Value, str]]:
    everything = "\n".join(text for step in run.steps for text in step_texts(step))
    found = [(step, *place) for step in run.steps if step.agent == AGENT for place in places(step)]
    rng.shuffle(found)
    made = 0
    for step, value, place in found:
        if made == at_most:
            return
        if fault is Fault.INVENTED:
            wrong = invented(value, everything, rng)
        else:
            wrong = mixed_up(value, list(replies_before(run, step.index)), rng)
        if wrong is not None:
            made += 1
            yield step.index, place, value, wrong


def replies_before(run: Trajectory, index: int) -> Iterator[str]:
    """What tools gave back before a step."""
    for step in run.steps[:index]:
        if step.agent == TOOLS:
            yield step.content
        for call in step.tool_calls:
            yield call.result or ""


def _corrupted(run: Trajectory, first: int, value: Value, wrong: str, fault: Fault) -> Trajectory:
    """From ``first`` on, the agent and the user have the wrong value; what the tools give back stays."""
    changes = dict(zip(forms(value.text), forms(wrong), strict=True))
    alone = {old: re.compile(rf"(?<![\w.]){re.escape(old)}(?![\w])") for old in changes}

    def change(text: str) -> str:
        for old, new in changes.items():
            text = alone[old].sub(new, text)
        return text

    steps = list(run.steps)
    for step in run.steps[first:]:
        if step.agent == TOOLS:
            continue
        calls = tuple(
            call.model_copy(update={"arguments": json.loads(change(json.dumps(call.arguments, ensure_ascii=False)))})
            for call in step.tool_calls
        )
        steps[step.index] = step.model_copy(update={"content": change(step.content), "tool_calls": calls})
    run_id = f"{run.run_id}-{first}-{fault}-{value.text}-{wrong}"
    return run.model_copy(update={"steps": tuple(steps), "run_id": run_id, "outcome": RunOutcome.FAILED})


def step_texts(step: Step) -> Iterator[str]:
    """All texts of a step."""
    yield step.content
    for call in step.tool_calls:
        yield json.dumps(call.arguments, ensure_ascii=False)
        yield call.result or ""
