"""The suite ``orders``: requests to an order desk, worked on with tools and graded by what the tools changed."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import JsonValue

from tracer_hooks.errors import ConfigError
from tracer_hooks.frameworks import RunResult, Verdict
from tracer_hooks.suites._answers import final_answer, number_in
from tracer_hooks.suites._desk import OrderDesk, World, differences
from tracer_hooks.suites._desk_requests import ANSWERS, CITIES, POLICY, REQUESTS, STREETS, Request, order_in
from tracer_hooks.suites._desk_tools import desk_tools
from tracer_hooks.suites._drawing import different_tasks, number_from
from tracer_hooks.suites._grading import failed, shown
from tracer_hooks.suites._suite import Difficulty, Environment, checked
from tracer_hooks.suites._task import SuiteTask

_NAMES: Final = ("Ana Silva", "Ben Okoro", "Cora Lind", "Dan Weiss", "Eva Novak", "Finn Berg", "Gina Rossi")
_PRODUCTS: Final = ("lamp", "kettle", "clock", "chair", "radio", "mirror", "basket", "carpet")
_STATUSES: Final = ("placed", "placed", "dispatched", "delivered")


@dataclass(frozen=True)
class _Size:
    """How much there is to look through and to do."""

    customers: int
    orders_each: int
    requests: int
    has_namesake: bool


_SIZES: Final[Mapping[Difficulty, _Size]] = {
    "easy": _Size(2, 1, 1, has_namesake=False),
    "medium": _Size(4, 2, 1, has_namesake=True),
    "hard": _Size(6, 3, 2, has_namesake=True),
}


@dataclass(frozen=True, kw_only=True)
class OrdersSuite:
    """An order desk with tools. A run passes when exactly the right changes were made, and the right amount is told.

    A task's data are the world before (``world``), the world that has to come out (``goal``), and the right writes
    (``solution``, a list of tool and arguments).
    """

    name: str = "orders"
    description: str = "Requests to an order desk with a policy, worked on with tools, graded by the final state."

    def tasks(self, count: int, *, seed: int = 0, difficulty: Difficulty = "easy") -> tuple[SuiteTask, ...]:
        """See :class:`Suite`."""
        checked(count, difficulty)
        return different_tasks(count, lambda place: _draw(self.name, seed, difficulty, place))

    def environment(self, task: SuiteTask) -> Environment:
        """A desk over a copy of the task's world.

        Raises:
            ConfigError: The task has no world.
        """
        desk = OrderDesk.over(_world(task, "world"))
        return Environment(tools=desk_tools(desk), state=desk)

    def check(self, task: SuiteTask, result: RunResult, environment: Environment | None = None) -> Verdict:
        """Compare the desk with the goal, and the final answer with the right amount; see :class:`Suite`."""
        if environment is None or not isinstance(environment.state, OrderDesk):
            raise ConfigError(f"task {task.id!r} is graded by its environment: pass the one that the team worked on")
        wrong = differences(environment.state.world, _world(task, "goal"))
        if wrong:
            return failed("; ".join(wrong[:3]))
        answer = final_answer(result.text)
        if number_in(answer) != number_in(task.reference or ""):
            return failed(f"the orders are right, but {shown(answer)} is not the right amount", score=0.5)
        return Verdict(passed=True, score=1.0)


def _world(task: SuiteTask, key: str) -> World:
    world = task.data.get(key)
    if not isinstance(world, dict):
        raise ConfigError(f"task {task.id!r} is no task of the suite 'orders': its data have no {key!r}")
    return world


def _draw(suite: str, seed: int, difficulty: Difficulty, place: int) -> SuiteTask | None:
    source = random.Random(number_from(suite, difficulty, seed, place))
    size = _SIZES[difficulty]
    world = _new_world(source, size)
    customer = source.choice(("C-1", "C-2"))  # in larger worlds they share their name
    kinds = source.sample(list(REQUESTS), size.requests)
    own = [key for key, row in world["orders"].items() if row["customer"] == customer]
    chosen = source.sample(own, size.requests)
    requests = [REQUESTS[kind](source, world, order_in(world, key)) for kind, key in zip(kinds, chosen, strict=True)]
    if not requests[0].calls and source.random() < 0.6:  # refusals would be half of all tasks otherwise
        return None
    goal = OrderDesk.over(world)
    calls = [call for request in requests for call in request.calls]
    for tool, arguments in calls:
        getattr(goal, tool)(**arguments)
    data: dict[str, JsonValue] = {
        "world": world,
        "goal": goal.world,
        "solution": [[tool, arguments] for tool, arguments in calls],
        "requests": [request.kind for request in requests],
        "difficulty": difficulty,
        "seed": seed,
    }
    return SuiteTask(
        id=f"{suite}-{difficulty}-{seed}-{place}",
        suite=suite,
        text=_text(world["customers"][customer], requests),
        reference=str(sum(request.eur for request in requests)),
        data=json.loads(json.dumps(data)),  # nothing shared with the worlds above
    )


def _new_world(source: random.Random, size: _Size) -> World:
    names = source.sample(_NAMES, size.customers)
    if size.has_namesake:
        names[1] = names[0]
    cities = source.sample(CITIES, size.customers)
    customers = {
        f"C-{number}": {"name": name, "city": city, "address": f"{source.randint(1, 99)} {street}, {city}"}
        for number, (name, city) in enumerate(zip(names, cities, strict=True), start=1)
        for street in [source.choice(STREETS)]
    }
    products = {
        f"P-{number}": {"name": name, "price": source.randint(4, 60), "stock": source.randint(0, 9)}
        for number, name in enumerate(source.sample(_PRODUCTS, 5), start=1)
    }
    vouchers = {
        f"SAVE{off}": {"eur_off": off, "min_total": off * source.randint(3, 9)}
        for off in source.sample(range(3, 15), 2)
    }
    return {
        "customers": customers,
        "products": products,
        "orders": _new_orders(source, customers, products, size.orders_each),
        "vouchers": vouchers,
        "refunds": [],
    }


def _new_orders(
    source: random.Random, customers: Mapping[str, Mapping[str, Any]], products: Mapping[str, Any], each: int
) -> dict[str, Any]:
    """``each`` orders for every customer, of different products, so that the product names the order."""
    rows = [
        {
            "customer": customer,
            "product": product,
            "quantity": source.randint(1, 4),
            "status": source.choice(_STATUSES),
            "address": customers[customer]["address"],
            "voucher": None,
        }
        for customer in customers
        for product in source.sample(list(products), each)
    ]
    source.shuffle(rows)
    return {f"O-{number}": row for number, row in enumerate(rows, start=101)}


def _text(customer: Mapping[str, Any], requests: Sequence[Request]) -> str:
    wishes = "\n".join(f"- {request.text}" for request in requests)
    return (
        f"You work at the order desk of a shop. {customer['name']} from {customer['city']} writes:\n{wishes}\n\n"
        f"{POLICY}\n\nLook everything up with the tools, then make exactly the changes that are asked and allowed. All "
        f"amounts are whole EUR. The answer is an amount: {ANSWERS}. Add the amounts of several requests.\n"
        "End with a line `ANSWER: <amount>`."
    )


ORDERS: Final = OrdersSuite()
"""The suite."""
