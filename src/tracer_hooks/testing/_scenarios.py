"""The scripted scenarios of the contract kit: what each agent is told, and what its model answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from tracer_hooks.testing._scripted_replies import Reply, ToolCallReply
from tracer_hooks.testing._scripted_rules import Rule, When

TASK: Final = "What is six times seven?"
"""The task of every scenario."""

TOOL_RESULT: Final = "Six times seven is 42 according to the table."
"""What the ``lookup`` tool finds."""

PROMPTS: Final[Mapping[str, str]] = {
    "solo": "You are the solo agent. Answer the question, with a tool when that helps.",
    "researcher": "You are the researcher. Look the number up with the lookup tool, then report it.",
    "writer": "You are the writer. Put the number that was reported into one sentence.",
    "reviewer": "You are the reviewer. Approve the sentence, or correct it.",
    "triage": "You are the triage agent. Pass questions about money on to billing.",
    "billing": "You are the billing agent. Answer questions about money.",
    "manager": "You are the manager. Choose who answers: alpha or beta.",
    "alpha": "You are the alpha agent. Answer questions about letters.",
    "beta": "You are the beta agent. Answer questions about numbers.",
    "left": "You are the left agent. Answer in digits.",
    "right": "You are the right agent. Answer in words.",
    "lead": "You are the lead agent. Sum up what the expert found.",
    "expert": "You are the expert agent. Find the answer.",
}
"""Each agent's instructions. A prompt begins with the agent's name, which is how the script tells who is asking."""


class Scenario(StrEnum):
    """A team of the contract kit; each value is the name of the builder in ``ContractTeams``."""

    SINGLE = "single"
    PIPELINE = "pipeline"
    HANDOFF = "handoff"
    MANAGER = "manager"
    PARALLEL = "parallel"
    NESTED = "nested"


def lookup(query: str) -> str:
    """Look a number up in the table.

    Args:
        query: What to look up.
    """
    return TOOL_RESULT


def says(agent: str, *texts: str) -> Rule:
    """The model of ``agent`` answers with these texts, the last one again and again."""
    return When(agent=agent).then(*texts)


def calls_then_says(agent: str, calls: Sequence[ToolCallReply], text: str) -> tuple[Rule, Rule]:
    """The model of ``agent`` calls tools, and says ``text`` once it has seen a result."""
    return When(agent=agent, tool_result="").then(text), When(agent=agent).then(Reply(tool_calls=calls))


PIPELINE: Final = (
    *calls_then_says("researcher", [ToolCallReply("lookup", {"query": "six times seven"})], "The table says 42."),
    says("writer", "Six times seven makes 42."),
    says("reviewer", "Approved: six times seven makes 42."),
)

_HANDED_OVER = When(agent="triage", tool_result="").then("Passed on to billing.")
_TRANSFER = When(agent="triage").then(Reply(tool_calls=[ToolCallReply("transfer_to_billing", {})]))

SCRIPTS: Final[Mapping[Scenario, tuple[Rule, ...]]] = {
    Scenario.SINGLE: (says("solo", "The answer is 42."),),
    Scenario.PIPELINE: PIPELINE,
    Scenario.HANDOFF: (_HANDED_OVER, _TRANSFER, says("billing", "The refund of 42 is on its way.")),
    Scenario.MANAGER: (says("manager", "beta"), says("alpha", "It is F and T."), says("beta", "It is 42 exactly.")),
    Scenario.PARALLEL: (says("left", "It is 42 in digits."), says("right", "It is forty-two in words.")),
    Scenario.NESTED: (says("expert", "I found that it is 42."), says("lead", "In short, the answer is 42.")),
}
"""What the models answer in each scenario, where a framework does not need a script of its own."""
