"""Turns of agents, with what goes on in the calling code and what CrewAI's events say of it.

Open turns and calls are context variables, so that they follow CrewAI into its threads and tasks (1.15 copies the
context into every one).

Handlers of the event bus run later, in other threads and out of order. Stream sinks (``crewai.events.stream_context``,
in 1.15.3 and newer) are called inline and only in the context that added them, so nothing is registered globally.

CrewAI starts a failed turn over by calling ``execute_task`` again from the ``except`` block of the first call. The
second call is then a retry of the first: its model calls count as attempts at the same step.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, cast

from tracer_hooks.frameworks import guard, guarded, warn_once
from tracer_hooks.schema import Usage, to_text
from tracer_hooks.telemetry import (
    AgentInvocation,
    ChatInvocation,
    Message,
    RequestedTool,
    RunInvocation,
    ToolInvocation,
    current_run,
    text_message,
)
from tracer_hooks_crewai._convert import agent_spec, plain_text, to_messages


@dataclass(eq=False)
class OpenTurn:
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
    turn: OpenTurn | None = None
    attempts: int = 0
    running: bool = False
    error: BaseException | None = None
    request: Any = None
    supplied: Any = None


open_turn: ContextVar[OpenTurn | None] = ContextVar("tracer_hooks_crewai_turn", default=None)
open_call: ContextVar[OpenChat | OpenTool | None] = ContextVar("tracer_hooks_crewai_call", default=None)
is_listening: ContextVar[bool] = ContextVar("tracer_hooks_crewai_listening", default=False)


def current_turn() -> OpenTurn | None:
    """The turn that the calling code is part of, unless it has ended."""
    found = open_turn.get()
    return found if found is not None and not found.invocation.ended else None


_INPUT_KEYS = ("prompt_tokens", "input_tokens", "prompt_token_count")
_OUTPUT_KEYS = ("completion_tokens", "output_tokens", "candidates_token_count")


@contextmanager
def listen_to_events() -> Iterator[None]:
    """Within the block events reach the open model or tool call."""
    functions = _sink_functions() if not is_listening.get() else None
    if functions is None:
        yield
        return
    add, reset = functions
    token, mark = add(_on_event), is_listening.set(True)
    try:
        yield
    finally:
        with guard("stop listening to CrewAI's events"):
            is_listening.reset(mark)
            reset(token)


def usage_of(counts: Any) -> Usage | None:
    """A provider's token counts, under whichever names it uses; None when there are none."""
    if not isinstance(counts, Mapping):
        return None
    read, written = _first_count(counts, _INPUT_KEYS), _first_count(counts, _OUTPUT_KEYS)
    if read is None and written is None:
        return None
    return Usage(
        input_tokens=read or 0,
        output_tokens=written or 0,
        cache_read_tokens=_first_count(counts, ("cached_prompt_tokens",)) or 0,
        cache_write_tokens=_first_count(counts, ("cache_creation_tokens",)) or 0,
        reasoning_tokens=_first_count(counts, ("reasoning_tokens",)) or 0,
    )


@guarded("read an event of CrewAI", None)
def _on_event(_source: Any, event: Any) -> None:
    reader = _READERS.get(getattr(event, "type", ""))
    current = open_call.get()
    if reader is not None and current is not None:
        reader(current, event)


def _completed(current: OpenChat | OpenTool, event: Any) -> None:
    if isinstance(current, OpenChat):
        usage = usage_of(getattr(event, "usage", None))
        if usage is not None:
            current.usage = usage if current.usage is None else current.usage + usage
        current.finish_reason = getattr(event, "finish_reason", None) or current.finish_reason
        current.response_id = getattr(event, "response_id", None) or current.response_id


def _chunk(current: OpenChat | OpenTool, event: Any) -> None:
    if isinstance(current, OpenChat):
        text = getattr(event, "chunk", "") if getattr(event, "tool_call", None) is None else ""
        current.invocation.chunk(text if isinstance(text, str) else "")


def _tool_error(current: OpenChat | OpenTool, event: Any) -> None:
    if isinstance(current, OpenTool):
        error = getattr(event, "error", None)
        current.error = error if isinstance(error, BaseException) else RuntimeError(str(error))


_READERS: dict[str, Callable[[OpenChat | OpenTool, Any], None]] = {
    "llm_call_completed": _completed,
    "llm_stream_chunk": _chunk,
    "tool_usage_error": _tool_error,
}


def _first_count(counts: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    for key in keys:
        value = counts.get(key)
        if isinstance(value, int) and value >= 0:
            return value
    return None


def _sink_functions() -> tuple[Any, Any] | None:
    try:
        from crewai.events.stream_context import add_stream_sink, reset_stream_sinks
    except ImportError:
        warn_once(
            "crewai stream sinks",
            "tracer-hooks: this CrewAI has no crewai.events.stream_context; token usage is measured per model instead, "
            "and tool errors on the native function-calling path show as results",
        )
        return None
    return add_stream_sink, reset_stream_sinks


def is_control_flow(error: BaseException) -> bool:
    """Tell whether ``error`` says that a hook stopped the work, or that a human has to answer first."""
    return _is_a(error, "HookAborted", "LegacyHookBlocked", "LLMCallBlockedError", "HumanFeedbackPending")


def _is_a(error: BaseException, *names: str) -> bool:
    return any(base.__name__ in names and base.__module__.startswith("crewai") for base in type(error).__mro__)


CoverModels = Callable[[Any], None]
"""Wraps the classes of an agent's models, in case they were made after the team was hooked."""
Inputs = tuple[Any, list[Message]]
"""What a turn is about (a task, or None), and what the agent is handed."""
ReadInputs = Callable[[tuple[Any, ...], dict[str, Any]], Inputs]
"""Reads the inputs of a turn from a method's arguments."""
Ending = Callable[[Any], Any]
"""Takes what the turn gave, and gives it on."""


def observed_turn(original: Callable[..., Any], read_inputs: ReadInputs, cover: CoverModels) -> Callable[..., Any]:
    """Return ``execute_task`` or an agent's ``kickoff``, observed.

    Inside an event loop ``kickoff`` only gives the coroutine of ``kickoff_async``.
    """

    def turn(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = current_run()
        if run is None or (read_inputs is kickoff_inputs and in_event_loop()):
            return original(self, *args, **kwargs)
        with _observe_turn(run, self, read_inputs(args, kwargs), cover) as ending:
            return ending(original(self, *args, **kwargs))

    return turn


def observed_async_turn(
    original: Callable[..., Any], read_inputs: ReadInputs, cover: CoverModels
) -> Callable[..., Any]:
    """Return ``aexecute_task`` or an agent's ``kickoff_async``, observed."""

    async def turn(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = current_run()
        if run is None:
            return await original(self, *args, **kwargs)
        with _observe_turn(run, self, read_inputs(args, kwargs), cover) as ending:
            return ending(await original(self, *args, **kwargs))

    return turn


def within(
    original: Callable[..., Any], enter: Callable[[Any], AbstractContextManager[None]], *, is_async: bool
) -> Callable[..., Any]:
    """A method, each call of which is made inside of what ``enter`` makes of its object."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with enter(self):
            return original(self, *args, **kwargs)

    async def acall(self: Any, *args: Any, **kwargs: Any) -> Any:
        with enter(self):
            return await original(self, *args, **kwargs)

    return acall if is_async else call


def in_event_loop() -> bool:
    """Tell whether the calling code runs in an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@contextmanager
def _observe_turn(run: RunInvocation, agent: Any, inputs: Inputs, cover: CoverModels) -> Iterator[Ending]:
    # Taken before anything else: in the ``except`` block of CrewAI's first try this is what made it fail.
    failure = sys.exc_info()[1]
    with guard("look at an agent's models"):
        cover(agent)
    turn = _begin_turn(run, agent, inputs, failure)
    if turn is None:
        yield lambda result: result
        return
    mark, call_mark = open_turn.set(turn), open_call.set(None)
    try:
        with turn.invocation.active(), listen_to_events():
            yield lambda result: _finish_turn(turn, result)
    except BaseException as error:
        _fail_turn(turn, error)
        raise
    finally:
        open_turn.reset(mark)
        open_call.reset(call_mark)
        turn.invocation.abandon()  # does nothing where the turn has ended


@guarded("observe an agent's turn", cast("OpenTurn | None", None))
def _begin_turn(run: RunInvocation, agent: Any, inputs: Inputs, failure: BaseException | None) -> OpenTurn | None:
    task, messages = inputs
    outer = current_turn()
    if outer is None or outer.agent is not agent or outer.task is not task or outer.invocation.run is not run:
        return OpenTurn(agent, task, AgentInvocation(run, agent_spec(agent), inputs=messages))
    if failure is None:
        return None  # a class whose method calls its base's: one turn
    _fail_turn(outer, failure)
    again = AgentInvocation(
        run, agent_spec(agent), inputs=messages, parent=outer.invocation.parent, retry_of=outer.invocation
    )
    return OpenTurn(agent, task, again, stop=outer.stop)


def _finish_turn(turn: OpenTurn, result: Any) -> Any:
    turn.raise_stop()
    with guard("end an agent's turn"):
        _close_tools(turn, None)
        turn.invocation.stop(plain_text(result))
    return result


def _fail_turn(turn: OpenTurn, error: BaseException) -> None:
    with guard("record the failure of an agent's turn"):
        _close_tools(turn, error)
        if is_control_flow(error):
            turn.invocation.abandon()
            return
        # The crew is to stop at failing tools: the tool call says it already; it is no further step.
        if _is_a(error, "ToolExecutionFailedError"):
            turn.invocation.run.mark_error_seen(error, turn.invocation)
        turn.invocation.fail(error)


def _close_tools(turn: OpenTurn, error: BaseException | None) -> None:
    """End calls whose post hook never fired, since another hook or CrewAI's failure policy stopped them."""
    for tool in turn.tools:
        if error is not None and not is_control_flow(error):
            tool.fail(error)
        tool.abandon()
    turn.tools.clear()


def task_inputs(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inputs:
    """The inputs of ``execute_task``."""
    task = args[0] if args else kwargs.get("task")
    context = args[1] if len(args) > 1 else kwargs.get("context")
    with guard("read what an agent is handed"):
        text = to_text(getattr(task, "description", None) or "")
        return task, [text_message("user", f"{text}\n\n{context}" if context else text)]
    return task, []


def kickoff_inputs(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inputs:
    """The inputs of an agent's ``kickoff``."""
    with guard("read what an agent is handed"):
        return None, list(to_messages(args[0] if args else kwargs.get("messages")))
    return None, []
