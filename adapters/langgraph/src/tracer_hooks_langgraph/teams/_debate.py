"""The debaters as a ring, which the last of them leaves for the aggregator."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from langgraph.graph import END, START, MessagesState

from tracer_hooks.suites.architectures import Blueprint
from tracer_hooks_langgraph.teams._nodes import compiled, new_graph, next_node


def debate(plan: Blueprint) -> Any:
    """One debater after the other, not in one super-step: the steps of equal runs then have equal numbers."""

    def after_round(state: MessagesState) -> str:
        return next_node(plan, state)

    *debaters, aggregator = plan.instructions
    graph = new_graph(plan)
    for before, after in pairwise([START, *debaters]):
        graph.add_edge(before, after)
    graph.add_conditional_edges(debaters[-1], after_round, [debaters[0], aggregator])
    graph.add_edge(aggregator, END)
    return compiled(plan, graph)
