"""Turns: every call of a participant or of an inner team is an operation, and so is every decision of a manager.

A manager is no participant; it answers messages of the runtime. A turn is opened for such a message when, and only
when, the manager calls its model while it handles it, and ends with whom it picked.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from functools import partial
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
    text_message,
)
from tracer_hooks_autogen._convert import conversions_of, team_text
from tracer_hooks_autogen._members import RosterEntry, types
from tracer_hooks_autogen._patching import HookedTeam, parent_in, patch_method, run_for

_DECISION_MESSAGES = frozenset({"GroupChatStart", "GroupChatAgentResponse", "GroupChatTeamResponse"})
"""The messages (private classes in 0.7) after which a manager picks the next speaker."""
_SPEAK_REQUEST = "GroupChatRequestPublish"
"""The message by which it asks that one to speak."""


class ManagerTurn:
    """A message that a manager handles; becomes an operation with the first model call."""

    def __init__(self, run: RunInvocation, name: str) -> None:
        self.run = run
        self.name = name
        self.outer = current_invocation()
        self.turn: AgentInvocation | None = None

    def open(self) -> AgentInvocation:
        """The operation, opened if need be."""
        if self.turn is None:
            self.turn = AgentInvocation(self.run, AgentSpec(name=self.name), parent=parent_in(self.run))
        return self.turn

    def fail(self, error: BaseException) -> None:
        """End it with an error; a manager that fails without a model call (``selector_func``) has acted as well."""
        with guard("record a manager's failure"):
            if self.turn is not None or (isinstance(error, Exception) and not self.run.is_known(error)):
                self.open().fail(error)


_handling: ContextVar[ManagerTurn | None] = ContextVar("tracer_hooks_autogen.manager", default=None)


def manager_turn(run: RunInvocation) -> AgentInvocation | None:
    """The manager's turn, when the calling code is a manager's and not that of an agent which the manager called."""
    handling = _handling.get()
    if handling is not None and handling.run is run and current_invocation() is handling.outer:
        return handling.open()
    return None


def observe_new_managers(original: Any, hooked_teams: list[HookedTeam]) -> Any:
    """Replaces ``_create_group_chat_manager_factory``, which a team calls when it first runs."""

    def create_factory(*args: Any, **kwargs: Any) -> Any:
        factory = original(*args, **kwargs)

        def observed_factory() -> Any:
            manager = factory()
            with guard("observe a team's manager"):
                for hooked_team in list(hooked_teams):
                    observe_manager(manager, hooked_team)
            return manager

        return observed_factory

    return create_factory


def observe_manager(manager: Any, hooked_team: HookedTeam) -> None:
    """Observe a manager that has a model; one without a model (round robin, swarm) decides nothing of its own."""
    if any(isinstance(value, types().model_client) for value in vars(manager).values()):
        for name, observe in (("on_message_impl", _observe_handling), ("publish_message", _observe_picks)):
            patch_method(manager, name, "manager", partial(observe, manager), patch_owner=hooked_team)


async def find_manager(team: Any) -> Any:
    """The manager of a team that has run before."""
    from autogen_core import AgentId

    agent_id = AgentId(type=team._group_chat_manager_topic_type, key=team._team_id)
    return await team._runtime.try_get_underlying_agent_instance(agent_id)


def _observe_handling(manager: Any, original: Any, hooked_teams: list[HookedTeam]) -> Any:
    async def on_message_impl(message: Any, ctx: Any) -> Any:
        run = run_for(hooked_teams) if type(message).__name__ in _DECISION_MESSAGES else None
        if run is None:
            return await original(message, ctx)
        handling = ManagerTurn(run, to_text(manager._name))
        token = _handling.set(handling)
        try:
            return await original(message, ctx)
        except BaseException as error:
            handling.fail(error)
            raise
        finally:
            _handling.reset(token)
            if handling.turn is not None:
                handling.turn.stop()

    return on_message_impl


def _observe_picks(manager: Any, original: Any, hooked_teams: list[HookedTeam]) -> Any:
    async def publish_message(message: Any, topic_id: Any, *args: Any, **kwargs: Any) -> Any:
        handling = _handling.get()
        # Without a model call, and so without a turn, there was no decision to record.
        if handling is not None and handling.turn is not None and type(message).__name__ == _SPEAK_REQUEST:
            with guard("record whom the manager picked"):
                for name, topic in manager._participant_name_to_topic_type.items():
                    if topic == topic_id.type:
                        handling.turn.hand_off(to_text(name))
        return await original(message, topic_id, *args, **kwargs)

    return publish_message


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
            chat_messages = [message for message in item.messages if isinstance(message, types().chat_message)]
            self.stop(team_text(chat_messages[-1]) if chat_messages else None)


def observe_stream(profile: RosterEntry, original: Any, hooked_teams: list[HookedTeam]) -> Any:
    """Replaces ``on_messages_stream``, which is what a team calls."""

    def on_messages_stream(*args: Any, **kwargs: Any) -> Any:
        turn = _begin_turn(profile, hooked_teams, _messages_of_call(args, kwargs))
        stream = original(*args, **kwargs)
        return stream if turn is None else drive_async(stream, turn, on_item=turn.see)

    return on_messages_stream


def observe_call(profile: RosterEntry, original: Any, hooked_teams: list[HookedTeam]) -> Any:
    """Replaces ``on_messages``, which is what ``agent.run`` calls."""

    async def on_messages(*args: Any, **kwargs: Any) -> Any:
        turn = _begin_turn(profile, hooked_teams, _messages_of_call(args, kwargs))
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


def observe_team(team: Any, original: Any, hooked_teams: list[HookedTeam]) -> Any:
    """Replaces the ``run_stream`` of a team inside the team: its agents' turns lie within a turn of its own."""
    spec = AgentSpec(name=team.name)

    def run_stream(*args: Any, **kwargs: Any) -> Any:
        turn = _begin_team_turn(team, spec, hooked_teams, kwargs.get("task"))
        stream = original(*args, **kwargs)
        return stream if turn is None else drive_async(stream, turn, on_item=turn.see_team)

    return run_stream


@guarded("begin an agent's turn", cast("AgentTurn | None", None))
def _begin_turn(profile: RosterEntry, hooked_teams: Sequence[HookedTeam], messages: Sequence[Any]) -> AgentTurn | None:
    run = run_for(hooked_teams)
    if run is None:
        return None
    here = current_invocation()
    # BaseChatAgent.on_messages_stream calls on_messages, AssistantAgent.on_messages calls on_messages_stream.
    if isinstance(here, AgentTurn) and here.subject is profile.agent:
        return None
    return AgentTurn(run, profile.agent, profile.spec(), conversions_of(run).team_messages(messages))


@guarded("begin an inner team's turn", cast("AgentTurn | None", None))
def _begin_team_turn(team: Any, spec: AgentSpec, hooked_teams: Sequence[HookedTeam], task: Any) -> AgentTurn | None:
    run = run_for(hooked_teams)
    if run is None or run.is_subject(team):
        return None
    here = current_invocation()
    if isinstance(here, AgentTurn) and getattr(here.subject, "_team", None) is team:
        return None  # SocietyOfMindAgent: its own turn already stands for the team
    if isinstance(task, str):
        return AgentTurn(run, team, spec, [text_message("user", task)])
    natives = [task] if isinstance(task, types().chat_message) else task or ()
    return AgentTurn(run, team, spec, conversions_of(run).team_messages(natives))


def _messages_of_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
    return args[0] if args else kwargs.get("messages") or ()
