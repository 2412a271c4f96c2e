"""Planner, solver and checker as a chain with an edge back."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, MessagesState

from tracer_hooks.suites.architectures import Blueprint
from tracer_hooks_langgraph.teams._nodes import compiled, new_graph, next_node


def planner_solver_checker(plan: Blueprint) -> Any:
    """After the checker comes the solver again, or the end."""

    def after_check(state: MessagesState) -> str:
        return next_node(plan, state)

    graph = new_graph(plan)
    graph.add_edge(START, "planner")
    graph.add_edge("planner", "solver")
    graph.add_edge("solver", "checker")
    graph.add_conditional_edges("checker", after_check, ["solver", END])
    return compiled(plan, graph)
