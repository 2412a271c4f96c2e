"""Turns of agents: which one something belongs to, and opening it when the first thing happens in it."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from tracer_hooks.schema import AgentSpec
from tracer_hooks.telemetry import AgentInvocation, Invocation, Message, RunInvocation, message_text, text_message
from tracer_hooks_langgraph._convert import to_message
from tracer_hooks_langgraph._graph_facts import START
from tracer_hooks_langgraph._scopes import Scope, ScopeKind
from tracer_hooks_langgraph._state import as_mapping, state_messages, state_text


class Turns:
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
