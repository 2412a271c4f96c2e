"""The package langgraph-supervisor: an agent that hands the work to others with tools, and gets it back from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph_supervisor import create_supervisor

from tracer_hooks.testing import Reply, Rule, ScriptedLLM, ToolCallReply, When
from tracer_hooks_testing import lookup

from ..teams.langgraph_teams import agent, as_tool, chat_model
from ._kind import called, handed, said
from ._langgraph import LangGraphKind
from ._rules import looks_up


def transfer(to: str) -> Reply:
    """A reply that hands over."""
    return Reply(tool_calls=[ToolCallReply(f"transfer_to_{to}", {})])


class SupervisorKind(LangGraphKind):
    """supervisor -> researcher -> supervisor -> writer -> supervisor, who has the last word."""

    team = "supervised"
    agents = frozenset({"supervisor", "researcher", "writer"})
    # Control comes back by an edge of the graph: "Transferring back to supervisor" is written by the package itself,
    # not said by anybody.
    courses = (
        (
            handed("supervisor", "researcher", "transfer_to_researcher"),
            called("researcher", "lookup"),
            said("researcher"),
            handed("supervisor", "writer", "transfer_to_writer"),
            said("writer"),
            said("supervisor"),
        ),
    )
    requests = 6

    def rules(self) -> Sequence[Rule]:
        return [
            When(agent="supervisor", contains="Six times seven is 42").then("The team says 42 in <case>."),
            When(agent="supervisor", contains="The table says 42").then(transfer("writer")),
            When(agent="supervisor").then(transfer("researcher")),
            *looks_up("researcher", "The table says 42 in <case>."),
            When(agent="writer").then("Six times seven is 42 in <case>."),
        ]

    def build(self, llm: ScriptedLLM) -> Any:
        workers = [agent(llm, "researcher", tools=[as_tool(lookup)]), agent(llm, "writer")]
        prompt = "You are the supervisor. Let the researcher look up, then the writer write."
        return create_supervisor(workers, model=chat_model(llm), prompt=prompt).compile(name="supervised")


KIND = SupervisorKind()
