"""Values in the steps of an agent with tools, and what else could stand in their place."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from tracer_hooks.schema import Step

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
