"""The managers of teams: what ``SelectorGroupChat`` and ``MagenticOneGroupChat`` ask a model to decide who speaks next.

A manager is no participant; it answers messages of the runtime. A turn is opened for such a message when, and only
when, the manager calls its model while it handles it, and ends with whom it picked.
"""

from __future__ import annotations

import functools
from contextvars import ContextVar
from typing import Any

from tracer_hooks.frameworks import guard
from tracer_hooks.schema import AgentSpec, to_text
from tracer_hooks.telemetry import AgentInvocation, RunInvocation, current_invocation
from tracer_hooks_autogen._autogen import types
from tracer_hooks_autogen._home import Home, parent_in, run_for
from tracer_hooks_autogen._layers import put_layer

_DECIDING = frozenset({"GroupChatStart", "GroupChatAgentResponse", "GroupChatTeamResponse"})
"""The messages (private classes in 0.7) after which a manager picks the next speaker."""
_REQUEST = "GroupChatRequestPublish"
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

    def picked(self, speaker: str) -> None:
        """Note who speaks next; without a model call there was no decision to record."""
        if self.turn is not None:
            self.turn.hand_off(speaker)

    def stop(self) -> None:
        """End the operation, if there is one."""
        if self.turn is not None:
            self.turn.stop()

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


def observe_new_managers(original: Any, homes: list[Home]) -> Any:
    """Replaces ``_create_group_chat_manager_factory``, which a team calls when it first runs."""

    @functools.wraps(original)
    def create_factory(*args: Any, **kwargs: Any) -> Any:
        factory = original(*args, **kwargs)

        def observed_factory() -> Any:
            manager = factory()
            with guard("observe a team's manager"):
                for home in list(homes):
                    observe_manager(manager, home)
            return manager

        return observed_factory

    return create_factory


def observe_manager(manager: Any, home: Home) -> None:
    """Observe a manager that has a model; one without a model (round robin, swarm) decides nothing of its own."""
    if any(isinstance(value, types().model_client) for value in vars(manager).values()):
        put_layer(manager, "on_message_impl", "manager", _observe_handling(manager), home=home)
        put_layer(manager, "publish_message", "manager", _observe_picks(manager), home=home)


async def find_manager(team: Any) -> Any:
    """The manager of a team that has run before."""
    from autogen_core import AgentId

    agent_id = AgentId(type=team._group_chat_manager_topic_type, key=team._team_id)
    return await team._runtime.try_get_underlying_agent_instance(agent_id)


def _observe_handling(manager: Any) -> Any:
    def make(original: Any, homes: list[Home]) -> Any:
        @functools.wraps(original)
        async def on_message_impl(message: Any, ctx: Any) -> Any:
            run = run_for(homes) if type(message).__name__ in _DECIDING else None
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
                handling.stop()

        return on_message_impl

    return make


def _observe_picks(manager: Any) -> Any:
    def make(original: Any, homes: list[Home]) -> Any:
        @functools.wraps(original)
        async def publish_message(message: Any, topic_id: Any, *args: Any, **kwargs: Any) -> Any:
            handling = _handling.get()
            if handling is not None and type(message).__name__ == _REQUEST:
                with guard("record whom the manager picked"):
                    for name, topic in manager._participant_name_to_topic_type.items():
                        if topic == topic_id.type:
                            handling.picked(to_text(name))
            return await original(message, topic_id, *args, **kwargs)

        return publish_message

    return make
