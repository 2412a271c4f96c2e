"""A LangGraph sub-graph that asks a human, and is gone on with by ``Command(resume=...)``."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from tracer_hooks.schema import RunOutcome
from tracer_hooks.testing import Rule, ScriptedLLM, When

from ..teams.langgraph_teams import agent
from ._case import CASE, cases_in
from ._kind import said
from ._langgraph import LangGraphKind, messages_of


def ask(state: MessagesState) -> dict[str, Any]:
    """The node that waits for a human, and writes down what they say."""
    return {"messages": [("user", interrupt("Is this right?"))]}


class SubgraphInterruptKind(LangGraphKind):
    """inner (writer -> ask) -> reviewer; the run ends at the question, and another one goes on from there."""

    team = "outer"
    agents = frozenset({"writer", "reviewer"})
    # On resuming, the sub-graph starts at the node that waited: the writer's part is in its checkpoint.
    courses = ((said("writer"),), (said("reviewer"),))
    outcomes = (RunOutcome.UNKNOWN, RunOutcome.SUCCEEDED)  # an interrupted run has no answer to check
    requests = 2

    def rules(self) -> Sequence[Rule]:
        return [
            When(agent="writer").then("Six times seven is 42 in <case>."),
            When(agent="reviewer", contains="Yes, it is right").then(f"Approved by a human: 42 in {CASE}."),
        ]

    def build(self, llm: ScriptedLLM) -> Any:
        inner = StateGraph(MessagesState)
        inner.add_node("writer", agent(llm, "writer"))
        inner.add_node("ask", ask)
        inner.add_edge(START, "writer")
        inner.add_edge("writer", "ask")
        inner.add_edge("ask", END)
        outer = StateGraph(MessagesState)
        outer.add_node("inner", inner.compile(name="inner"))
        outer.add_node("reviewer", agent(llm, "reviewer"))
        outer.add_edge(START, "inner")
        outer.add_edge("inner", "reviewer")
        outer.add_edge("reviewer", END)
        return outer.compile(name="outer", checkpointer=InMemorySaver())

    def run(self, team: Any, task: str) -> Any:
        """Ask, and answer the question that comes back."""
        (case,) = cases_in(task)
        thread: Any = {"configurable": {"thread_id": uuid.uuid4().hex}}
        first = team.invoke(messages_of(task), thread)
        (question,) = first["__interrupt__"]
        assert question.value == "Is this right?"
        return [first, team.invoke(Command(resume=f"Yes, it is right, in case {case}."), thread)]


KIND = SubgraphInterruptKind()
