"""What is known of the step that a fault goes into: of a recorded run, of a request, or of a run under way."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tracer_hooks.errors import FaultError
from tracer_hooks.extension import cached_property
from tracer_hooks.frameworks import ModelRequest, ToolReply, ToolRequest
from tracer_hooks.schema import AgentSpec, Step, Trajectory
from tracer_hooks.telemetry import ChatReply, RequestedTool, message_text


@dataclass(frozen=True, kw_only=True)
class Utterance:
    """Something that was said before the step."""

    agent: str
    """Who said it: an agent's name, ``"user"``, or a tool's name for a result."""
    text: str
    """What was said."""
    step: int | None = None
    """The step that it belongs to, when it is one's output."""
    tool_calls: tuple[RequestedTool, ...] = ()
    """The tools that this reply called."""
    is_tool_result: bool = False
    """Whether it is what a tool returned."""


@dataclass(frozen=True, kw_only=True)
class FaultContext:
    """Everything that was there when the agent replied, and the reply itself."""

    task: str = ""
    """What the team was asked to do."""
    agent: str
    """The agent that replies."""
    step: int = 0
    """The step that it replies at."""
    instructions: str = ""
    """Its system prompt."""
    roster: tuple[AgentSpec, ...] = ()
    """The team's members, as far as known."""
    history: tuple[Utterance, ...] = ()
    """All outputs and tool results before the step, oldest first."""
    shown: tuple[Utterance, ...] = ()
    """What the agent was shown beside its instructions."""
    reply: ChatReply = field(default_factory=ChatReply)
    """Its recorded reply."""

    @cached_property
    def others(self) -> tuple[Utterance, ...]:
        """Utterances of the other agents before the step, oldest first."""
        return tuple(u for u in self.history if not u.is_tool_result and u.agent != self.agent and u.text.strip())

    @cached_property
    def own(self) -> tuple[Utterance, ...]:
        """The agent's own earlier replies, oldest first."""
        return tuple(u for u in self.history if not u.is_tool_result and u.agent == self.agent)

    @cached_property
    def tool_results(self) -> tuple[Utterance, ...]:
        """Results of tools before the step, oldest first."""
        return tuple(u for u in self.history if u.is_tool_result)

    def with_reply(self, reply: ChatReply) -> FaultContext:
        """The same with another reply."""
        return replace(self, reply=reply)


def context_of_step(trajectory: Trajectory, step: int) -> FaultContext:
    """Return what was known at ``step`` of a recorded run.

    Raises:
        FaultError: The run has no such step.
    """
    if not 0 <= step < len(trajectory.steps):
        raise FaultError(
            f"run {trajectory.run_id!r} has no step {step}, expected 0 to {len(trajectory.steps) - 1}. "
            f"Run: tracer-hooks runs show {trajectory.run_id}"
        )
    acted = trajectory.steps[step]
    shown = tuple(Utterance(agent=i.source, text=i.text or "", step=i.step) for i in acted.inputs if i.text)
    return FaultContext(
        task=trajectory.task,
        agent=acted.agent,
        step=step,
        instructions=instructions_of(acted.agent, trajectory.agents),
        roster=trajectory.agents,
        history=said_before(trajectory, step),
        shown=shown,
        reply=reply_of(acted),
    )


def said_before(trajectory: Trajectory, step: int) -> tuple[Utterance, ...]:
    """All outputs and tool results of the steps before ``step``, in order."""
    said: list[Utterance] = []
    for past in trajectory.steps[:step]:
        calls = tuple(RequestedTool(name=c.name, arguments=c.arguments, id=c.call_id) for c in past.tool_calls)
        said.append(Utterance(agent=past.agent, text=past.content, step=past.index, tool_calls=calls))
        said += [
            Utterance(agent=call.name, text=call.result, step=past.index, is_tool_result=True)
            for call in past.tool_calls
            if call.result
        ]
    return tuple(said)


def context_of_request(
    request: ModelRequest, *, task: str, roster: Sequence[AgentSpec], history: Sequence[Utterance]
) -> FaultContext:
    """Return what is known when an agent asks its model, before any reply."""
    system = [message_text(m) for m in request.messages if m.get("role") == "system"]
    shown = tuple(
        Utterance(
            agent=str(m.get("name") or m.get("role")), text=message_text(m), is_tool_result=m.get("role") == "tool"
        )
        for m in request.messages
        if m.get("role") != "system"
    )
    return FaultContext(
        task=task,
        agent=request.agent,
        step=request.step or 0,
        instructions="\n".join(system) or instructions_of(request.agent, roster),
        roster=tuple(roster),
        history=tuple(history),
        shown=shown,
    )


def reply_of(step: Step) -> ChatReply:
    """The model reply that a recorded step holds."""
    calls = tuple(RequestedTool(name=c.name, arguments=c.arguments, id=c.call_id) for c in step.tool_calls)
    return ChatReply(content=step.content, tool_calls=calls)


def instructions_of(agent: str, roster: Sequence[AgentSpec]) -> str:
    """The system prompt of ``agent``, as far as the roster knows it."""
    return next((spec.instructions or "" for spec in roster if spec.name == agent), "")


class SeenRun:
    """Replies and tool results by step, from parallel threads; completed from a recorded run with the same prefix.

    Args:
        trajectory: The recorded run, if any.
        task: What the team was asked, if known.
    """

    def __init__(self, trajectory: Trajectory | None, task: str) -> None:
        self._trajectory = trajectory
        self._task = task or (trajectory.task if trajectory is not None else "")
        self.roster: tuple[AgentSpec, ...] = trajectory.agents if trajectory is not None else ()
        self._lock = threading.Lock()
        self._replies: dict[tuple[str, int | None], Utterance] = {}
        self._results: dict[tuple[int | None, str], Utterance] = {}

    def reply(self, request: ModelRequest, reply: ChatReply) -> None:
        """Keep a reply; that of a call made again takes the place of the earlier one."""
        said = Utterance(agent=request.agent, text=reply.content, step=request.step, tool_calls=tuple(reply.tool_calls))
        with self._lock:
            self._replies[request.agent, request.step] = said

    def tool_result(self, request: ToolRequest, reply: ToolReply) -> None:
        """Keep a tool result."""
        got = Utterance(agent=request.name, text=reply.content, step=request.step, is_tool_result=True)
        with self._lock:
            self._results[request.step, request.call_id or request.digest()] = got

    def before(self, step: int | None) -> tuple[Utterance, ...]:
        """Outputs and tool results before ``step``, in order; all of them when the step is not known."""
        with self._lock:
            seen = [*self._replies.values(), *self._results.values()]
        known = {u.step for u in seen}
        if self._trajectory is not None and step is not None:
            seen += [u for u in said_before(self._trajectory, step) if u.step not in known]
        past = [u for u in seen if step is None or u.step is None or u.step < step]
        return tuple(sorted(past, key=lambda u: (u.step if u.step is not None else -1, u.is_tool_result)))

    def results_of(self, tool: str) -> list[str]:
        """Results of one tool so far, oldest first."""
        with self._lock:
            return [u.text for u in self._results.values() if u.agent == tool]

    def texts(self) -> list[str]:
        """The task and everything that was said."""
        return [self._task, *(u.text for u in self.before(None))]

    def task(self, request: ModelRequest) -> str:
        """Return the team's task as given, else what the user says first in the request."""
        if self._task:
            return self._task
        return next((message_text(m) for m in request.messages if m.get("role") == "user"), "")
