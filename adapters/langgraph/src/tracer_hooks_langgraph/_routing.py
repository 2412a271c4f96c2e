"""To whom a node passes control, and whether it was its agent that decided so."""

from __future__ import annotations

import re

from tracer_hooks.telemetry import ChatReply
from tracer_hooks_langgraph._graph_facts import END, START, NodeKind
from tracer_hooks_langgraph._scopes import Scope, ScopeKind
from tracer_hooks_langgraph._state import destinations, node_name, state_text


def recipient(scope: Scope, output: object) -> str | None:
    """The agent that the turn in node ``scope`` hands over to: by ``Command(goto=...)``, or by a router's answer.

    A conditional edge counts only where the model's reply names the destination: other routers look at the state, and
    then no agent chose.
    """
    for name, outside in destinations(output):
        agent = agent_at(scope, name, outside=outside)
        if agent is not None and _is_meant(scope.reply, name, agent):
            return agent
    for answer, name in scope.routed:
        agent = agent_at(scope, name)
        if agent is not None and len(scope.routed) == 1 and _names(scope.reply, answer, name, agent):
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


def _is_meant(reply: ChatReply | None, name: str, agent: str) -> bool:
    """Whether ``goto`` is a hand-over: not when it goes off to have the reply's tool calls executed."""
    return reply is None or not reply.tool_calls or _names(reply, name, name, agent)


def _names(reply: ChatReply | None, answer: str, *names: str) -> bool:
    if reply is None:
        return False
    said = "\n".join([reply.content, *(f"{call.name} {state_text(call.arguments)}" for call in reply.tool_calls)])
    if said.strip().lower() == answer.strip().lower():
        return True
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said, re.IGNORECASE) for name in names)
