"""One run as LangChain's callbacks tell it: turns of agents, model calls and tool calls.

Who is an agent:

1. A sub-graph that is one agent, as ``create_agent`` and ``create_react_agent`` make them. Its name is the graph's, else
   that of the node which holds it. Its inner nodes are no agents.
2. A node in which a chat model runs.
3. A node without model that returns a new ``AIMessage``, or a message that bears a name, or that raises.
4. Where the state holds no messages at all: every node, by what it returns. Nodes that only route, and nodes that execute
   tools, are none.

A turn is opened by the first thing that happens in it, with the start time of its node, since only then is it known that
the node is an agent.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.errors import GraphBubbleUp, ParentCommand

from tracer_hooks import semconv
from tracer_hooks.schema import AgentSpec
from tracer_hooks.telemetry import (
    INTERRUPTED,
    AgentInvocation,
    ChatInvocation,
    ChatReply,
    Invocation,
    Message,
    RunInvocation,
    ToolInvocation,
    message_text,
    text_message,
)
from tracer_hooks_langgraph._convert import content_text, requested_tools, to_message
from tracer_hooks_langgraph._graph_facts import START, GraphFacts, NodeKind, graph_facts
from tracer_hooks_langgraph._routing import agent_at, note_route, recipient
from tracer_hooks_langgraph._scopes import Scope, ScopeKind
from tracer_hooks_langgraph._state import (
    as_mapping,
    destinations,
    is_speech,
    messages_in,
    state_messages,
    state_text,
    updates,
)


class Observation:
    """What is known of one run while it lasts."""

    def __init__(self, run: RunInvocation) -> None:
        self.run = run
        self.chats: dict[UUID, ChatInvocation] = {}
        self._scopes: dict[UUID, Scope] = {}
        self._chat_scopes: dict[UUID, Scope | None] = {}
        self._messages: dict[int, tuple[object, Message]] = {}
        self._askers: dict[str, AgentInvocation] = {}
        self._called: set[str] = set()
        self._failed: dict[str, AgentInvocation] = {}
        self._lock = threading.RLock()

    # --- graphs, nodes and other runnables -------------------------------------------------------------------------
    def enter(self, run_id: UUID, parent_id: UUID | None, name: str, inputs: Any, graph: Any, metadata: Any) -> bool:
        """A runnable starts; ``graph`` is the compiled graph that was about to start. True if it is this one."""
        known = metadata or {}
        parent = self._scopes.get(parent_id) if parent_id is not None else None
        namespace = known.get("langgraph_checkpoint_ns") or ""
        # Every task has a namespace of its own, and all that runs in it shares that.
        is_node = bool(namespace) and (parent is None or namespace != parent.namespace)
        is_graph = graph is not None and (not is_node or graph.get_name() == name)
        kind = ScopeKind.GRAPH if is_graph else ScopeKind.NODE if is_node else ScopeKind.OTHER
        facts = graph_facts(graph) if is_graph else None
        if kind is ScopeKind.OTHER and known.get("lc_agent_name") == name and not (parent and parent.is_agent):
            kind, facts = ScopeKind.GRAPH, GraphFacts(True, name, True)  # the graphs' entry points could not be patched
        scope = Scope(kind, name, parent)
        scope.namespace, scope.node, scope.facts = namespace, known.get("langgraph_node") or "", facts
        if kind is not ScopeKind.OTHER:
            scope.inputs = inputs
        self._scopes[run_id] = scope
        return is_graph

    def leave(self, run_id: UUID, output: Any) -> None:
        """A runnable ends."""
        scope = self._scopes.pop(run_id, None)
        if scope is None:
            return
        if scope.kind is ScopeKind.OTHER:
            note_route(scope, output)
        elif scope.kind is ScopeKind.NODE:
            self._leave_node(scope, output)
        elif scope.is_agent:
            self._leave_agent(scope, output)

    def break_off(self, run_id: UUID, error: BaseException) -> None:
        """A runnable ends with an exception, which may be the framework's way to say where to go on."""
        scope = self._scopes.pop(run_id, None)
        if scope is None or scope.kind is ScopeKind.OTHER:
            return
        if isinstance(error, ParentCommand):
            command = error.args[0] if error.args else None
            if scope.kind is ScopeKind.NODE:
                self._leave_node(scope, command)
            elif scope.is_agent:
                self._end_turn(scope, scope.agent, None)
        elif isinstance(error, GraphBubbleUp):
            self._close_pending(scope)
            if scope.agent is not None:
                scope.agent.abandon(INTERRUPTED)
        else:
            self._fail(scope, error)

    def _fail(self, scope: Scope, error: BaseException) -> None:
        self._close_pending(scope)
        if scope.agent is None and scope.is_own_node and not scope.held_agent and isinstance(error, Exception):
            if self.run.is_known(error):
                return
            self._turn(scope)
        if scope.agent is not None:
            scope.agent.fail(error)
            self._failed[scope.namespace] = scope.agent

    def _leave_agent(self, scope: Scope, output: Any) -> None:
        said = [message for message in state_messages(output) if is_speech(message)]
        text = message_text(self.convert(said[-1])) if said else None
        if scope.agent is None and said and not _among(said[-1], state_messages(scope.inputs)):
            self._turn(scope)
        self._end_turn(scope, scope.agent, text)

    def _end_turn(self, scope: Scope, agent: AgentInvocation | None, text: str | None) -> None:
        """End the turn of an agent's graph: now, or with the node around it, which says who is next."""
        if agent is None:
            return
        node = scope.own_node
        if node is not None and scope.graph is node.graph:
            node.pending.append((agent, text, time.time_ns()))
        else:
            agent.stop(text)

    def _close_pending(self, scope: Scope, next_agent: str | None = None) -> None:
        for agent, text, end_ns in scope.pending:
            if next_agent is not None and agent is scope.pending[-1][0] and next_agent != agent.spec.name:
                agent.hand_off(next_agent)
            agent.stop(text, end_ns=end_ns)
        scope.pending = []

    def _leave_node(self, scope: Scope, output: Any) -> None:
        messages = messages_in(output)
        for message in messages:
            if isinstance(message, ToolMessage):
                self._late_tool(scope, message)
        if not scope.is_own_node:
            return
        next_agent = recipient(scope, output)
        self._close_pending(scope, next_agent)
        new = [message for message in messages if is_speech(message)]
        new = [message for message in new if not _among(message, state_messages(scope.inputs))]
        text = self._spoken(scope, output, new)
        if scope.agent is None and not scope.held_agent and self._is_deterministic_agent(scope, text):
            self._turn(scope)
        if scope.agent is not None:
            if next_agent is not None and next_agent != scope.agent.spec.name:
                scope.agent.hand_off(next_agent)
            scope.agent.stop(text)
            self._expect_tools(scope.agent, new)

    def _spoken(self, scope: Scope, output: Any, new: Sequence[Any]) -> str | None:
        """What a node gave to the team: the text of its last message, or its update where there are no messages."""
        if new:
            return message_text(self.convert(new[-1]))
        if _has_messages(scope):
            return None
        found = [update for update in updates(output) if update != {} and update != []]
        return state_text(found[0] if len(found) == 1 else found) if found else None

    @staticmethod
    def _is_deterministic_agent(scope: Scope, text: str | None) -> bool:
        if text is None or scope.node == START:
            return False
        graph = scope.graph
        facts = graph.facts.nodes.get(scope.node) if graph is not None and graph.facts is not None else None
        return facts is None or facts.kind is not NodeKind.TOOLS

    def _expect_tools(self, agent: AgentInvocation, messages: Sequence[Any]) -> None:
        """A node without model may ask for tools too, by an ``AIMessage`` that it wrote itself."""
        for message in messages:
            for call in requested_tools(message) if isinstance(message, BaseMessage) else ():
                if call.id and call.id not in self._askers and agent.last_step is not None:
                    self.run.expect_tool(agent, call.id, agent.last_step)
                    self._askers[call.id] = agent

    # --- turns -----------------------------------------------------------------------------------------------------
    def _agent_for(self, scope: Scope | None, messages: Sequence[Message] = (), tools: Sequence[str] = ()) -> AgentInvocation | None:
        """The turn that something which starts in ``scope`` belongs to; opened if this is the first thing in it."""
        while scope is not None:
            if scope.kind is ScopeKind.TOOL and scope.asker is not None:
                return scope.asker
            if scope.is_agent or scope.is_own_node:
                return self._turn(scope, messages, tools)
            scope = scope.parent
        return None

    def _turn(self, scope: Scope, messages: Sequence[Message] = (), tools: Sequence[str] = ()) -> AgentInvocation:
        with self._lock:
            if scope.agent is not None:
                return scope.agent
            for outer in scope.ancestors():
                outer.held_agent = True
            scope.agent = AgentInvocation(
                self.run,
                self._spec(scope, messages, tools),
                inputs=self._inputs(scope),
                parent=self._around(scope.parent),
                retry_of=self._failed.pop(scope.namespace, None),
                start_ns=scope.start_ns,
            )
            return scope.agent

    def _spec(self, scope: Scope, messages: Sequence[Message], tools: Sequence[str]) -> AgentSpec:
        system = messages[0] if messages and messages[0].get("role") == "system" else None
        instructions = message_text(system) if system is not None else None
        facts = scope.facts
        if facts is None:
            name = scope.node if scope.node != START else scope.name
            return AgentSpec(name=name or self.run.name, instructions=instructions, tools=tuple(tools))
        instructions = instructions if messages else facts.instructions
        name = facts.name or scope.node or "agent"
        return AgentSpec(name=name, instructions=instructions, tools=tuple(tools) or facts.tools)

    def _inputs(self, scope: Scope) -> list[Message]:
        messages = state_messages(scope.inputs)
        if messages:
            return [self.convert(message) for message in messages]
        if isinstance(scope.inputs, str):
            return [text_message("user", scope.inputs)]
        values = as_mapping(scope.inputs).items()
        return [text_message("user", state_text({key: value})) for key, value in values if value is not None]

    def _around(self, scope: Scope | None) -> Invocation:
        """The open operation around what starts in ``scope``."""
        while scope is not None:
            inner = scope.tool or scope.agent
            if inner is not None and not inner.ended:
                return inner
            scope = scope.parent
        return self.run

    # --- model calls -----------------------------------------------------------------------------------------------
    def open_chat(
        self, run_id: UUID, parent_id: UUID | None, messages: Sequence[Message], model: str, attributes: dict[str, Any],
        tools: Sequence[str],
    ) -> None:
        """A model is called."""
        scope = self._scopes.get(parent_id) if parent_id is not None else None
        agent = self._agent_for(scope, messages, tools)
        self.chats[run_id] = ChatInvocation(
            self.run,
            model,
            messages=messages,
            agent=agent,
            parent=self._around(scope) if agent is not None else None,
            attributes=attributes,
        )
        self._chat_scopes[run_id] = scope

    def close_chat(self, run_id: UUID, reply: ChatReply) -> None:
        """A model answered."""
        chat, scope = self.chats.pop(run_id, None), self._chat_scopes.pop(run_id, None)
        if chat is None:
            return
        for call in reply.tool_calls:
            if call.id:
                self._askers[call.id] = chat.agent
                self._called.discard(call.id)
        node = scope if scope is not None and scope.is_own_node else scope.own_node if scope is not None else None
        if node is not None:
            node.reply = reply
        chat.stop(reply)

    def fail_chat(self, run_id: UUID, error: BaseException) -> None:
        """A model call failed, was cancelled or broken off."""
        chat = self.chats.pop(run_id, None)
        self._chat_scopes.pop(run_id, None)
        if chat is not None:
            chat.fail(error)

    def convert(self, message: object) -> Message:
        """``message`` in our shape; each message object is converted once in a run."""
        known = self._messages.get(id(message))
        if known is None:
            known = self._messages[id(message)] = (message, to_message(message))  # kept, so that its id stays its own
        return known[1]

    def requester(self, call_id: str | None) -> tuple[str, int | None]:
        """The agent that asked for a tool call, and the step in which it did."""
        asker = self._askers.get(call_id) if call_id else None
        if asker is None:
            return self.run.name, None
        step, owner = self.run.step_of_tool(asker, call_id)
        return owner, step

    # --- tool calls ------------------------------------------------------------------------------------------------
    def open_tool(
        self, run_id: UUID, parent_id: UUID | None, name: str, arguments: Any, call_id: str | None, description: str | None
    ) -> ToolInvocation:
        """A tool is called."""
        around = self._scopes.get(parent_id) if parent_id is not None else None
        call_id = call_id or self._meant_call(around, name, arguments)
        asker = self._askers.get(call_id) if call_id else None
        if asker is None and not self._executes_tools(around):
            asker = self._agent_for(around)
        scope = Scope(ScopeKind.TOOL, name, around)
        if around is not None:
            scope.node, scope.namespace = around.node, around.namespace
        scope.asker = asker
        scope.tool = ToolInvocation(
            self.run,
            name,
            arguments=arguments,
            call_id=call_id,
            parent=self._around(around),
            attributes={semconv.TOOL_DESCRIPTION: description} if description else None,
        )
        if call_id:
            self._called.add(call_id)
        self._scopes[run_id] = scope
        return scope.tool

    def supplied_tool(self, name: str, arguments: Any, call_id: str | None, content: str, is_error: bool) -> None:
        """A tool call was answered by an intervention instead of the tool."""
        asker = self._askers.get(call_id) if call_id else None
        parent = asker if asker is not None and not asker.ended else self.run
        tool = ToolInvocation(self.run, name, arguments=arguments, call_id=call_id, parent=parent)
        if call_id:
            self._called.add(call_id)
        tool.stop(content, error=content if is_error else None)

    def close_tool(self, run_id: UUID, output: Any) -> None:
        """A tool gave its result."""
        scope = self._scopes.pop(run_id, None)
        if scope is None or scope.tool is None:
            return
        self._pass_control(scope, output)
        texts = [content_text(message.content) for message in messages_in(output) if isinstance(message, ToolMessage)]
        if isinstance(output, ToolMessage):
            text = content_text(output.content)
            scope.tool.stop(text, error=text if output.status == "error" else None)
        elif destinations(output) or texts:
            scope.tool.stop("\n".join(texts) or None)
        else:
            scope.tool.stop(content_text(output) if isinstance(output, (str, list)) else state_text(output))

    def fail_tool(self, run_id: UUID, error: BaseException) -> None:
        """A tool raised."""
        scope = self._scopes.pop(run_id, None)
        if scope is None or scope.tool is None:
            return
        if isinstance(error, ParentCommand):
            self._pass_control(scope, error.args[0] if error.args else None)
            scope.tool.stop()
        elif isinstance(error, GraphBubbleUp):
            scope.tool.abandon(INTERRUPTED)
        else:
            scope.tool.fail(error)

    def _pass_control(self, scope: Scope, output: Any) -> None:
        for name, outside in destinations(output):
            agent = agent_at(scope, name, outside=outside)
            if agent is not None and scope.tool is not None:
                scope.tool.hand_off(agent)
                return

    def _late_tool(self, scope: Scope, message: ToolMessage) -> None:
        """A result that no tool callback announced: an unknown tool, refused arguments, a node that calls functions."""
        asker = self._askers.get(message.tool_call_id)
        if asker is None or message.tool_call_id in self._called:
            return
        self._called.add(message.tool_call_id)
        tool = ToolInvocation(
            self.run,
            message.name or "unknown",
            arguments=self._asked_arguments(scope, message.tool_call_id),
            call_id=message.tool_call_id,
            parent=self._around(scope),
            start_ns=scope.start_ns,
        )
        text = content_text(message.content)
        tool.stop(text, error=text if message.status == "error" else None)

    @staticmethod
    def _asked_arguments(scope: Scope, call_id: str) -> Any:
        inputs = scope.inputs if isinstance(scope.inputs, list) else [as_mapping(scope.inputs).get("tool_call")]
        for call in inputs:  # create_agent sends each tool call to its tools node by itself
            if isinstance(call, Mapping) and call.get("id") == call_id:
                return call.get("args")
        for message in reversed(state_messages(scope.inputs)):
            for requested in requested_tools(message) if isinstance(message, BaseMessage) else ():
                if requested.id == call_id:
                    return requested.arguments
        return None

    def _meant_call(self, scope: Scope | None, name: str, arguments: Any) -> str | None:
        """The requested call that a node executes by hand (``tool.invoke(call["args"])``), which loses its id."""
        node = scope if scope is None or scope.kind is ScopeKind.NODE else scope.own_node
        messages = state_messages(node.inputs) if node is not None else ()
        last = messages[-1] if messages else None
        for call in requested_tools(last) if isinstance(last, BaseMessage) else ():
            if call.id and call.id not in self._called and call.name == name and call.arguments == arguments:
                return call.id
        return None

    @staticmethod
    def _executes_tools(scope: Scope | None) -> bool:
        if scope is None or not scope.is_own_node:
            return False
        graph = scope.graph
        facts = graph.facts.nodes.get(scope.node) if graph is not None and graph.facts is not None else None
        return facts is not None and facts.kind is NodeKind.TOOLS


def _has_messages(scope: Scope) -> bool:
    graph = scope.graph
    declared = graph is not None and graph.facts is not None and graph.facts.has_messages
    return declared or bool(state_messages(scope.inputs))


def _among(message: Any, earlier: Sequence[Any]) -> bool:
    """Whether a message was in the state before."""
    ident = getattr(message, "id", None)
    return any(other is message or (ident and getattr(other, "id", None) == ident) for other in earlier)
