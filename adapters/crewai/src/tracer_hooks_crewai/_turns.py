"""Agents' turns: an agent span around ``execute_task`` and ``kickoff``, and around their asynchronous twins.

CrewAI starts a failed turn over by calling ``execute_task`` again from the ``except`` block of the first call. The
second call is then a retry of the first: its model calls count as attempts at the same step.
"""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tracer_hooks.frameworks import guard
from tracer_hooks.schema import to_text
from tracer_hooks.telemetry import AgentInvocation, Message, RunInvocation, current_run, text_message
from tracer_hooks_crewai import _scope, _signals
from tracer_hooks_crewai._control_flow import is_control_flow, is_failure_policy
from tracer_hooks_crewai._replies import plain_text, to_messages
from tracer_hooks_crewai._roster import agent_spec
from tracer_hooks_crewai._scope import Turn

CoverModels = Callable[[Any], None]
"""Wraps the classes of an agent's models, in case they were made after the team was hooked."""


def task_turn(original: Callable[..., Any], cover: CoverModels) -> Callable[..., Any]:
    """``execute_task``, observed."""

    @functools.wraps(original)
    def execute_task(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = current_run()
        if run is None:
            return original(self, *args, **kwargs)
        with _turn(run, self, _task_inputs(args, kwargs), cover) as ending:
            return ending(original(self, *args, **kwargs))

    return execute_task


def atask_turn(original: Callable[..., Any], cover: CoverModels) -> Callable[..., Any]:
    """``aexecute_task``, observed."""

    @functools.wraps(original)
    async def aexecute_task(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = current_run()
        if run is None:
            return await original(self, *args, **kwargs)
        with _turn(run, self, _task_inputs(args, kwargs), cover) as ending:
            return ending(await original(self, *args, **kwargs))

    return aexecute_task


def kickoff_turn(original: Callable[..., Any], cover: CoverModels) -> Callable[..., Any]:
    """An agent's ``kickoff``, observed. Inside an event loop it only gives the coroutine of ``kickoff_async``."""

    @functools.wraps(original)
    def kickoff(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = current_run()
        if run is None or in_event_loop():
            return original(self, *args, **kwargs)
        with _turn(run, self, _kickoff_inputs(args, kwargs), cover) as ending:
            return ending(original(self, *args, **kwargs))

    return kickoff


def akickoff_turn(original: Callable[..., Any], cover: CoverModels) -> Callable[..., Any]:
    """An agent's ``kickoff_async``, observed."""

    @functools.wraps(original)
    async def kickoff_async(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = current_run()
        if run is None:
            return await original(self, *args, **kwargs)
        with _turn(run, self, _kickoff_inputs(args, kwargs), cover) as ending:
            return ending(await original(self, *args, **kwargs))

    return kickoff_async


def in_event_loop() -> bool:
    """Whether the calling code runs in an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


Inputs = tuple[Any, list[Message]]
"""What a turn is about (a task, or None), and what the agent is handed."""

Ending = Callable[[Any], Any]
"""Takes what the turn gave, and gives it on."""


@contextmanager
def _turn(run: RunInvocation, agent: Any, inputs: Inputs, cover: CoverModels) -> Iterator[Ending]:
    # Taken before anything else: in the ``except`` block of CrewAI's first try this is what made it fail.
    failure = sys.exc_info()[1]
    with guard("look at an agent's models"):
        cover(agent)
    turn = _begin(run, agent, inputs, failure)
    if turn is None:
        yield lambda result: result
        return
    mark, call_mark = _scope.turn.set(turn), _scope.call.set(None)
    try:
        with turn.invocation.active(), _signals.listening():
            yield lambda result: _finish(turn, result)
    except BaseException as error:
        _fail(turn, error)
        raise
    finally:
        _scope.turn.reset(mark)
        _scope.call.reset(call_mark)
        turn.invocation.abandon()  # does nothing where the turn has ended


def _begin(run: RunInvocation, agent: Any, inputs: Inputs, failure: BaseException | None) -> Turn | None:
    with guard("observe an agent's turn"):
        return _begin_turn(run, agent, inputs, failure)
    return None


def _begin_turn(run: RunInvocation, agent: Any, inputs: Inputs, failure: BaseException | None) -> Turn | None:
    task, messages = inputs
    outer = _scope.current_turn()
    if outer is None or outer.agent is not agent or outer.task is not task or outer.invocation.run is not run:
        return Turn(agent, task, AgentInvocation(run, agent_spec(agent), inputs=messages))
    if failure is None:
        return None  # a class whose method calls its base's: one turn
    _fail(outer, failure)
    again = AgentInvocation(
        run, agent_spec(agent), inputs=messages, parent=outer.invocation.parent, retry_of=outer.invocation
    )
    return Turn(agent, task, again, stop=outer.stop)


def _finish(turn: Turn, result: Any) -> Any:
    turn.raise_stop()
    with guard("end an agent's turn"):
        _close_tools(turn, None)
        turn.invocation.stop(plain_text(result))
    return result


def _fail(turn: Turn, error: BaseException) -> None:
    with guard("record the failure of an agent's turn"):
        _close_tools(turn, error)
        if is_control_flow(error):
            turn.invocation.abandon()
            return
        if is_failure_policy(error):  # the tool call says it already; it is no further step
            turn.invocation.run.mark_error_seen(error, turn.invocation)
        turn.invocation.fail(error)


def _close_tools(turn: Turn, error: BaseException | None) -> None:
    """End calls whose post hook never fired, since another hook or CrewAI's failure policy stopped them."""
    for tool in turn.tools:
        if error is not None and not is_control_flow(error):
            tool.fail(error)
        tool.abandon()
    turn.tools.clear()


def _task_inputs(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inputs:
    task = args[0] if args else kwargs.get("task")
    context = args[1] if len(args) > 1 else kwargs.get("context")
    with guard("read what an agent is handed"):
        text = to_text(getattr(task, "description", None) or "")
        return task, [text_message("user", f"{text}\n\n{context}" if context else text)]
    return task, []


def _kickoff_inputs(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inputs:
    with guard("read what an agent is handed"):
        return None, list(to_messages(args[0] if args else kwargs.get("messages")))
    return None, []
