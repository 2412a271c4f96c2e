"""The order desk: the data of a small shop, and what can be done with it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

World = dict[str, Any]
"""Plain data: ``customers``, ``products``, ``orders`` and ``vouchers`` by their ids, and the list ``refunds``."""

_TABLES: Final = ("customers", "products", "orders", "vouchers")


class DeskError(Exception):
    """Something that the desk cannot do; the tool gives the text to the agent."""


@dataclass(kw_only=True)
class OrderDesk:
    """One run's copy of the shop. It keeps the books right, but leaves the policy to whoever writes."""

    world: World
    """The data as they are now."""
    writes: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    """Every change in its order: the tool and its arguments."""

    @classmethod
    def over(cls, world: World) -> OrderDesk:
        """A desk over a copy of ``world``."""
        return cls(world=copy.deepcopy(world))

    def row(self, table: str, key: str) -> dict[str, Any]:
        """One row.

        Raises:
            DeskError: There is none.
        """
        rows = self.world[table]
        if key not in rows:
            raise DeskError(f"there is no {table.removesuffix('s')} {key!r}")
        row: dict[str, Any] = rows[key]
        return row

    def total(self, order: Mapping[str, Any]) -> int:
        """What an order costs in EUR, its voucher taken off."""
        off = self.world["vouchers"][order["voucher"]]["eur_off"] if order["voucher"] else 0
        price: int = self.row("products", order["product"])["price"]
        return max(0, price * int(order["quantity"]) - int(off))

    def change_address(self, order_id: str, address: str) -> str:
        """Send an order elsewhere."""
        order = self.row("orders", order_id)
        if not address.strip():
            raise DeskError("the address is empty")
        order["address"] = address.strip()
        self._record("change_address", order_id=order_id, address=address)
        return f"{order_id} goes to {order['address']}"

    def cancel_order(self, order_id: str) -> str:
        """Cancel an order; what it held goes back into stock."""
        order = self.row("orders", order_id)
        if order["status"] == "cancelled":
            raise DeskError(f"{order_id} is cancelled already")
        order["status"] = "cancelled"
        self.row("products", order["product"])["stock"] += order["quantity"]
        self._record("cancel_order", order_id=order_id)
        return f"{order_id} is cancelled"

    def refund(self, order_id: str, amount: int) -> str:
        """Pay money back."""
        self.row("orders", order_id)
        if amount <= 0:
            raise DeskError("the amount has to be above 0")
        self.world["refunds"].append({"order": order_id, "amount": amount})
        self._record("refund", order_id=order_id, amount=amount)
        return f"{amount} EUR of {order_id} are paid back"

    def place_order(self, customer_id: str, product_id: str, quantity: int) -> str:
        """Order a product to the customer's address."""
        customer, product = self.row("customers", customer_id), self.row("products", product_id)
        if not 0 < quantity <= product["stock"]:
            raise DeskError(f"{quantity} of {product_id} cannot be ordered, {product['stock']} are in stock")
        product["stock"] -= quantity
        order_id = f"O-{max(int(key[2:]) for key in self.world['orders']) + 1}"
        self.world["orders"][order_id] = {
            "customer": customer_id, "product": product_id, "quantity": quantity,
            "status": "placed", "address": customer["address"], "voucher": None,
        }  # fmt: skip
        self._record("place_order", customer_id=customer_id, product_id=product_id, quantity=quantity)
        return f"{order_id} is placed and costs {self.total(self.world['orders'][order_id])} EUR"

    def apply_voucher(self, order_id: str, code: str) -> str:
        """Take a voucher's value off an order."""
        order = self.row("orders", order_id)
        self.row("vouchers", code)
        if order["voucher"]:
            raise DeskError(f"{order_id} has the voucher {order['voucher']!r} already")
        order["voucher"] = code
        self._record("apply_voucher", order_id=order_id, code=code)
        return f"{order_id} costs {self.total(order)} EUR now"

    def _record(self, tool: str, **arguments: object) -> None:
        self.writes.append((tool, arguments))


def differences(actual: World, wanted: World) -> list[str]:
    """Where two worlds differ, one short line each, without what is wanted."""
    found = []
    for table in _TABLES:
        for key in sorted(set(actual[table]) | set(wanted[table])):
            one, other = actual[table].get(key), wanted[table].get(key)
            if one is None:
                found.append(f"one of the {table} is missing")
            elif other is None:
                found.append(f"{key} should not be there")
            else:
                found += [
                    f"{name} of {key} is {one[name]!r}, which is wrong" for name in one if one[name] != other[name]
                ]
    refunds = [sorted((one["order"], one["amount"]) for one in world["refunds"]) for world in (actual, wanted)]
    if refunds[0] != refunds[1]:
        paid = ", ".join(f"{amount} EUR of {order}" for order, amount in refunds[0]) or "nothing"
        found.append(f"paid back: {paid}, which is wrong")
    return found
