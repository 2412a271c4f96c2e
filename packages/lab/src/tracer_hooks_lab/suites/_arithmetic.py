"""Suites ``arithmetic`` and ``word_sums``: calculations, and short word problems with intermediate quantities."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import JsonValue

from tracer_hooks_lab.suites._suite import (
    Difficulty,
    Generator,
    ProblemSuite,
    Settings,
    SuiteProblem,
    gym_generator,
    without,
    worded,
)

Entry = Mapping[str, Any]
_DIGITS: Final = 6
"""Significant digits that answers of ``decimal_arithmetic`` are asked for."""


def _expression(entry: Entry) -> SuiteProblem:
    return worded(f"Calculate {entry['metadata']['expression']}", entry["answer"])


def _decimals(entry: Entry) -> SuiteProblem:
    expression = entry["question"].rsplit("\n", 1)[-1].removesuffix("= ?").strip()
    return SuiteProblem(
        question=f"Calculate {expression}\nGive at least {_DIGITS} significant digits if the result has as many.",
        reference=str(entry["answer"]),
        kind="number",
        data={"tolerance": 10.0 ** (1 - _DIGITS)},
    )


def _school(entry: Entry) -> SuiteProblem | None:
    question = without(entry["question"], r"Give the result as your final answer\.", r"Do not include units\.")
    if re.search(r"\d\.\d{4,}", question):  # "0.3333333333333333 of it": a fraction lost in the generator
        return None
    return worded(question, entry["answer"])


def _fraction(entry: Entry) -> SuiteProblem:
    data = entry["metadata"]
    return SuiteProblem(
        question=f"Simplify the fraction {data['numerator']}/{data['denominator']} to its lowest terms.",
        reference=f"{data['simplified_numerator']}/{data['simplified_denominator']}",
        kind="fraction",
    )


def _common_divisor(entry: Entry) -> SuiteProblem:
    numbers = ", ".join(map(str, entry["metadata"]["numbers"]))
    return worded(f"What is the greatest common divisor of {numbers}?", entry["answer"])


def _common_multiple(entry: Entry) -> SuiteProblem:
    numbers = ", ".join(map(str, entry["metadata"]["numbers"]))
    return worded(f"What is the least common multiple of {numbers}?", entry["answer"])


_CHAINS: Final[Settings] = {
    "easy": {"min_terms": 2, "max_terms": 3, "min_digits": 1, "max_digits": 2},
    "medium": {"min_terms": 3, "max_terms": 4, "min_digits": 2, "max_digits": 3},
    "hard": {"min_terms": 5, "max_terms": 6, "min_digits": 3, "max_digits": 4},
}
ARITHMETIC: Final = ProblemSuite(
    name="arithmetic",
    description="Sums, products, decimals, fractions and school word problems of reasoning-gym.",
    generators=(
        gym_generator("chain_sum", _CHAINS, _expression),
        gym_generator("basic_arithmetic", {
            "easy": {"min_terms": 2, "max_terms": 3, "min_digits": 1, "max_digits": 1, "allow_negation": False},
            "medium": {"min_terms": 3, "max_terms": 4, "min_digits": 1, "max_digits": 2},
            "hard": {"min_terms": 4, "max_terms": 6, "min_digits": 1, "max_digits": 3},
        }, _expression),
        gym_generator("products", {
            "easy": {"min_digits": 1, "max_digits": 2},
            "medium": {"min_digits": 2, "max_digits": 3},
            "hard": {"min_digits": 3, "max_digits": 4},
        }, _expression),
        gym_generator("gsm_symbolic", {"easy": {}, "medium": {}, "hard": {}}, _school),
        gym_generator("decimal_arithmetic", {
            "easy": {"min_num_decimal_places": 1, "max_num_decimal_places": 1, "min_terms": 2, "max_terms": 2},
            "medium": {"min_num_decimal_places": 1, "max_num_decimal_places": 2, "min_terms": 2, "max_terms": 3},
            "hard": {"min_num_decimal_places": 2, "max_num_decimal_places": 3, "min_terms": 3, "max_terms": 5},
        }, _decimals),
        gym_generator("fraction_simplification", {
            "easy": {"min_value": 2, "max_value": 12, "min_factor": 2, "max_factor": 5},
            "medium": {"min_value": 5, "max_value": 60, "min_factor": 2, "max_factor": 20},
            "hard": {"min_value": 50, "max_value": 1000, "min_factor": 7, "max_factor": 100},
        }, _fraction),
        gym_generator("gcd", {
            "easy": {"min_value": 2, "max_value": 40},
            "medium": {"min_value": 20, "max_value": 300},
            "hard": {"min_numbers": 3, "max_numbers": 3, "min_value": 100, "max_value": 2000},
        }, _common_divisor),
        gym_generator("lcm", {
            "easy": {"min_value": 2, "max_value": 12},
            "medium": {"min_value": 6, "max_value": 40},
            "hard": {"min_numbers": 3, "max_numbers": 3, "min_value": 6, "max_value": 60},
        }, _common_multiple),
    ),
)  # fmt: skip
"""Arithmetic of ``reasoning-gym``; ``gsm_symbolic`` has one difficulty only."""
_PEOPLE: Final = ("Ada", "Bruno", "Clara", "Dario", "Elif", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kaya", "Lena")


@dataclass(frozen=True)
class _Event:
    """Something that happens in a story."""

    text: str
    """One sentence."""
    value: int
    """The quantity after it."""
    operations: int = 1
    """How many sums it takes to work the quantity out."""


Happening = Callable[[random.Random, int, int], _Event | None]
"""What may happen, from the quantity before and the size of numbers to use; None when it does not fit."""


@dataclass(frozen=True)
class _Story:
    """A kind of word problem: one quantity that changes."""

    name: str
    opening: Callable[[random.Random, str, int], _Event]
    happenings: Sequence[Happening]
    question: str


def _more(text: str) -> Happening:
    def happen(source: random.Random, value: int, size: int) -> _Event:
        number = source.randint(3, size)
        return _Event(text.format(number), value + number)

    return happen


def _less(text: str) -> Happening:
    def happen(source: random.Random, value: int, size: int) -> _Event | None:
        number = source.randint(2, size)
        return _Event(text.format(number), value - number) if number < value else None

    return happen


def _groups(text: str, *, sign: int) -> Happening:
    """So many groups of so many each come or go."""

    def happen(source: random.Random, value: int, size: int) -> _Event | None:
        groups, each = source.randint(2, 4 + size // 20), source.randint(2, max(4, size // 4))
        after = value + sign * groups * each
        return _Event(text.format(groups, each), after, operations=2) if after > 0 else None

    return happen


def _percent(text: str, *, sign: int) -> Happening:
    def happen(source: random.Random, value: int, size: int) -> _Event | None:
        shares = [share for share in (10, 20, 25, 30, 40, 50, 60, 75) if value * share % 100 == 0]
        if not shares or size < 40:  # kept out of the easy problems
            return None
        share = source.choice(shares)
        return _Event(text.format(share), value + sign * value * share // 100)

    return happen


def _twofold(text: str) -> Happening:
    def happen(source: random.Random, value: int, size: int) -> _Event | None:
        return _Event(text, value * 2) if value <= size * 5 else None

    return happen


def _opening(text: str, smallest: int) -> Callable[[random.Random, str, int], _Event]:
    """A beginning with one product: so many of so many each."""

    def begin(source: random.Random, person: str, size: int) -> _Event:
        many, each = source.randint(2, 5 + size // 10), source.randint(smallest, smallest + size // 2)
        return _Event(text.format(person, many, each), many * each)

    return begin


_STORIES: Final = (
    _Story(
        "stock",
        _opening("{}'s shop has {} boxes with {} pens in each.", 4),
        (
            _more("A delivery brings {} more pens."),
            _less("Then {} pens are sold."),
            _groups("Then {} classes buy {} pens each.", sign=-1),
            _groups("Then {} packs with {} pens each arrive.", sign=1),
            _percent("After that, {}% of the pens in the shop are sold.", sign=-1),
        ),
        "How many pens are in the shop now?",
    ),
    _Story(
        "bill",
        _opening("{} buys {} tickets that cost {} EUR each.", 3),
        (
            _more("A fee of {} EUR is added to the bill."),
            _less("A voucher takes {} EUR off the bill."),
            _groups("Then {} meals at {} EUR each are added.", sign=1),
            _percent("The bill so far is then reduced by {}%.", sign=-1),
            _percent("A tax of {}% is then added to the bill so far.", sign=1),
            _twofold("A friend buys exactly the same, which doubles the bill."),
        ),
        "How many EUR is the bill in the end?",
    ),
    _Story(
        "trip",
        _opening("{} rides a bicycle for {} days, {} km every day.", 5),
        (
            _more("The next day adds {} km."),
            _groups("Then there are {} short days of {} km each.", sign=1),
            _twofold("Then the whole way is ridden back, which doubles the distance."),
            _percent("A detour makes the whole distance so far {}% longer.", sign=1),
        ),
        "How many km are ridden in all?",
    ),
    _Story(
        "savings",
        _opening("{} saves money for {} weeks, {} EUR every week.", 4),
        (
            _more("For a birthday there are {} EUR more."),
            _less("Then {} EUR are spent on a book."),
            _groups("Then {} presents are bought for {} EUR each.", sign=-1),
            _percent("Then {}% of the money is given away.", sign=-1),
            _twofold("The grandparents then double the money."),
        ),
        "How many EUR are there in the end?",
    ),
    _Story(
        "harvest",
        _opening("{} picks {} baskets with {} apples in each.", 4),
        (
            _less("Then {} apples turn out to be rotten and are thrown away."),
            _more("A neighbour brings {} apples."),
            _groups("Then {} children get {} apples each.", sign=-1),
            _percent("Then {}% of the apples that are there are made into juice.", sign=-1),
        ),
        "How many apples are there in the end?",
    ),
)
_OPERATIONS: Final = {"easy": (2, 2), "medium": (3, 3), "hard": (4, 5)}
_SIZES: Final = {"easy": 20, "medium": 40, "hard": 120}


def _draw_from(story: _Story) -> Callable[[int, Difficulty], SuiteProblem | None]:
    def draw(seed: int, difficulty: Difficulty) -> SuiteProblem | None:
        source, size = random.Random(seed), _SIZES[difficulty]
        events = [story.opening(source, source.choice(_PEOPLE), size)]
        wanted = source.randint(*_OPERATIONS[difficulty])
        happenings = source.sample(story.happenings, len(story.happenings))  # each at most once, which reads better
        for happening in happenings:
            open_operations = wanted - sum(event.operations for event in events)
            event = happening(source, events[-1].value, size)
            if event is not None and event.operations <= open_operations:
                events.append(event)
        if sum(event.operations for event in events) < wanted:
            return None
        quantities: list[JsonValue] = [event.value for event in events]
        return SuiteProblem(
            question=" ".join([*(event.text for event in events), story.question]),
            reference=str(events[-1].value),
            kind="number",
            data={"quantities": quantities},
        )

    return draw


WORD_SUMS: Final = ProblemSuite(
    name="word_sums",
    description="Word problems with 2 to 5 operations on whole numbers: stocks, bills, trips, savings, harvests.",
    generators=tuple(Generator(name=story.name, draw=_draw_from(story)) for story in _STORIES),
)
"""Each event's quantity is in ``task.data["quantities"]``. Easy: 2 operations on small numbers, no percentages."""
