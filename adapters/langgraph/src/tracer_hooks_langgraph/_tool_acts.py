"""Tool calls of a run: who asked for them, what came of them, and to whom they pass control."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.errors import GraphBubbleUp, ParentCommand

from tracer_hooks import semconv
from tracer_hooks.telemetry import INTERRUPTED, AgentInvocation, RequestedTool, ToolInvocation
from tracer_hooks_langgraph._convert import content_text, requested_tools
from tracer_hooks_langgraph._graph_facts import NodeKind
from tracer_hooks_langgraph._routing import agent_at
from tracer_hooks_langgraph._scopes import Scope, ScopeKind
from tracer_hooks_langgraph._state import as_mapping, destinations, messages_in, state_messages, state_text
from tracer_hooks_langgraph._turns import Turns


class ToolActs:
    """The tool calls of one run."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._run = turns.run
        self._askers: dict[str, AgentInvocation] = {}
        self._called: set[str] = set()

    # --- asked for -------------------------------------------------------------------------------------------------
    def asked(self, agent: AgentInvocation, call: RequestedTool) -> None:
        """A reply of ``agent`` asked for a tool call."""
        if call.id:
            self._askers[call.id] = agent
            self._called.discard(call.id)  # a scripted model may use its ids again

    def asked_without_model(self, agent: AgentInvocation, message: object) -> None:
        """A node without model asked for tools too, by an ``AIMessage`` that it wrote itself."""
        for call in requested_tools(message) if isinstance(message, BaseMessage) else ():
            if call.id and call.id not in self._askers and agent.last_step is not None:
                self._run.expect_tool(agent, call.id, agent.last_step)
                self.asked(agent, call)

    def requester(self, call_id: str | None) -> tuple[str, int | None]:
        """The agent that asked for a tool call, and the step in which it did."""
        asker = self._askers.get(call_id) if call_id else None
        if asker is None:
            return self._run.name, None
        step, owner = self._run.step_of_tool(asker, call_id)
        return owner, step

    @property
    def are_awaited(self) -> bool:
        """Whether there are tool calls that were asked for and not made yet."""
        return len(self._called) < len(self._askers)

    # --- made ------------------------------------------------------------------------------------------------------
    def open(self, around: Scope | None, serialized: Mapping[str, Any], arguments: Any, call_id: str | None) -> Scope:
        """A tool is called."""
        name, description = str(serialized.get("name") or "tool"), serialized.get("description")
        call_id = call_id or self._meant_call(around, name, arguments)
        asker = self._askers.get(call_id) if call_id else None
        if asker is None and not _executes_tools(around):
            asker = self._turns.owner(around)
        scope = Scope(ScopeKind.TOOL, name, around)
        if around is not None:
            scope.node, scope.namespace = around.node, around.namespace
        scope.asker = asker
        scope.tool = ToolInvocation(
            self._run,
            name,
            arguments=arguments,
            call_id=call_id,
            parent=self._turns.around(around),
            attributes={semconv.TOOL_DESCRIPTION: description} if description else None,
        )
        self._note_call(call_id)
        return scope

    def close(self, scope: Scope, tool: ToolInvocation, output: Any) -> None:
        """A tool gave its result."""
        self._pass_control(scope, tool, output)
        if isinstance(output, ToolMessage):
            text = content_text(output.content)
            tool.stop(text, error=text if output.status == "error" else None)
            return
        texts = [content_text(message.content) for message in messages_in(output) if isinstance(message, ToolMessage)]
        if texts or destinations(output):
            tool.stop("\n".join(texts) or None)
        else:
            tool.stop(content_text(output) if isinstance(output, (str, list)) else state_text(output))

    def fail(self, scope: Scope, tool: ToolInvocation, error: BaseException) -> None:
        """A tool raised."""
        if isinstance(error, ParentCommand):
            self._pass_control(scope, tool, error.args[0])
            tool.stop()
        elif isinstance(error, GraphBubbleUp):
            tool.abandon(INTERRUPTED)
        else:
            tool.fail(error)

    def supplied(self, name: str, arguments: Any, call_id: str | None, content: str, is_error: bool) -> None:
        """A tool call was answered by an intervention instead of the tool."""
        asker = self._askers.get(call_id) if call_id else None
        parent = asker if asker is not None and not asker.ended else self._run
        tool = ToolInvocation(self._run, name, arguments=arguments, call_id=call_id, parent=parent)
        self._note_call(call_id)
        tool.stop(content, error=content if is_error else None)

    def late(self, scope: Scope, message: ToolMessage) -> None:
        """A result that no callback announced: an unknown tool, refused arguments, a node that calls functions."""
        call_id = message.tool_call_id
        if call_id not in self._askers or call_id in self._called:
            return
        self._called.add(call_id)
        requested = _requested(scope, call_id)
        tool = ToolInvocation(
            self._run,
            message.name or (requested.name if requested is not None else "unknown"),
            arguments=requested.arguments if requested is not None else None,
            call_id=call_id,
            parent=self._turns.around(scope),
            start_ns=scope.start_ns,
        )
        text = content_text(message.content)
        tool.stop(text, error=text if message.status == "error" else None)

    def _note_call(self, call_id: str | None) -> None:
        if call_id in self._askers:
            self._called.add(call_id)

    def _pass_control(self, scope: Scope, tool: ToolInvocation, output: Any) -> None:
        for name, outside in destinations(output):
            agent = agent_at(scope, name, outside=outside)
            if agent is not None:
                tool.hand_off(agent)
                return

    def _meant_call(self, scope: Scope | None, name: str, arguments: Any) -> str | None:
        """The requested call that a node executes by hand (``tool.invoke(call["args"])``), which loses its id."""
        node = scope if scope is None or scope.kind is ScopeKind.NODE else scope.own_node
        messages = state_messages(node.inputs) if node is not None else ()
        for call in requested_tools(messages[-1]) if messages and isinstance(messages[-1], BaseMessage) else ():
            if call.id and call.id not in self._called and call.name == name and call.arguments == arguments:
                return call.id
        return None


def _requested(scope: Scope, call_id: str) -> RequestedTool | None:
    """The call that a result answers, in what the node was given."""
    inputs = scope.inputs if isinstance(scope.inputs, list) else [as_mapping(scope.inputs).get("tool_call")]
    for call in inputs:  # create_agent sends each tool call to its tools node by itself
        if isinstance(call, Mapping) and call.get("id") == call_id:
            return RequestedTool(name=str(call.get("name") or "unknown"), arguments=call.get("args"), id=call_id)
    for message in reversed(state_messages(scope.inputs)):
        for requested in requested_tools(message) if isinstance(message, BaseMessage) else ():
            if requested.id == call_id:
                return requested
    return None


def _executes_tools(scope: Scope | None) -> bool:
    """Whether ``scope`` is a node of a team that does nothing but execute tool calls."""
    if scope is None or not scope.is_own_node:
        return False
    node = scope.node_facts
    return node is not None and node.kind is NodeKind.TOOLS
