"""Order desk: the data of a small shop, what can be done with it, and its tools as plain functions."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tracer_hooks_lab.suites._suite import Tool

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
        """Cost of an order in EUR, its voucher taken off."""
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
    """List the differences between two worlds, one short line each, without what is wanted."""
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


def desk_tools(desk: OrderDesk) -> tuple[Tool, ...]:
    """All tools, working on ``desk``. What cannot be done is told as text, never raised."""
    return (*_customer_tools(desk), *_look_up_tools(desk), *_order_tools(desk), *_money_tools(desk))


def _told(act: Callable[[], object]) -> str:
    """Return what ``act`` gives, as text; what it refuses begins with ``error:``."""
    try:
        result = act()
    except DeskError as error:
        return f"error: {error}"
    return result if isinstance(result, str) else json.dumps(result)


def _whole(value: object) -> int:
    """``value`` as a whole number: models write 2, 2.0 and "2"."""
    try:
        number = float(str(value))
        if number == int(number):
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise DeskError(f"expected a whole number, got {value!r}")


def _customer_tools(desk: OrderDesk) -> tuple[Tool, ...]:
    def find_customers(name: str) -> str:
        """Find the customers with a name.

        Args:
            name: The whole name or a part of it.

        Returns:
            A JSON list of customers with their id, name, city and address.
        """
        wanted = str(name).casefold().strip()
        rows = desk.world["customers"].items()
        return json.dumps([{"id": key, **row} for key, row in rows if wanted in row["name"].casefold()])

    def list_orders(customer_id: str) -> str:
        """List the orders of a customer.

        Args:
            customer_id: The customer's id, for example C-1.

        Returns:
            A JSON list of orders with their id, product, quantity and status.
        """

        def orders() -> list[dict[str, Any]]:
            desk.row("customers", customer_id)
            return [
                {"id": key, "product": order["product"], "quantity": order["quantity"], "status": order["status"]}
                for key, order in desk.world["orders"].items()
                if order["customer"] == customer_id
            ]

        return _told(orders)

    return find_customers, list_orders


def _look_up_tools(desk: OrderDesk) -> tuple[Tool, ...]:
    def get_order(order_id: str) -> str:
        """Look up one order.

        Args:
            order_id: The order's id, for example O-101.

        Returns:
            A JSON object with customer, product, quantity, status, address, voucher, and the total in EUR.
        """

        def order() -> dict[str, Any]:
            row = desk.row("orders", order_id)
            return {"id": order_id, **row, "total_eur": desk.total(row)}

        return _told(order)

    def get_product(product: str) -> str:
        """Look up a product's price in EUR and how many are in stock.

        Args:
            product: The product's id, for example P-1, or its name.

        Returns:
            A JSON object with id, name, price and stock.
        """

        def found() -> dict[str, Any]:
            named = [key for key, row in desk.world["products"].items() if row["name"] == str(product).strip().lower()]
            key = named[0] if named else product
            return {"id": key, **desk.row("products", key)}

        return _told(found)

    def get_voucher(code: str) -> str:
        """Look up a voucher.

        Args:
            code: The code on the voucher.

        Returns:
            A JSON object with eur_off, and min_total: the least total of an order that it may be used for.
        """
        return _told(lambda: desk.row("vouchers", code))

    return get_order, get_product, get_voucher


def _order_tools(desk: OrderDesk) -> tuple[Tool, ...]:
    def change_address(order_id: str, address: str) -> str:
        """Change the address that an order goes to.

        Args:
            order_id: The order's id.
            address: The whole new address.
        """
        return _told(lambda: desk.change_address(order_id, str(address)))

    def cancel_order(order_id: str) -> str:
        """Cancel an order. This pays nothing back.

        Args:
            order_id: The order's id.
        """
        return _told(lambda: desk.cancel_order(order_id))

    def place_order(customer_id: str, product_id: str, quantity: int) -> str:
        """Place a new order to the customer's own address.

        Args:
            customer_id: The customer's id.
            product_id: The product's id.
            quantity: How many.
        """
        return _told(lambda: desk.place_order(customer_id, product_id, _whole(quantity)))

    return change_address, cancel_order, place_order


def _money_tools(desk: OrderDesk) -> tuple[Tool, ...]:
    def refund(order_id: str, amount: int) -> str:
        """Pay money for an order back to the customer.

        Args:
            order_id: The order's id.
            amount: How much, in whole EUR.
        """
        return _told(lambda: desk.refund(order_id, _whole(amount)))

    def apply_voucher(order_id: str, code: str) -> str:
        """Use a voucher for an order.

        Args:
            order_id: The order's id.
            code: The code on the voucher.
        """
        return _told(lambda: desk.apply_voucher(order_id, code))

    return refund, apply_voucher
