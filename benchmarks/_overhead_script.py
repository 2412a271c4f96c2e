"""What the scripted models of the overhead benchmark say: the same story in every framework, without a network.

Three agents, six agent steps, two tool calls and eight model calls, so seventeen operations with the run itself.
"""

from __future__ import annotations

TASK = "Compare the two suppliers for 400 brackets, say which is cheaper with delivery, and draft the order e-mail."

OPERATIONS = {"run": 1, "agent": 6, "chat": 8, "tool": 2}
"""Operations of one run, in every framework."""

PROMPTS = {
    "researcher": "You are the researcher. Look prices up with the tool; never estimate a price yourself.",
    "analyst": "You are the analyst. Work out totals with delivery and check them against the quoted prices.",
    "writer": "You are the writer. Write short and polite business letters that name the amount and the supplier.",
}

TOOL = "quote"
TOOL_DESCRIPTION = "Give a supplier's price for a number of brackets."


def quote(supplier: str, pieces: int) -> str:
    """Give a supplier's price for a number of brackets."""
    unit, delivery = (1.35, 40.0) if supplier == "Northwind" else (1.29, 85.0)
    total = pieces * unit + delivery
    return f"{supplier}: {pieces} brackets at {unit:.2f} each, delivery {delivery:.2f}, total {total:.2f}"


QUOTES = ({"supplier": "Northwind", "pieces": 400}, {"supplier": "Eastline", "pieces": 400})
"""Arguments of the two tool calls."""

FOUND = (
    "Northwind quotes 400 brackets at 1.35 each with delivery at 40.00, which makes 580.00 in total for the order.",
    "Eastline quotes 400 brackets at 1.29 each with delivery at 85.00, which makes 601.00 in total for the order.",
)
JUDGED = (
    "Northwind at 580.00 is the bench mark; the offer of the second supplier still has to be looked up and compared.",
    "Northwind is cheaper by 21.00: 580.00 with delivery against 601.00 at Eastline, though its unit price is higher.",
)
WRITTEN = (
    "Draft: Dear Northwind, we consider an order of 400 brackets at your price of 1.35 each and will confirm it today.",
    "Dear Northwind, please send 400 brackets at 1.35 each; with delivery we expect an invoice over 580.00. Thank you.",
)
ANSWER = WRITTEN[1]
