"""The demo's scenario: three agents work out a price, and the middle one forgets the fee until it is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracer_hooks.endpoint import Endpoint
from tracer_hooks.testing._scripted_rules import Reply, Rule, ToolCallReply, When

__all__ = ["ANSWER", "FEEDBACK", "INSTRUCTIONS", "TASK", "Endpoint", "instructions", "script", "ticket_price"]

TASK: Final = "What do 3 train tickets from Lisbon to Porto cost, booking fee included? Give the total in EUR."
ANSWER: Final = "82.50"
FEEDBACK: Final = "the total leaves the booking fee out"
"""What the check says of the wrong total. It names the mistake and not the answer."""

INSTRUCTIONS: Final[Mapping[str, str]] = {
    "researcher": "You are the researcher. Call ticket_price for the route, then report the price and the fee exactly.",
    "calculator": "You are the calculator. Work out the total from what the researcher reports, in one line.",
    "writer": "You are the writer. Answer the customer in one sentence with the total that the calculator gives.",
}
"""What each agent is told."""


def ticket_price(origin: str, destination: str) -> str:
    """Look up what one train ticket costs.

    Args:
        origin: Where the journey begins.
        destination: Where it ends.
    """
    return f"{origin} to {destination}: 25.00 EUR a ticket, plus a booking fee of 10 % on the whole order."


def instructions(prompts: Mapping[str, str] | None) -> dict[str, str]:
    """The agents' instructions, those of ``prompts`` laid over the original ones."""
    return {**INSTRUCTIONS, **(prompts or {})}


def script() -> list[Rule]:
    """Return the answers of the scripted model.

    The calculator leaves the fee out, however often it is asked, unless it is told that it did so. The script stands
    for a model that heeds what it is told; it is no sign of how often real ones do.
    """
    return [
        When(agent="researcher", tool_result="25").then(
            "One ticket from Lisbon to Porto costs 25.00 EUR, and a booking fee of 10 % is added to the whole order."
        ),
        When(agent="researcher").then(
            Reply(tool_calls=[ToolCallReply("ticket_price", {"origin": "Lisbon", "destination": "Porto"})])
        ),
        When(agent="calculator", contains=FEEDBACK).then(
            "3 x 25.00 EUR = 75.00 EUR; with the booking fee of 10 % (7.50 EUR) the total is 82.50 EUR."
        ),
        When(agent="calculator").then("3 x 25.00 EUR: the total is 75.00 EUR."),
        When(agent="writer", contains=r"total is 82\.50").then("Your 3 tickets from Lisbon to Porto cost 82.50 EUR."),
        When(agent="writer").then("Your 3 tickets from Lisbon to Porto cost 75.00 EUR."),
    ]
