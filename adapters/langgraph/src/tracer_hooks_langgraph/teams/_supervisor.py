"""The supervisor as a node with conditional edges to its workers."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, MessagesState

from tracer_hooks.suites.architectures import Blueprint
from tracer_hooks_langgraph.teams._nodes import compiled, new_graph, next_node


def supervisor(plan: Blueprint) -> Any:
    """Each worker reports to the supervisor."""

    def ordered(state: MessagesState) -> str:
        return next_node(plan, state)

    chief, *workers = plan.instructions
    graph = new_graph(plan)
    graph.add_edge(START, chief)
    graph.add_conditional_edges(chief, ordered, [*workers, END])
    for worker in workers:
        graph.add_edge(worker, chief)
    return compiled(plan, graph)
