"""Turns of agents, model calls and tool calls of one run, as LangChain's callbacks tell them.

Agents are:

1. A sub-graph that is one agent, as ``create_agent`` and ``create_react_agent`` make them. Its name is the graph's,
   else that of the node which holds it. Its inner nodes are no agents.
2. A node in which a chat model runs.
3. A node without model that returns a new ``AIMessage``, or a message that bears a name, or that raises.
4. Where the state holds no messages at all: every node, by what it returns. Nodes that only route, and nodes that
   execute tools, are none.

A turn is opened by the first thing that happens in it, with the start time of its node, since only then is it known
that the node is an agent.
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
    RequestedTool,
    RunInvocation,
    ToolInvocation,
    message_text,
    text_message,
)
from tracer_hooks_langgraph._convert import (
    as_mapping,
    content_text,
    destinations,
    is_speech,
    last_speech,
    messages_in,
    requested_tools,
    state_messages,
    state_text,
    to_message,
    updates,
)
from tracer_hooks_langgraph._graphs import (
    START,
    GraphFacts,
    NodeKind,
    Scope,
    ScopeKind,
    agent_at,
    graph_facts,
    note_route,
    recipient,
)


class AgentTurns:
    """The turns of one run."""

    def __init__(self, run: RunInvocation) -> None:
        self.run = run
        self._messages: dict[int, tuple[object, Message]] = {}
        self._failed: dict[str, AgentInvocation] = {}
        self._lock = threading.RLock()

    def owner(
        self, scope: Scope | None, messages: Sequence[Message] = (), tools: Sequence[str] = ()
    ) -> AgentInvocation | None:
        """The turn that something which starts in ``scope`` belongs to; None outside every agent."""
        while scope is not None:
            if scope.kind is ScopeKind.TOOL and scope.asker is not None:
                return scope.asker
            if scope.is_agent or scope.is_own_node:
                return self.open(scope, messages, tools)
            scope = scope.parent
        return None

    def open(self, scope: Scope, messages: Sequence[Message] = (), tools: Sequence[str] = ()) -> AgentInvocation:
        """The turn that a graph or node is; ``messages`` and ``tools`` are those of its first model call."""
        with self._lock:
            if scope.agent is not None:
                return scope.agent
            for outer in scope.ancestors():
                outer.held_agent = True
            scope.agent = AgentInvocation(
                self.run,
                self._spec(scope, messages, tools),
                inputs=self._inputs(scope),
                parent=self.around(scope.parent),
                retry_of=self._failed.pop(scope.namespace, None),
                start_ns=scope.start_ns,
            )
            return scope.agent

    def fail(self, scope: Scope, error: BaseException) -> None:
        """End the turn with an error; the node's task may be tried again."""
        if scope.agent is not None:
            scope.agent.fail(error)
            self._failed[scope.namespace] = scope.agent

    def around(self, scope: Scope | None) -> Invocation:
        """The open operation around what starts in ``scope``."""
        while scope is not None:
            inner = scope.tool or scope.agent
            if inner is not None and not inner.ended:
                return inner
            scope = scope.parent
        return self.run

    def convert(self, message: object) -> Message:
        """``message`` in our shape; each message object is converted once in a run."""
        known = self._messages.get(id(message))
        if known is None:
            known = self._messages[id(message)] = (message, to_message(message))  # kept, so that its id stays its own
        return known[1]

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


class ToolCallsOfRun:
    """The tool calls of one run."""

    def __init__(self, turns: AgentTurns) -> None:
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
        """Tell whether there are tool calls that were asked for and not made yet."""
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
        requested = _request_of_result(scope, call_id)
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


def _request_of_result(scope: Scope, call_id: str) -> RequestedTool | None:
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
    """Tell whether ``scope`` is a node of a team that does nothing but execute tool calls."""
    if scope is None or not scope.is_own_node:
        return False
    node = scope.node_facts
    return node is not None and node.kind is NodeKind.TOOLS


class Observation:
    """State of one run while it lasts."""

    def __init__(self, run: RunInvocation) -> None:
        self.run = run
        self.turns = AgentTurns(run)
        self.tools = ToolCallsOfRun(self.turns)
        self.chats: dict[UUID, ChatInvocation] = {}
        self.pieces: dict[str, tuple[str, ...]] = {}
        """How supplied replies are streamed, by the id of the message."""
        self._chat_scopes: dict[UUID, Scope | None] = {}
        self._scopes: dict[UUID, Scope] = {}
        self._handed_by: dict[str, str] = {}
        self._noted_elsewhere: set[int] = set()

    # --- graphs, nodes and other runnables -------------------------------------------------------------------------
    def enter(
        self, run_id: UUID, parent_id: UUID | None, name: str, inputs: Any, graph: Any, metadata: Mapping[str, Any]
    ) -> bool:
        """A runnable starts; ``graph`` is the compiled graph that was about to start. True if it is this one."""
        parent = self._scope(parent_id)
        namespace = metadata.get("langgraph_checkpoint_ns") or ""
        # Every task has a namespace of its own, and all that runs in it shares that.
        is_node = bool(namespace) and (parent is None or namespace != parent.namespace)
        started = self._graph_that_starts(graph, name, parent, is_node)
        is_graph = started is not None
        kind = ScopeKind.GRAPH if is_graph else ScopeKind.NODE if is_node else ScopeKind.OTHER
        facts = graph_facts(started) if is_graph else None
        if kind is ScopeKind.OTHER and metadata.get("lc_agent_name") == name and not (parent and parent.is_agent):
            kind, facts = ScopeKind.GRAPH, GraphFacts(True, name, True)  # its entry points could not be patched
        scope = Scope(kind, name, parent)
        scope.namespace, scope.node, scope.facts = namespace, metadata.get("langgraph_node") or "", facts
        if kind is not ScopeKind.OTHER:
            scope.inputs = inputs
        self._scopes[run_id] = scope
        return is_graph

    def _graph_that_starts(self, noted: Any, name: str, parent: Scope | None, is_node: bool) -> Any:
        """The compiled graph that a runnable is; ``noted`` is the one that the calling context was told of.

        A node that is streamed, as under ``astream_events``, has its graph called in one context and run in another:
        the graph is then known from the node, and what was noted would be taken for whatever starts next.
        """
        if noted is not None and noted.get_name() == name:
            return noted
        facts = parent.node_facts if parent is not None and parent.kind is ScopeKind.NODE else None
        if facts is not None and facts.graph is not None and facts.graph.get_name() == name:
            self._noted_elsewhere.add(id(facts.graph))
            return facts.graph
        is_called_otherwise = noted is not None and not is_node  # by a ``run_name``
        return noted if is_called_otherwise and id(noted) not in self._noted_elsewhere else None

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
            if scope.kind is ScopeKind.NODE:
                self._leave_node(scope, error.args[0])
            elif scope.is_agent:
                _end_turn(scope, scope.agent, None)
            return
        _close_pending(scope)
        if isinstance(error, GraphBubbleUp):
            if scope.agent is not None:
                scope.agent.abandon(INTERRUPTED)
        else:
            self._fail(scope, error)

    def _fail(self, scope: Scope, error: BaseException) -> None:
        unheard = scope.agent is None and scope.is_own_node and not scope.held_agent
        if unheard and isinstance(error, Exception) and not self.run.is_known(error):
            self.turns.open(scope)
        self.turns.fail(scope, error)

    def _leave_agent(self, scope: Scope, output: Any) -> None:
        speech = last_speech(state_messages(output))
        text = message_text(self.turns.convert(speech)) if speech is not None else None
        if scope.agent is None and speech is not None and not _is_in(speech, state_messages(scope.inputs)):
            self.turns.open(scope)
        _end_turn(scope, scope.agent, text)

    def _leave_node(self, scope: Scope, output: Any) -> None:
        if self.tools.are_awaited:
            for message in messages_in(output):
                if isinstance(message, ToolMessage):
                    self.tools.late(scope, message)
        if scope.is_own_node:
            next_agent = self._passed_on(scope, recipient(scope, output))
            if scope.pending:
                _close_pending(scope, next_agent)
            if scope.agent is not None or not scope.held_agent:
                self._end_node_turn(scope, output, next_agent)

    def _passed_on(self, scope: Scope, next_agent: str | None) -> str | None:
        """Whom control is handed to; None when it goes back to the agent that it came from, which is a reply."""
        agent = scope.agent if scope.agent is not None else (scope.pending[-1][0] if scope.pending else None)
        if agent is None or next_agent is None:
            return next_agent
        if self._handed_by.pop(agent.spec.name, None) == next_agent:
            return None
        self._handed_by[next_agent] = agent.spec.name
        return next_agent

    def _end_node_turn(self, scope: Scope, output: Any, next_agent: str | None) -> None:
        earlier = state_messages(scope.inputs)
        new = [message for message in messages_in(output) if is_speech(message) and not _is_in(message, earlier)]
        text = self._spoken(scope, output, new)
        if scope.agent is None and text is not None and _may_speak(scope):
            self.turns.open(scope)
        if scope.agent is not None:
            if next_agent is not None and next_agent != scope.agent.spec.name:
                scope.agent.hand_off(next_agent)
            scope.agent.stop(text)
            for message in new:
                self.tools.asked_without_model(scope.agent, message)

    def _spoken(self, scope: Scope, output: Any, new: Sequence[Any]) -> str | None:
        """Return what a node gave to the team: the text of its last message, or its update where it has none."""
        if new:
            return message_text(self.turns.convert(new[-1]))
        if _has_messages(scope):
            return None
        found = [update for update in updates(output) if update not in ({}, [])]
        return state_text(found[0] if len(found) == 1 else found) if found else None

    def _scope(self, run_id: UUID | None) -> Scope | None:
        return self._scopes.get(run_id) if run_id is not None else None

    # --- model calls -----------------------------------------------------------------------------------------------
    def open_chat(
        self,
        run_id: UUID,
        parent_id: UUID | None,
        messages: Sequence[Message],
        model: str,
        *,
        attributes: dict[str, Any],
        tools: Sequence[str],
    ) -> None:
        """A model is called."""
        scope = self._scope(parent_id)
        agent = self.turns.owner(scope, messages, tools)
        self.chats[run_id] = ChatInvocation(
            self.run,
            model,
            messages=messages,
            agent=agent,
            parent=self.turns.around(scope) if agent is not None else None,
            attributes=attributes,
        )
        self._chat_scopes[run_id] = scope

    def close_chat(self, run_id: UUID, reply: ChatReply) -> None:
        """A model answered."""
        chat, scope = self.chats.pop(run_id, None), self._chat_scopes.pop(run_id, None)
        if chat is None:
            return
        for call in reply.tool_calls:
            self.tools.asked(chat.agent, call)
        node = scope if scope is None or scope.is_own_node else scope.own_node
        if node is not None:
            node.reply = reply
        chat.stop(reply)

    def fail_chat(self, run_id: UUID, error: BaseException) -> None:
        """A model call failed, was cancelled or broken off."""
        chat = self.chats.pop(run_id, None)
        self._chat_scopes.pop(run_id, None)
        if chat is not None:
            chat.fail(error)

    # --- tool calls ------------------------------------------------------------------------------------------------
    def open_tool(
        self, run_id: UUID, parent_id: UUID | None, serialized: Mapping[str, Any], arguments: Any, call_id: str | None
    ) -> ToolInvocation | None:
        """A tool is called."""
        scope = self._scopes[run_id] = self.tools.open(self._scope(parent_id), serialized, arguments, call_id)
        return scope.tool

    def close_tool(self, run_id: UUID, output: Any) -> None:
        """A tool gave its result."""
        scope = self._scopes.pop(run_id, None)
        if scope is not None and scope.tool is not None:
            self.tools.close(scope, scope.tool, output)

    def fail_tool(self, run_id: UUID, error: BaseException) -> None:
        """A tool raised."""
        scope = self._scopes.pop(run_id, None)
        if scope is not None and scope.tool is not None:
            self.tools.fail(scope, scope.tool, error)


def _end_turn(scope: Scope, agent: AgentInvocation | None, text: str | None) -> None:
    """End the turn of an agent's graph: now, or with the node around it, which says who is next."""
    if agent is None:
        return
    node = scope.own_node
    if node is not None and scope.graph is node.graph:
        node.pending.append((agent, text, time.time_ns()))
    else:
        agent.stop(text)


def _close_pending(scope: Scope, next_agent: str | None = None) -> None:
    """End the turns inside a node; the last of them may have chosen who is next."""
    for agent, text, end_ns in scope.pending:
        is_last = agent is scope.pending[-1][0]
        if is_last and next_agent is not None and next_agent != agent.spec.name:
            agent.hand_off(next_agent)
        agent.stop(text, end_ns=end_ns)
    scope.pending = []


def _may_speak(scope: Scope) -> bool:
    facts = scope.node_facts
    # In a sub-graph its own nodes speak; when it goes on after an interrupt, they may have done so in an earlier run.
    return scope.node != START and (facts is None or facts.kind not in (NodeKind.TOOLS, NodeKind.GRAPH))


def _has_messages(scope: Scope) -> bool:
    graph = scope.graph
    declared = graph is not None and graph.facts is not None and graph.facts.has_messages
    return declared or bool(state_messages(scope.inputs))


def _is_in(message: Any, earlier: Sequence[Any]) -> bool:
    """Tell whether a message was in the state before."""
    ident = getattr(message, "id", None)
    return any(other is message or (ident and getattr(other, "id", None) == ident) for other in earlier)
