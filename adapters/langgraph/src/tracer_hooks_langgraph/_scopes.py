"""What goes on in a run: the graphs, nodes, tool calls and other runnables that are open, as a tree."""

from __future__ import annotations

import time
from collections.abc import Iterator
from enum import Enum
from typing import Any

from tracer_hooks.telemetry import AgentInvocation, ChatReply, ToolInvocation
from tracer_hooks_langgraph._graph_facts import GraphFacts, NodeFacts


class ScopeKind(Enum):
    """What a runnable is to a team."""

    GRAPH = "graph"
    NODE = "node"
    """A node of a graph, or a task of the functional API."""
    TOOL = "tool"
    OTHER = "other"
    """A prompt, a sequence, a function that routes, a middleware."""


class Scope:
    """One runnable that is open; LangChain knows it by its run id."""

    __slots__ = (
        "agent",
        "asker",
        "facts",
        "graph",
        "held_agent",
        "inputs",
        "kind",
        "name",
        "namespace",
        "node",
        "parent",
        "pending",
        "reply",
        "routed",
        "start_ns",
        "tool",
    )

    def __init__(self, kind: ScopeKind, name: str, parent: Scope | None) -> None:
        self.kind = kind
        self.name = name
        self.parent = parent
        self.graph: Scope | None = parent if parent is None or parent.kind is ScopeKind.GRAPH else parent.graph
        """The graph around this scope."""
        self.start_ns = time.time_ns()
        self.node = ""
        """LangGraph's name of the node that it is, or is part of."""
        self.namespace = ""
        """LangGraph's id of the task that it is, or is part of."""
        self.inputs: Any = None
        self.facts: GraphFacts | None = None
        """Of a graph."""
        self.agent: AgentInvocation | None = None
        """The agent's turn that this graph or node is, once something happened in it."""
        self.tool: ToolInvocation | None = None
        self.asker: AgentInvocation | None = None
        """Of a tool call: the turn that asked for it."""
        self.held_agent = False
        """Whether an agent had its turn inside."""
        self.pending: list[tuple[AgentInvocation, str | None, int]] = []
        """Of a node: turns inside that are over; they end with the node, which knows where control goes."""
        self.reply: ChatReply | None = None
        """Of a node: what the model said last inside."""
        self.routed: set[tuple[str, str]] = set()
        """Of a node: what its routers answered, and the nodes that this means."""

    def ancestors(self) -> Iterator[Scope]:
        """The scopes around this one, innermost first."""
        scope = self.parent
        while scope is not None:
            yield scope
            scope = scope.parent

    @property
    def node_facts(self) -> NodeFacts | None:
        """What is known beforehand of the node that this is, or is part of."""
        graph = self.graph
        return graph.facts.nodes.get(self.node) if graph is not None and graph.facts is not None else None

    @property
    def is_agent(self) -> bool:
        """Whether it is a graph that is one agent."""
        return self.kind is ScopeKind.GRAPH and self.facts is not None and self.facts.is_agent

    @property
    def is_own_node(self) -> bool:
        """Whether it is a node of a team, rather than of an agent's own loop."""
        if self.kind is not ScopeKind.NODE:
            return False
        graph = self.graph
        return graph is None or not graph.is_agent

    @property
    def own_node(self) -> Scope | None:
        """The nearest node of a team around this scope."""
        for scope in self.ancestors():
            if scope.is_own_node:
                return scope
        return None
