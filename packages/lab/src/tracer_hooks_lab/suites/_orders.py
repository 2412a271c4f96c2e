"""Suite ``orders``: customers' requests to the order desk, graded by what the desk holds afterwards."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import JsonValue

from tracer_hooks.answers import final_answer, number_in
from tracer_hooks.errors import ConfigError
from tracer_hooks.frameworks import RunResult, Verdict
from tracer_hooks.tasks import SuiteTask, failed, shown
from tracer_hooks_lab.suites._desk import OrderDesk, World, desk_tools, differences
from tracer_hooks_lab.suites._suite import Difficulty, Environment, checked, different_tasks, number_from

Call = tuple[str, dict[str, Any]]
"""A tool and its arguments."""
POLICY: Final = """Policy:
1. Only an order with the status "placed" may be changed or cancelled. One that is "dispatched" or "delivered" may not.
2. A cancelled order is paid back at once, with its whole total. Nothing else is paid back, except by rule 3.
3. If goods of a delivered order came broken, pay back their price, for the broken pieces only.
4. A voucher may be used only for an order that is placed, has no voucher yet, and has at least the voucher's min_total.
5. A new order needs enough pieces in stock; do not order fewer.
6. If the policy does not allow a request, change nothing for it."""
CITIES: Final = ("Aachen", "Bergen", "Cork", "Delft", "Evora", "Faro", "Ghent", "Halle")
STREETS: Final = ("Bridge Street", "Church Lane", "Garden Road", "Harbour Street", "Mill Road", "Station Square")


@dataclass(frozen=True, kw_only=True)
class Request:
    """One thing that a customer wants, with the right way to serve it."""

    kind: str
    text: str
    """What the customer says."""
    calls: tuple[Call, ...]
    """The right writes in their order; none for a request that the policy refuses."""
    eur: int
    """The EUR that the final answer has to give for it; see :data:`ANSWERS`."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """An order of a world, with what it is about."""

    id: str
    row: Mapping[str, Any]
    product: Mapping[str, Any]

    @property
    def total(self) -> int:
        """Its total in EUR; the orders of a new world have no voucher."""
        return int(self.product["price"]) * int(self.row["quantity"])

    @property
    def is_open(self) -> bool:
        """Tell whether it may still be changed."""
        return bool(self.row["status"] == "placed")


def order_in(world: World, order_id: str) -> Order:
    """The order with its product."""
    row = world["orders"][order_id]
    return Order(id=order_id, row=row, product=world["products"][row["product"]])


def move(source: random.Random, world: World, order: Order) -> Request:
    """Send an order to another address."""
    address = f"{source.randint(1, 99)} {source.choice(STREETS)}, {source.choice(CITIES)}"
    calls: tuple[Call, ...] = (("change_address", {"order_id": order.id, "address": address}),)
    text = f"Please send my order of {order.product['name']} to this address instead: {address}"
    return Request(kind="move", text=text, calls=calls if order.is_open else (), eur=0)


def cancel(source: random.Random, world: World, order: Order) -> Request:
    """Cancel an order and get the money back."""
    calls: tuple[Call, ...] = (
        ("cancel_order", {"order_id": order.id}),
        ("refund", {"order_id": order.id, "amount": order.total}),
    )
    text = f"I no longer want my order of {order.product['name']}. Please cancel it and pay me back."
    return Request(
        kind="cancel", text=text, calls=calls if order.is_open else (), eur=order.total if order.is_open else 0
    )


def broken(source: random.Random, world: World, order: Order) -> Request:
    """Get the money for broken goods back."""
    pieces = source.randint(1, order.row["quantity"])
    amount = pieces * order.product["price"] if order.row["status"] == "delivered" else 0
    calls: tuple[Call, ...] = (("refund", {"order_id": order.id, "amount": amount}),)
    is_single = order.row["quantity"] == 1
    what = "The one piece" if is_single else f"{pieces} of the {order.row['quantity']} pieces"
    text = f"{what} in my order of {order.product['name']} came broken. "
    return Request(kind="broken", text=text + "Please pay me back for them.", calls=calls if amount else (), eur=amount)


def voucher(source: random.Random, world: World, order: Order) -> Request:
    """Use a voucher for an order."""
    code = source.choice(sorted(world["vouchers"]))
    data = world["vouchers"][code]
    is_allowed = order.is_open and order.total >= data["min_total"]
    calls: tuple[Call, ...] = (("apply_voucher", {"order_id": order.id, "code": code}),)
    text = f"Please use my voucher {code} for my order of {order.product['name']}."
    return Request(
        kind="voucher", text=text, calls=calls if is_allowed else (), eur=data["eur_off"] if is_allowed else 0
    )


def again(source: random.Random, world: World, order: Order) -> Request:
    """Order the same product once more."""
    stock = order.product["stock"]
    wanted = source.choice((1, max(1, stock), stock + 1, stock + 2))
    is_possible = wanted <= stock
    calls: tuple[Call, ...] = (
        (
            "place_order",
            {"customer_id": order.row["customer"], "product_id": order.row["product"], "quantity": wanted},
        ),
    )
    return Request(
        kind="again",
        text=f"I would like to order {wanted} more of the {order.product['name']}, to my usual address.",
        calls=calls if is_possible else (),
        eur=wanted * order.product["price"] if is_possible else 0,
    )


REQUESTS: Final[Mapping[str, Callable[[random.Random, World, Order], Request]]] = {
    "move": move,
    "cancel": cancel,
    "broken": broken,
    "voucher": voucher,
    "again": again,
}
ANSWERS: Final = (
    "for a change of address 0, for a cancelled order what is paid back, for broken goods what is paid back, for a "
    "voucher what it takes off, for a new order what it costs, and for a request that is not allowed 0"
)
"""The amount that each kind of request has; told to the team."""
_NAMES: Final = ("Ana Silva", "Ben Okoro", "Cora Lind", "Dan Weiss", "Eva Novak", "Finn Berg", "Gina Rossi")
_PRODUCTS: Final = ("lamp", "kettle", "clock", "chair", "radio", "mirror", "basket", "carpet")
_STATUSES: Final = ("placed", "placed", "dispatched", "delivered")


@dataclass(frozen=True)
class _Size:
    """Amount to look through and to do."""

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
