"""LangGraph's ``Send``: one node for each part of the work at the same time, then one that joins the parts."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from tracer_hooks.testing import Rule, ScriptedLLM, When

from ._kind import said
from ._langgraph import LangGraphKind, asking


class State(TypedDict, total=False):
    """What the team works on."""

    task: str
    parts: list[str]
    found: Annotated[list[str], operator.add]
    answer: str


class Part(TypedDict):
    """What one expert is sent."""

    part: str


class SendKind(LangGraphKind):
    """lead -> expert for each of three parts -> reviewer."""

    team = "mapped"
    agents = frozenset({"lead", "expert", "reviewer"})
    # The edge sends a task to the same node three times; all three run in one super-step, and the join after it.
    courses = ((said("lead"), [said("expert")] * 3, said("reviewer")),)
    requests = 5

    def rules(self) -> Sequence[Rule]:
        return [
            When(agent="lead").then("in digits, in words, in Roman numerals"),
            When(agent="expert", contains="in digits").then("42, in <case>"),
            When(agent="expert", contains="in words").then("forty-two, in <case>"),
            When(agent="expert", contains="in Roman").then("XLII, in <case>"),
            When(agent="reviewer").then("All say 42 in <case>."),
        ]

    def build(self, llm: ScriptedLLM) -> Any:
        ask = {name: asking(llm, name) for name in ("lead", "expert", "reviewer")}

        def lead(state: State) -> State:
            return {"parts": ask["lead"](state["task"]).split(", ")}

        def expert(state: Part) -> State:
            return {"found": [ask["expert"](state["part"])]}

        def reviewer(state: State) -> State:
            return {"answer": ask["reviewer"]("; ".join(state["found"]))}

        def sends(state: State) -> list[Send]:
            return [Send("expert", {"part": f"{state['task']} Say it {part}."}) for part in state["parts"]]

        graph = StateGraph(State)
        graph.add_node("lead", lead)
        graph.add_node("expert", expert)
        graph.add_node("reviewer", reviewer)
        graph.add_edge(START, "lead")
        graph.add_conditional_edges("lead", sends, ["expert"])
        graph.add_edge("expert", "reviewer")
        graph.add_edge("reviewer", END)
        return graph.compile(name="mapped")

    def run(self, team: Any, task: str) -> Any:
        """The graph's state holds no messages."""
        return team.invoke({"task": task})


KIND = SendKind()
