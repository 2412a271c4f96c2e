"""Graphs as they show from outside, and the graphs, nodes and tool calls that are open in a run, as a tree."""

from __future__ import annotations

import re
import time
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from types import FunctionType
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langchain_core.runnables import RunnableBinding, RunnableSequence
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel

from tracer_hooks.frameworks import guard
from tracer_hooks.schema import AgentSpec
from tracer_hooks.telemetry import AgentInvocation, ChatReply, ToolInvocation
from tracer_hooks_langgraph._convert import content_text, destinations, node_name, state_text

START, END = "__start__", "__end__"
UNNAMED = "LangGraph"
"""The name of a graph that was given none."""


class NodeKind(StrEnum):
    """Kind of a node, as far as can be seen before it runs."""

    AGENT = "agent"
    """An agent's sub-graph, or a function that can reach a chat model or one agent's graph."""
    GRAPH = "graph"
    """A sub-graph with agents of its own."""
    TOOLS = "tools"
    """Executes tool calls for the agent that asked."""
    FUNCTION = "function"
    """Anything else."""


@dataclass(frozen=True)
class NodeFacts:
    """One node."""

    kind: NodeKind
    agent: str
    """The name under which its turns appear."""
    graph: Any = None
    """The sub-graph."""


@dataclass(frozen=True)
class GraphFacts:
    """One compiled graph."""

    is_agent: bool
    """Whether it is one agent with its loop of model and tools, as ``create_agent`` makes them."""
    name: str | None
    """Its name; None when it was given none."""
    has_messages: bool
    """Whether its state holds a list of messages."""
    is_plain: bool = False
    """Whether it has a declared state, and that holds no messages."""
    instructions: str | None = None
    """An agent's system message, where it is fixed."""
    tools: tuple[str, ...] = ()
    """An agent's tools."""
    nodes: Mapping[str, NodeFacts] = field(default_factory=dict)
    """Its nodes."""
    routers: Mapping[str, Mapping[str, Mapping[Any, str]]] = field(default_factory=dict)
    """For each node the functions that choose what comes next, each with its map from answers to nodes."""


_known_facts: weakref.WeakKeyDictionary[Any, GraphFacts] = weakref.WeakKeyDictionary()


def graph_facts(graph: Any) -> GraphFacts:
    """The facts of ``graph``, found once."""
    facts = _known_facts.get(graph)
    if facts is None:
        facts = _known_facts[graph] = _find_facts(graph)
    return facts


def _find_facts(graph: Any) -> GraphFacts:
    is_agent = _is_agent(graph)
    has_messages = any(_holds_messages(key, channel) for key, channel in graph.channels.items())
    return GraphFacts(
        is_agent=is_agent,
        name=_name(graph),
        has_messages=has_messages,
        is_plain=not has_messages and hasattr(graph, "builder"),  # else of the functional API
        instructions=_instructions(graph) if is_agent else None,
        tools=tuple(_tools(graph)) if is_agent else (),
        nodes={} if is_agent else {key: _node(key, node) for key, node in graph.nodes.items() if key != START},
        routers=_routers(graph),
    )


def _name(graph: Any) -> str | None:
    return graph.name if graph.name and graph.name != UNNAMED else None


def _is_agent(graph: Any) -> bool:
    metadata = (graph.config or {}).get("metadata") or {}
    if "lc_agent_name" in metadata or metadata.get("ls_integration") == "langchain_create_agent":
        return True
    # langgraph.prebuilt.create_react_agent marks nothing; its functions tell by their names.
    names = (getattr(_function(node.bound), "__qualname__", "") for node in graph.nodes.values())
    return any(name.startswith(("create_react_agent.", "create_agent.")) for name in names)


def _holds_messages(key: str, channel: Any) -> bool:
    operator = getattr(channel, "operator", None)
    return key == "messages" or "add_messages" in getattr(operator, "__name__", "")


def _node(key: str, node: Any) -> NodeFacts:
    steps = getattr(node.bound, "steps", None) or [node.bound]
    for bound in steps:
        if isinstance(bound, ToolNode):
            return NodeFacts(NodeKind.TOOLS, key)
        if isinstance(bound, Pregel):
            facts = graph_facts(bound)
            kind = NodeKind.AGENT if facts.is_agent else NodeKind.GRAPH
            return NodeFacts(kind, (facts.name or key) if facts.is_agent else key, bound)
    reached = [value for bound in steps for value in _reachable_objects(_function(bound))]
    agents = [value for value in reached if isinstance(value, Pregel) and _is_agent(value)]
    if len(agents) == 1:
        return NodeFacts(NodeKind.AGENT, _name(agents[0]) or key, agents[0])
    if any(_is_model(value) for value in (*steps, *reached)):
        return NodeFacts(NodeKind.AGENT, key)
    return NodeFacts(NodeKind.FUNCTION, key)


def _is_model(value: Any) -> bool:
    if isinstance(value, RunnableSequence):
        return any(_is_model(step) for step in value.steps)
    return isinstance(value.bound if isinstance(value, RunnableBinding) else value, BaseChatModel)


def _function(bound: Any) -> Any:
    return getattr(bound, "func", None) or getattr(bound, "afunc", None)


def _reachable_objects(function: Any) -> Iterator[Any]:
    """The objects that a function holds: its closure, the globals that it names, its instance's attributes."""
    owner = getattr(function, "__self__", None)
    if owner is not None:
        yield from getattr(owner, "__dict__", {}).values()
    function = getattr(function, "__func__", function)
    function = getattr(function, "__wrapped__", function)
    if isinstance(function, FunctionType):
        yield from _cells(function).values()
        names = function.__globals__
        yield from (names[name] for name in function.__code__.co_names if name in names)


def _cells(function: Any) -> dict[str, Any]:
    cells = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            cells[name] = cell.cell_contents
        except ValueError:  # not bound yet
            continue
    return cells


def _instructions(graph: Any) -> str | None:
    """The system message in the closure of the node that calls the model (langchain 1.x, langgraph-prebuilt 1.x)."""
    with guard("read an agent's instructions"):
        for key in ("model", "agent"):
            function = _function(graph.nodes[key].bound) if key in graph.nodes else None
            found = next(_system_messages(function, 0), None)
            if found is not None:
                return content_text(found.content)
    return None


def _system_messages(function: Any, depth: int) -> Iterator[SystemMessage]:
    if not isinstance(function, FunctionType) or depth > 2:
        return
    for value in _cells(function).values():
        if isinstance(value, SystemMessage):
            yield value
        elif isinstance(value, RunnableSequence):
            for step in value.steps:
                yield from _system_messages(_function(step), depth + 1)


def _tools(graph: Any) -> tuple[str, ...]:
    for node in graph.nodes.values():
        if isinstance(node.bound, ToolNode):
            return tuple(node.bound.tools_by_name)
    return ()


def _routers(graph: Any) -> dict[str, dict[str, dict[Any, str]]]:
    """For each node, by the names under which callbacks announce its routers, their maps from answers to nodes."""
    routers: dict[str, dict[str, dict[Any, str]]] = {}
    with guard("read a graph's conditional edges"):
        branches = getattr(getattr(graph, "builder", None), "branches", None) or {}
        for node, specs in branches.items():
            for spec in specs.values():
                # A lambda has no name: callbacks then tell the class's name, or in async code none (langgraph 1.2).
                for name in {spec.path.get_name(), spec.path.name or ""}:
                    routers.setdefault(node, {}).setdefault(name, {}).update(spec.ends or {})
    return routers


_rosters: weakref.WeakKeyDictionary[Any, tuple[AgentSpec, ...]] = weakref.WeakKeyDictionary()


def members(graph: Any) -> tuple[AgentSpec, ...]:
    """The agents of a graph and of the graphs inside it, as far as they can be seen; found once."""
    known = _rosters.get(graph)
    if known is None:
        agents: dict[str, AgentSpec] = {}
        for spec in _roster(graph):
            agents.setdefault(spec.name, spec)
        known = _rosters[graph] = tuple(agents.values())
    return known


def _roster(graph: Any, *, name: str | None = None, depth: int = 0) -> Iterator[AgentSpec]:
    facts = graph_facts(graph)
    if facts.is_agent:
        yield AgentSpec(name=facts.name or name or "agent", instructions=facts.instructions, tools=facts.tools)
        return
    for key, node in facts.nodes.items():
        if node.graph is not None and depth < 8:
            yield from _roster(node.graph, name=key, depth=depth + 1)
        elif node.kind is NodeKind.AGENT or (node.kind is NodeKind.FUNCTION and facts.is_plain):
            yield AgentSpec(name=node.agent)


class ScopeKind(Enum):
    """Role of a runnable in a team."""

    GRAPH = "graph"
    NODE = "node"
    """A node of a graph, or a task of the functional API."""
    TOOL = "tool"
    OTHER = "other"
    """A prompt, a sequence, a function that routes, a middleware."""


@dataclass(slots=True, eq=False)
class Scope:
    """One runnable that is open; LangChain knows it by its run id."""

    kind: ScopeKind
    name: str
    parent: Scope | None
    node: str = ""
    """LangGraph's name of the node that it is, or is part of."""
    namespace: str = ""
    """LangGraph's id of the task that it is, or is part of."""
    inputs: Any = None
    facts: GraphFacts | None = None
    """Of a graph."""
    agent: AgentInvocation | None = None
    """The agent's turn that this graph or node is, once something happened in it."""
    tool: ToolInvocation | None = None
    asker: AgentInvocation | None = None
    """Of a tool call: the turn that asked for it."""
    held_agent: bool = False
    """Whether an agent had its turn inside."""
    pending: list[tuple[AgentInvocation, str | None, int]] = field(default_factory=list)
    """Of a node: turns inside that are over; they end with the node, which knows where control goes."""
    reply: ChatReply | None = None
    """Of a node: what the model said last inside."""
    routed: set[tuple[str, str]] = field(default_factory=set)
    """Of a node: what its routers answered, and the nodes that this means."""
    start_ns: int = field(default_factory=lambda: time.time_ns())

    @property
    def graph(self) -> Scope | None:
        """The graph around this scope."""
        return next((scope for scope in self.ancestors() if scope.kind is ScopeKind.GRAPH), None)

    def ancestors(self) -> Iterator[Scope]:
        """The scopes around this one, innermost first."""
        scope = self.parent
        while scope is not None:
            yield scope
            scope = scope.parent

    @property
    def node_facts(self) -> NodeFacts | None:
        """Facts known beforehand of the node that this is, or is part of."""
        graph = self.graph
        return graph.facts.nodes.get(self.node) if graph is not None and graph.facts is not None else None

    @property
    def is_agent(self) -> bool:
        """Tell whether it is a graph that is one agent."""
        return self.kind is ScopeKind.GRAPH and self.facts is not None and self.facts.is_agent

    @property
    def is_own_node(self) -> bool:
        """Tell whether it is a node of a team, rather than of an agent's own loop."""
        return self.kind is ScopeKind.NODE and not (self.graph is not None and self.graph.is_agent)

    @property
    def own_node(self) -> Scope | None:
        """The nearest node of a team around this scope."""
        return next((scope for scope in self.ancestors() if scope.is_own_node), None)


def recipient(scope: Scope, output: object) -> str | None:
    """The agent that the turn in node ``scope`` hands over to: by ``Command(goto=...)``, or by a router's answer.

    A conditional edge counts only where the model's reply names the destination: other routers look at the state, and
    then no agent chose.
    """
    for name, outside in destinations(output):
        agent = agent_at(scope, name, outside=outside)
        if agent is not None and _is_hand_over(scope.reply, name, agent):
            return agent
    for answer, name in scope.routed:
        agent = agent_at(scope, name)
        if agent is not None and len(scope.routed) == 1 and _reply_names(scope.reply, answer, name, agent):
            return agent
    return None


def agent_at(scope: Scope, name: str, *, outside: bool = False) -> str | None:
    """The agent at node ``name``, looked for in the graph around ``scope``, then further out; None for other nodes."""
    if name in (END, START, scope.node):
        return None
    known = False
    for around in scope.ancestors():
        facts = around.facts if around.kind is ScopeKind.GRAPH else None
        if facts is None:
            continue
        node = facts.nodes.get(name)
        if node is not None:
            return None if node.kind is NodeKind.TOOLS else node.agent
        known = known or not facts.is_agent
    return name if outside or not known else None


def note_route(scope: Scope, answer: object) -> None:
    """Remember what a router of the node around ``scope`` answered."""
    node = scope.parent
    if node is None or node.kind is not ScopeKind.NODE or node.graph is None or node.graph.facts is None:
        return
    ends = node.graph.facts.routers.get(node.node, {}).get(scope.name)
    if ends is None:
        return
    for item in answer if isinstance(answer, (list, tuple)) else [answer]:
        name = node_name(item)
        target = ends.get(item, name) if isinstance(item, (str, bool, int)) else name
        if target is not None:
            node.routed.add((str(item) if name is None else name, target))


def _is_hand_over(reply: ChatReply | None, name: str, agent: str) -> bool:
    """Tell whether ``goto`` is a hand-over: not when it goes off to have the reply's tool calls executed."""
    return reply is None or not reply.tool_calls or _reply_names(reply, name, name, agent)


def _reply_names(reply: ChatReply | None, answer: str, *names: str) -> bool:
    if reply is None:
        return False
    reply_text = "\n".join([reply.content, *(f"{call.name} {state_text(call.arguments)}" for call in reply.tool_calls)])
    if reply_text.strip().lower() == answer.strip().lower():
        return True
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", reply_text, re.IGNORECASE) for name in names)
