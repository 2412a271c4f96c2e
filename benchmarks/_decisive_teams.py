"""Teams in plain Python of eight shapes, on a model that computes with what it is shown.

Every agent's instructions end with one operation, ``[sum]``, ``[add 4]``, ``[times 3]``, ``[last]`` or ``[lookup]``;
the model carries it out on the numbers of the user message. A wrong reply therefore spreads as far as others use it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

import tracer_hooks
from tracer_hooks.schema import Usage
from tracer_hooks.telemetry import ChatReply

MODULUS = 9973
_NUMBER = re.compile(r"\d+")
_OPERATION = re.compile(r"\[(\w+) ?(\d*)\]")

Team = Callable[[str], str]


@dataclass
class World:
    """What a team runs in, and how well its model and its tool work now.

    Attributes:
        noise: Probability that a reply is wrong by chance.
        wrong_agent: An agent whose model cannot do its operation, ever.
        is_tool_wrong: Whether the tool gives wrong prices.
        asked: How often the model was asked.
    """

    noise: float = 0.0
    wrong_agent: str = ""
    is_tool_wrong: bool = False
    asked: int = 0
    chance: random.Random = field(default_factory=random.Random)

    def reply(self, messages: Sequence[Any]) -> ChatReply:
        """The model's reply: a function of what it is shown, but for the noise."""
        self.asked += 1
        told, shown = messages[0]["content"], messages[-1]["content"]
        value = computed(told, shown)
        if self.wrong_agent and told.startswith(f"You are {self.wrong_agent}."):
            value = (value + 1) % MODULUS
        if self.noise and self.chance.random() < self.noise:
            value = (value + self.chance.randrange(1, MODULUS)) % MODULUS
        usage = Usage(input_tokens=(len(told) + len(shown)) // 4, output_tokens=4)
        return ChatReply(content=f"My result is {value}.", usage=usage)

    def price(self, item: int) -> str:
        """What the tool says."""
        return f"item {item} costs {(item * 37 + 11 + self.is_tool_wrong) % MODULUS}"


def computed(told: str, shown: str) -> int:
    """What an agent with these instructions makes of a message."""
    numbers = [int(found) for found in _NUMBER.findall(shown)] or [0]
    match = _OPERATION.search(told)
    operation, operand = (match[1], int(match[2] or 0)) if match is not None else ("last", 0)
    values = {"sum": sum(numbers), "add": numbers[-1] + operand, "times": numbers[-1] * operand, "last": numbers[-1]}
    return values[operation] % MODULUS


class Office:
    """Makes agents for one team."""

    def __init__(self, world: World) -> None:
        self._ask = tracer_hooks.model(name="rules")(world.reply)
        self.price = tracer_hooks.tool(name="price")(world.price)

    def agent(self, name: str, operation: str) -> Team:
        """A function that is one turn of an agent."""
        told = f"You are {name}. Do this with the numbers: [{operation}]"

        def turn(shown: str) -> str:
            return self._ask([{"role": "system", "content": told}, {"role": "user", "content": shown}]).content

        return tracer_hooks.agent(name=name, instructions=told)(turn)


def number(text: str) -> str:
    """The last number in a text."""
    return _NUMBER.findall(text)[-1]


def _operation(position: int) -> str:
    return f"times {position % 3 + 2}" if position % 2 else f"add {7 * position + 5}"


def pipeline(office: Office, size: int) -> Team:
    """One agent after the other, each shown what the last one said."""
    agents = [office.agent(f"worker_{i}", _operation(i)) for i in range(size)]

    def team(task: str) -> str:
        shown = task
        for agent in agents:
            shown = agent(shown)
        return shown

    return team


def blackboard(office: Office, size: int) -> Team:
    """Everybody is shown everything said so far, and adds all of it up."""
    agents = [office.agent(f"member_{i}", "sum") for i in range(size)]

    def team(task: str) -> str:
        board = [task]
        for agent in agents:
            board.append(agent("\n".join(board)))
        return board[-1]

    return team


def debate(office: Office, size: int) -> Team:
    """Three debaters in rounds; each takes over the last speaker's number and adds its own; a judge ends it."""
    debaters = [office.agent(f"debater_{i}", f"add {i + 1}") for i in range(3)]
    judge = office.agent("judge", "last")

    def team(task: str) -> str:
        said = [task]
        for _ in range(size):
            for debater in debaters:
                said.append(debater("\n".join(said)))
        return judge("\n".join(said))

    return team


def supervisor(office: Office, size: int) -> Team:
    """A supervisor gives each worker a part, and is told the result before it goes on."""
    boss = office.agent("supervisor", "last")
    workers = [office.agent(f"worker_{i}", _operation(i)) for i in range(size)]

    def team(task: str) -> str:
        state = task
        for i, worker in enumerate(workers):
            order = boss(f"Task: {task}\nPart {i} of {size}, so far:\n{state}")
            state = worker(order)
        return boss(f"All parts are done:\n{state}")

    return team


def loop(office: Office, size: int) -> Team:
    """A solver and a critic in turns, until the rounds are over."""
    solver, critic = office.agent("solver", "times 3"), office.agent("critic", "last")

    def team(task: str) -> str:
        draft = task
        for turn in range(size):
            draft = critic(f"Round {turn}, check this:\n{solver(f'Round {turn}, improve this: {number(draft)}')}")
        return draft

    return team


def tree(office: Office, size: int) -> Team:
    """Leaves work on parts of the task, pairs are joined up to the root."""
    leaves = [office.agent(f"leaf_{i}", _operation(i)) for i in range(2**size)]
    joiners = [[office.agent(f"join_{level}_{i}", "sum") for i in range(2**level)] for level in range(size)]

    def team(task: str) -> str:
        parts = _NUMBER.findall(task)
        values = [leaf(f"Your part is {parts[i % len(parts)]}") for i, leaf in enumerate(leaves)]
        for row in reversed(joiners):
            values = [join(f"{values[2 * i]} {values[2 * i + 1]}") for i, join in enumerate(row)]
        return values[0]

    return team


def branches(office: Office, size: int) -> Team:
    """Branches of two agents each at the same time, joined by one agent."""
    first = [office.agent(f"reader_{i}", _operation(i)) for i in range(size)]
    second = [office.agent(f"solver_{i}", _operation(i + 1)) for i in range(size)]
    joiner = office.agent("joiner", "sum")

    def team(task: str) -> str:
        def branch(i: int) -> str:
            return second[i](first[i](f"Branch {i}: {task}"))

        with ThreadPoolExecutor(size) as pool:
            done = [pool.submit(copy_context().run, branch, i) for i in range(size)]
            return joiner(" ".join(number(one.result()) for one in done))

    return team


def shop(office: Office, size: int) -> Team:
    """Buyers look prices up with a tool, a cashier adds them up, and one agent takes the discount off."""
    choosers = [office.agent(f"chooser_{i}", _operation(i)) for i in range(size)]
    readers = [office.agent(f"reader_{i}", "last") for i in range(size)]
    cashier, seller = office.agent("cashier", "sum"), office.agent("seller", "add 100")

    def team(task: str) -> str:
        prices = []
        for chooser, reader in zip(choosers, readers, strict=True):
            item = int(number(chooser(task)))
            prices.append(reader(office.price(item)))
        return seller(cashier(" ".join(number(price) for price in prices)))

    return team


SHAPES: dict[str, tuple[Callable[[Office, int], Team], Sequence[int]]] = {
    "pipeline": (pipeline, (3, 6, 12)),
    "blackboard": (blackboard, (4, 8)),
    "debate": (debate, (1, 2, 4)),
    "supervisor": (supervisor, (2, 4)),
    "loop": (loop, (2, 5)),
    "tree": (tree, (1, 2)),
    "branches": (branches, (2, 4)),
    "shop": (shop, (2, 3)),
}
"""Shapes with the sizes that are measured."""
