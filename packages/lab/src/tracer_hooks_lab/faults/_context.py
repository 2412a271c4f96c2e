"""What a mutator or a writer knows about the step that it changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tracer_hooks.errors import FaultError
from tracer_hooks.extension import cached_property
from tracer_hooks.frameworks import ModelRequest
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
        """What the other agents wrote before the step, oldest first."""
        return tuple(u for u in self.history if not u.is_tool_result and u.agent != self.agent and u.text.strip())

    @cached_property
    def own(self) -> tuple[Utterance, ...]:
        """The agent's own earlier replies, oldest first."""
        return tuple(u for u in self.history if not u.is_tool_result and u.agent == self.agent)

    @cached_property
    def tool_results(self) -> tuple[Utterance, ...]:
        """What tools returned before the step, oldest first."""
        return tuple(u for u in self.history if u.is_tool_result)

    @cached_property
    def teammates(self) -> tuple[str, ...]:
        """Names of the other agents: the roster's, then any that spoke."""
        names = [*(spec.name for spec in self.roster), *(u.agent for u in self.others)]
        return tuple(name for name in dict.fromkeys(names) if name != self.agent)

    def with_reply(self, reply: ChatReply) -> FaultContext:
        """The same with another reply."""
        return replace(self, reply=reply)


def context_of_step(trajectory: Trajectory, step: int) -> FaultContext:
    """What was known at ``step`` of a recorded run.

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
    """What is known when an agent asks its model, before any reply."""
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
