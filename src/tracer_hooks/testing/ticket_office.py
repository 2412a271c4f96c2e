"""The demo's scenario: three agents work out a price, and one of them slips until it hears that the total is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tracer_hooks.endpoint import Endpoint
from tracer_hooks.testing._scripted_rules import Reply, Rule, ScriptedRequest, ToolCallReply, When

__all__ = [
    "ANSWER", "INSTRUCTIONS", "REASON", "SLIPS", "TASK", "Endpoint", "instructions", "script", "ticket_price",
]  # fmt: skip

TASK: Final = "What do 3 train tickets from Lisbon to Porto cost, booking fee included? Give the total in EUR."
ANSWER: Final = "82.50"
REASON: Final = "wrong total"
"""All that the check says: where the mistake is has to be found in the run."""

INSTRUCTIONS: Final[Mapping[str, str]] = {
    "researcher": "You are the researcher. Call ticket_price for the route, then report the price and the fee exactly.",
    "calculator": "You are the calculator. Work out the total from what the researcher reports, in one line.",
    "writer": "You are the writer. Answer the customer in one sentence with the total that the calculator gives.",
}
"""What each agent is told."""

_PRICES: Final = {("lisbon", "porto"): "25.00", ("porto", "lisbon"): "28.00"}


def ticket_price(origin: str, destination: str) -> str:
    """Look up what one train ticket costs.

    Args:
        origin: Where the journey begins.
        destination: Where it ends.
    """
    price = _PRICES.get((_station(origin), _station(destination)))
    if price is None:
        raise LookupError(f"no train from {origin} to {destination}")
    return f"{origin} to {destination}: {price} EUR a ticket, plus a booking fee of 7.50 EUR for the whole order."


def _station(place: str) -> str:
    return place.partition(",")[0].strip().casefold()


def instructions(prompts: Mapping[str, str] | None) -> dict[str, str]:
    """The agents' instructions, those of ``prompts`` laid over the original ones."""
    return {**INSTRUCTIONS, **(prompts or {})}


def _calculation(price: str) -> str:
    tickets = 3 * float(price)
    return (
        f"3 x {price} EUR = {tickets:.2f} EUR; with the booking fee of 7.50 EUR the total is {tickets + 7.5:.2f} EUR."
    )


def _answer(request: ScriptedRequest) -> str:
    price, total = re.findall(r"3 x (\S+) EUR.*total is (\S+) EUR", request.text)[-1]
    return f"Your 3 tickets from Lisbon to Porto cost {total} EUR: {price} EUR each, and a booking fee of 7.50 EUR."


def _call(origin: str, destination: str) -> Reply:
    return Reply(tool_calls=[ToolCallReply("ticket_price", {"origin": origin, "destination": destination})])


def _is_untold(request: ScriptedRequest) -> bool:
    return REASON not in request.text and not request.tool_results


SLIPS: Final[Mapping[str, Rule]] = {
    "wrong_calculation": When(agent="calculator", where=_is_untold).then(
        "3 x 25.00 EUR = 78.00 EUR; with the booking fee of 7.50 EUR the total is 85.50 EUR."
    ),
    "ignored_error": When(agent="researcher", where=_is_untold).then(_call("Lisbon", "Oporto")),
    "record_contradicted": When(agent="writer", where=_is_untold).then(
        "Your 3 tickets from Lisbon to Porto cost 85.20 EUR."
    ),
    "wrong_request": When(agent="researcher", where=_is_untold).then(_call("Porto", "Lisbon")),
}
"""By the finding that each leaves in the run: what an agent does wrong unless it is told that the total is wrong."""


def script(slip: str = "wrong_calculation") -> list[Rule]:
    """Return the answers of the scripted model, with one of :data:`SLIPS`; all others follow what they are given.

    The script stands for a model that heeds what it is told; it is no sign of how often real ones do.
    """
    report = "One ticket from Lisbon to Porto costs {} EUR, and the whole order has a booking fee of 7.50 EUR."
    return [
        SLIPS[slip],
        When(agent="researcher", tool_result=r"25\.00").then(report.format("25.00")),
        When(agent="researcher", tool_result="").then(report.format("28.00")),  # also when the tool fails
        When(agent="researcher").then(_call("Lisbon", "Porto")),
        When(agent="calculator", contains=r"costs 28\.00").then(_calculation("28.00")),
        When(agent="calculator").then(_calculation("25.00")),
        When(agent="writer").then(_answer),
    ]
