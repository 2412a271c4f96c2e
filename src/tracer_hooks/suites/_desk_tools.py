"""The order desk's tools: plain functions from which the frameworks build their schemas."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tracer_hooks.suites._desk import DeskError, OrderDesk
from tracer_hooks.suites._suite import Tool


def desk_tools(desk: OrderDesk) -> tuple[Tool, ...]:
    """All tools, working on ``desk``. What cannot be done is told as text, never raised."""
    return (*_customer_tools(desk), *_look_up_tools(desk), *_order_tools(desk), *_money_tools(desk))


def _told(act: Callable[[], object]) -> str:
    """What ``act`` gives, as text; what it refuses begins with ``error:``."""
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
