"""Two chains of agents with one easy step each: eight sums, and a record that is written out in five forms.

Each agent is shown what the one before it handed on, and nothing else; what it should have said can be worked out from
that, so that every step is right or wrong by itself.
"""

from __future__ import annotations

import json
import operator
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tracer_hooks.endpoint import Endpoint
from tracer_hooks.frameworks.plain import tool
from tracer_hooks.tasks import SuiteTask
from tracer_hooks_lab.teams._architectures import Blueprint, TeamArchitecture, TeamUtterance

SUM_CHAIN: Final = "sum_chain"
LOOK_UPS: Final = "look_ups"
CHAINS: Final = (SUM_CHAIN, LOOK_UPS)
REASONS: Final = {
    SUM_CHAIN: ("The final number is wrong.", "The final number is wrong: the {agent} is not right."),
    LOOK_UPS: ("The result is not complete.", "The result is not complete: the {agent} is not right."),
}
"""What a user's check would say: of the result, and with the name of the agent's work."""

_SUMS: Final = {
    "postage": ("+", 478),
    "voucher": ("-", 89),
    "packing": ("*", 3),
    "handling": ("+", 286),
    "insurance": ("+", 697),
    "rebate": ("-", 79),
    "storage": ("+", 597),
    "delivery": ("+", 388),
}
_SIGNS: Final[Mapping[str, tuple[str, Callable[[int, int], int]]]] = {
    "+": ("Add {} to the number.", operator.add),
    "-": ("Subtract {} from the number.", operator.sub),
    "*": ("Multiply the number by {}.", operator.mul),
}
_EXAMPLE: Final = 120
_NOTHING_ELSE: Final = "Write nothing else."
_FORMS: Final = {
    "sentence": f"Put the name, the item and the parcel number of the record into one short sentence. {_NOTHING_ELSE}",
    "row": f"Turn the sentence into one table row with the name, the item and the parcel number. {_NOTHING_ELSE}",
    "listing": f"Turn the row into one line that gives the customer, the goods and the number. {_NOTHING_ELSE}",
    "letter": (
        "Turn the line into a letter. "
        "Example: Ada Lowe, oak table, 31-74025 becomes: Dear Ada Lowe, your oak table is on its way as 31-74025."
    ),
    "label": f"Turn the letter into a one-line label with the name, the goods and the number. {_NOTHING_ELSE}",
}
_CUSTOMERS: Final = ("Orla Venn", "Tomas Reed", "Ines Kadar", "Bo Lindqvist", "Priya Nair", "Juno Abel")
_ITEMS: Final = ("desk lamp", "rain coat", "tea kettle", "bread knife", "wool scarf", "door bell")


def _sum_instruction(sign: str, by: int) -> str:
    told, result = _SIGNS[sign]
    example = f"Example: {_EXAMPLE} {sign} {by} = {result(_EXAMPLE, by)}"
    return f"{told.format(by)} Write one line and nothing else. {example}"


def number_of(text: str) -> int | None:
    """The last whole number of a text."""
    found = re.findall(r"-?\d+", text.replace(",", ""))
    return int(found[-1]) if found else None


@tool
def look_up(order: int) -> str:
    """Return the record of an order."""
    chance = random.Random(order)
    parcel = f"{chance.randint(10, 99)}-{chance.randint(10_000, 99_999)}"
    return json.dumps({"name": chance.choice(_CUSTOMERS), "item": chance.choice(_ITEMS), "parcel": parcel})


@dataclass(frozen=True, kw_only=True)
class Chain(Blueprint):
    """A team whose agents see what the last one handed on."""

    def prompt(self, agent: str, task: str, said: Sequence[TeamUtterance]) -> str:
        """The task for the first agent, with the record of its order; for the others what was handed on."""
        if self.name == SUM_CHAIN:
            return f"Number: {number_of(said[-1].text)}" if said else task
        order = number_of(task.partition("\n")[0]) or 0
        return said[-1].text if said else f"{task}\n{look_up(order)}"


def chain(suite: str, endpoint: Endpoint) -> Chain:
    """The team that works on one of :data:`CHAINS`."""
    roles = _FORMS if suite == LOOK_UPS else {name: _sum_instruction(*one) for name, one in _SUMS.items()}
    order = (*roles, None)
    architecture = TeamArchitecture(
        name=suite, roles=roles, cues={}, tool_users=frozenset(), next_agent=lambda said, rounds: order[len(said)]
    )
    return Chain(architecture=architecture, endpoint=endpoint, instructions=roles)


def chain_tasks(suite: str, seed: int) -> list[SuiteTask]:
    """Numbers to begin with, or orders."""
    chance = random.Random(seed)
    if suite == LOOK_UPS:
        orders = chance.sample(range(1000, 9999), 400)
        return [SuiteTask(id=f"{suite}-{one}", suite=suite, text=f"Order {one}.") for one in orders]
    begins = chance.sample(range(100, 500), 400)
    return [SuiteTask(id=f"{suite}-{one}", suite=suite, text=f"Number: {one}") for one in begins]


def _values(task: SuiteTask) -> set[str]:
    return set(json.loads(look_up(number_of(task.text) or 0).lower()).values())


def is_right(suite: str, task: SuiteTask, answer: str) -> bool:
    """Whether the last agent's words hold the right number, or all values of the record."""
    if suite == LOOK_UPS:
        return all(value in answer.lower() for value in _values(task))
    number = number_of(task.text) or 0
    for sign, by in _SUMS.values():
        number = _SIGNS[sign][1](number, by)
    return number_of(answer) == number


def wrong_steps(suite: str, task: SuiteTask, said: Sequence[str]) -> list[int]:
    """The steps that are wrong by what they were shown: a wrong sum, or a value that is lost."""
    if suite == LOOK_UPS:
        held = [_values(task), *({value for value in _values(task) if value in text.lower()} for text in said)]
        return [step for step in range(len(said)) if held[step] - held[step + 1]]
    numbers = [number_of(task.text), *map(number_of, said)]
    wrong = []
    for step, (sign, by) in enumerate(_SUMS.values()):
        shown = numbers[step]
        if shown is None or _SIGNS[sign][1](shown, by) != numbers[step + 1]:
            wrong.append(step)
    return wrong
