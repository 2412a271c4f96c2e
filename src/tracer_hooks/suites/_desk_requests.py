"""What customers ask of the order desk, and what the policy makes of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tracer_hooks.suites._desk import World

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
        """Whether it may still be changed."""
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
