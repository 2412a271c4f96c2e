"""Agents' turns: every call of a participant, or of an inner team, becomes one operation."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, cast

from tracer_hooks import semconv
from tracer_hooks.frameworks import guard, guarded
from tracer_hooks.schema import AgentSpec, to_text
from tracer_hooks.telemetry import (
    AgentInvocation,
    Message,
    RequestedTool,
    RunInvocation,
    ToolInvocation,
    current_invocation,
    drive_async,
)
from tracer_hooks_autogen._autogen import types
from tracer_hooks_autogen._convert import conversions_of, team_text
from tracer_hooks_autogen._home import Home, parent_in, run_for
from tracer_hooks_autogen._layers import Make
from tracer_hooks_autogen._members import Profile


class AgentTurn(AgentInvocation):
    """A turn that knows whose it is, and which tools it asked for.

    Attributes:
        subject: The agent, or the inner team.
        requested: The tool calls of the last model reply, by call id.
        executed: Ids of the calls that were seen to be carried out.
    """

    def __init__(self, run: RunInvocation, subject: Any, spec: AgentSpec, inputs: Sequence[Message]) -> None:
        self.subject = subject
        self.requested: dict[str, RequestedTool] = {}
        self.executed: set[str] = set()
        super().__init__(run, spec, inputs=inputs, parent=parent_in(run))
        self.set(semconv.AGENT_DESCRIPTION, subject.description)

    def see(self, item: Any) -> None:
        """Look at what the agent yields: its response ends the turn."""
        known = types()
        kind = type(item)  # not isinstance: messages are pydantic models, whose check is slow, and there are many
        if kind is known.response:
            self.respond(item)
        elif kind is known.tool_execution and item.source == self.spec.name:
            self.note_results(item.content)

    def respond(self, response: Any) -> None:
        """End the turn with the agent's response."""
        message = response.chat_message
        if isinstance(message, types().handoff_message):
            self.hand_off(to_text(message.target))
        self.stop(team_text(message))

    def note_results(self, results: Sequence[Any]) -> None:
        """Record the calls that never reached a tool: unknown names, arguments that are not JSON."""
        for result in results:
            if result.call_id in self.executed:
                continue
            self.executed.add(result.call_id)
            asked = self.requested.get(result.call_id)
            arguments = asked.arguments if asked is not None else None
            call = ToolInvocation(
                self.run, to_text(result.name), arguments=arguments, call_id=result.call_id, parent=self
            )
            call.stop(result.content, error=result.content if result.is_error else None)

    def see_team(self, item: Any) -> None:
        """Look at what an inner team yields: its result ends the turn."""
        if isinstance(item, types().task_result):
            said = [message for message in item.messages if isinstance(message, types().chat_message)]
            self.stop(team_text(said[-1]) if said else None)


def observe_stream(profile: Profile) -> Make:
    """Replaces ``on_messages_stream``, which is what a team calls."""

    def make(original: Any, homes: list[Home]) -> Any:
        @functools.wraps(original)
        def on_messages_stream(*args: Any, **kwargs: Any) -> Any:
            turn = _begin_turn(profile, homes, _messages(args, kwargs))
            stream = original(*args, **kwargs)
            return stream if turn is None else drive_async(stream, turn, on_item=turn.see)

        return on_messages_stream

    return make


def observe_call(profile: Profile) -> Make:
    """Replaces ``on_messages``, which is what ``agent.run`` calls."""

    def make(original: Any, homes: list[Home]) -> Any:
        @functools.wraps(original)
        async def on_messages(*args: Any, **kwargs: Any) -> Any:
            turn = _begin_turn(profile, homes, _messages(args, kwargs))
            if turn is None:
                return await original(*args, **kwargs)
            try:
                with turn.active():
                    response = await original(*args, **kwargs)
            except BaseException as error:
                turn.fail(error)
                raise
            with guard("record an agent's response"):
                for event in response.inner_messages or ():
                    turn.see(event)
                turn.respond(response)
            return response

        return on_messages

    return make


def observe_team(team: Any) -> Make:
    """Replaces the ``run_stream`` of a team inside the team: its agents' turns lie within a turn of its own."""
    spec = AgentSpec(name=team.name)

    def make(original: Any, homes: list[Home]) -> Any:
        @functools.wraps(original)
        def run_stream(*args: Any, **kwargs: Any) -> Any:
            turn = _begin_team_turn(team, spec, homes, kwargs.get("task"))
            stream = original(*args, **kwargs)
            return stream if turn is None else drive_async(stream, turn, on_item=turn.see_team)

        return run_stream

    return make


@guarded("begin an agent's turn", cast("AgentTurn | None", None))
def _begin_turn(profile: Profile, homes: Sequence[Home], messages: Sequence[Any]) -> AgentTurn | None:
    run = run_for(homes)
    if run is None:
        return None
    here = current_invocation()
    # BaseChatAgent.on_messages_stream calls on_messages, AssistantAgent.on_messages calls on_messages_stream.
    if isinstance(here, AgentTurn) and here.subject is profile.agent:
        return None
    return AgentTurn(run, profile.agent, profile.spec(), conversions_of(run).team_messages(messages))


@guarded("begin an inner team's turn", cast("AgentTurn | None", None))
def _begin_team_turn(team: Any, spec: AgentSpec, homes: Sequence[Home], task: Any) -> AgentTurn | None:
    run = run_for(homes)
    if run is None or run.is_subject(team):
        return None
    here = current_invocation()
    if isinstance(here, AgentTurn) and getattr(here.subject, "_team", None) is team:
        return None  # SocietyOfMindAgent: its own turn already stands for the team
    natives = [task] if isinstance(task, types().chat_message) else task
    if isinstance(natives, str):
        inputs = [{"role": "user", "parts": [{"type": "text", "content": to_text(natives)}]}]
    else:
        inputs = conversions_of(run).team_messages(natives or ())
    return AgentTurn(run, team, spec, inputs)


def _messages(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
    return args[0] if args else kwargs.get("messages") or ()
