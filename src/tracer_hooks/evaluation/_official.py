"""The scorer that Who&When was published with, as its ``evaluate.py`` has it.

Kept beside the exact one because published figures rest on it. Its rules, all of them kept: the answer is read back
from the text ``Agent Name: ... Step Number: ...``; a name is read up to its first character that is not a letter, a
digit or ``_`` (``Blu-Ray_Expert`` becomes ``Blu``); both fields must be readable; an answer is right when the label
*stands in it*, so that step 12 satisfies the label 1 or 2, and so does every longer name; case counts; runs without an
answer stay in the denominator.
"""

from __future__ import annotations

import re

_AGENT = re.compile(r"Agent Name:\s*([\w_]+)", re.IGNORECASE)
_STEP = re.compile(r"Step Number:\s*(\d+)", re.IGNORECASE)


def official_hits(agent: str | None, step: int | None, gold_agent: str, gold_step: int | None) -> tuple[bool, bool]:
    """Tell whether agent and step are right by the substring rules.

    Args:
        agent: The answer's agent; None for no answer.
        step: The answer's step; None for no answer.
        gold_agent: The label's agent in its own spelling.
        gold_step: The label's step; None when it lies outside the run, which no answer satisfies.
    """
    text = "" if agent is None or step is None else f"Agent Name: {agent}\nStep Number: {step}"
    said_agent, said_step = _AGENT.search(text), _STEP.search(text)
    if said_agent is None or said_step is None:
        return False, False
    return gold_agent in said_agent[1], gold_step is not None and str(gold_step) in said_step[1]
