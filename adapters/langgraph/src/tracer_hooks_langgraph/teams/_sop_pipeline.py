"""The pipeline as a chain."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from langgraph.graph import END, START

from tracer_hooks.suites.architectures import Blueprint
from tracer_hooks_langgraph.teams._nodes import compiled, new_graph


def sop_pipeline(plan: Blueprint) -> Any:
    """Each hands its document on to the next."""
    graph = new_graph(plan)
    for before, after in pairwise([START, *plan.instructions, END]):
        graph.add_edge(before, after)
    return compiled(plan, graph)
