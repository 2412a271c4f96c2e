"""What is going on in the calling code: which agent's turn, and which model or tool call inside it.

Context variables, so that it follows CrewAI into its threads and tasks (1.15 copies the context into every one).
"""

from __future__ import annotations

import threading
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from tracer_hooks.schema import Usage
from tracer_hooks.telemetry import AgentInvocation, ChatInvocation, RequestedTool, ToolInvocation


@dataclass(eq=False)
class Turn:
    """An agent's turn in progress."""

    agent: Any
    task: Any
    invocation: AgentInvocation
    requested: list[RequestedTool] = field(default_factory=list)
    """Tools that the last reply asked for and that have not been called yet."""
    tools: list[ToolInvocation] = field(default_factory=list)
    """Tool calls that a pre hook opened and no post hook has closed yet."""
    stop: BaseException | None = None
    """An error that has to end the run, met where CrewAI swallows every exception."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take_requested(self, name: str, arguments: Any) -> RequestedTool | None:
        """The model's request for this tool call, which is then no longer open."""
        with self.lock:
            named = [call for call in self.requested if call.name == name]
            found = next((call for call in named if call.arguments == arguments), named[0] if len(named) == 1 else None)
            if found is not None:
                self.requested.remove(found)
            return found

    def raise_stop(self) -> None:
        """Raise what has to end the run."""
        if self.stop is not None:
            raise self.stop


@dataclass(eq=False)
class OpenChat:
    """A model call in progress, and what CrewAI's events say about it."""

    llm: Any
    invocation: ChatInvocation
    usage: Usage | None = None
    finish_reason: str | None = None
    response_id: str | None = None


@dataclass(eq=False)
class OpenTool:
    """A tool call in progress: one logical call, which CrewAI may attempt several times."""

    invocation: ToolInvocation
    previous: Any
    """The OpenTelemetry context to go back to."""
    outer: OpenChat | OpenTool | None
    turn: Turn | None = None
    attempts: int = 0
    running: bool = False
    error: BaseException | None = None
    request: Any = None
    supplied: Any = None


turn: ContextVar[Turn | None] = ContextVar("tracer_hooks_crewai_turn", default=None)
call: ContextVar[OpenChat | OpenTool | None] = ContextVar("tracer_hooks_crewai_call", default=None)
listening: ContextVar[bool] = ContextVar("tracer_hooks_crewai_listening", default=False)


def current_turn() -> Turn | None:
    """The turn that the calling code is part of, unless it has ended."""
    found = turn.get()
    return found if found is not None and not found.invocation.ended else None
