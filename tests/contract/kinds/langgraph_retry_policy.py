"""LangGraph's ``RetryPolicy``: a node whose model refuses the first time, and is asked again by the framework."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import RetryPolicy

from tracer_hooks.testing import ErrorReply, Rule, ScriptedLLM, ScriptedRequest, When

from ._kind import said
from ._langgraph import LangGraphKind, asking


class RefusesFirst:
    """A reply that is an error each time that a case comes for the first time, the third, and so on."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._refused: set[str] = set()

    def __call__(self, request: ScriptedRequest) -> Any:
        if request.last in self._refused:
            self._refused.remove(request.last)
            return self._text
        self._refused.add(request.last)
        return ErrorReply(503, message="Busy.")


class RetryPolicyKind(LangGraphKind):
    """writer, at the second attempt -> reviewer."""

    team = "retried"
    agents = frozenset({"writer", "reviewer"})
    # No reply came from the first attempt, so that both are one act of the writer's.
    courses = ((said("writer", attempts=2), said("reviewer")),)
    requests = 3

    def rules(self) -> Sequence[Rule]:
        return [
            When(agent="writer").then(RefusesFirst("Six times seven is 42 in <case>.")),
            When(agent="reviewer").then("Approved: 42 in <case>."),
        ]

    def build(self, llm: ScriptedLLM) -> Any:
        graph = StateGraph(MessagesState)
        policy = RetryPolicy(max_attempts=2, initial_interval=0.0, jitter=False)
        for name in ("writer", "reviewer"):
            graph.add_node(name, _speaker(llm, name), retry_policy=policy)
        graph.add_edge(START, "writer")
        graph.add_edge("writer", "reviewer")
        graph.add_edge("reviewer", END)
        return graph.compile(name="retried")


def _speaker(llm: ScriptedLLM, name: str) -> Any:
    ask = asking(llm, name)

    def speak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", ask(state["messages"][-1].text))]}

    return speak


KIND = RetryPolicyKind()
