"""Decorators ``@agent``, ``@model`` and ``@tool``, which mark the parts of a team that is written in plain Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast, overload

from tracer_hooks._guard import guard
from tracer_hooks.frameworks._instructions import rewritten_instructions
from tracer_hooks.frameworks.plain._calls import Operation, answer_text, with_seam, wrap
from tracer_hooks.frameworks.plain._seams import ModelSeam, ToolSeam, plain_value, with_stream_seam
from tracer_hooks.schema import AgentSpec, Usage, to_json_value
from tracer_hooks.telemetry import (
    AgentInvocation,
    ChatInvocation,
    ChatReply,
    RequestedTool,
    RunInvocation,
    ToolInvocation,
    current_run,
    text_message,
    warn_of_lost_step,
)

_DECLARED: ContextVar[dict[str, str] | None] = ContextVar("tracer_hooks_declared", default=None)


@contextmanager
def declared_agents() -> Iterator[dict[str, str]]:
    """Collects, by name, the instructions of the agents that are declared within the block."""
    found: dict[str, str] = {}
    token = _DECLARED.set(found)
    try:
        yield found
    finally:
        _DECLARED.reset(token)


def declare_agent(name: object, instructions: object) -> None:
    """Note an agent; one whose name or instructions are known in its calls only is passed over."""
    found = _DECLARED.get()
    if found is not None and isinstance(name, str) and isinstance(instructions, str):
        found[name] = instructions


PLACES: dict[str, tuple[str, int] | None] = {}
"""File and line of marked functions, by ``"agent NAME"`` and ``"tool NAME"``; None where several have the name."""


_MOST_PLACES = 10_000
"""Agents may be named anew with every run."""


def _note_place(what: str, function: Callable[..., Any]) -> None:
    if code := getattr(inspect.unwrap(function), "__code__", None):
        place = (code.co_filename, code.co_firstlineno)
        if what in PLACES or len(PLACES) < _MOST_PLACES:
            PLACES[what] = place if PLACES.get(what, place) == place else None


F = TypeVar("F", bound=Callable[..., Any])
Name = str | Callable[..., str]


@overload
def agent(function: F, /) -> F: ...


@overload
def agent(
    *, name: Name | None = None, instructions: Name | None = None, tools: Sequence[str] = ()
) -> Callable[[F], F]: ...


def agent(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: Name | None = None,
    instructions: Name | None = None,
    tools: Sequence[str] = (),
) -> Any:
    """Mark a function or method as one turn of an agent.

    Outside a hooked run it does nothing. A turn without any model call marked by :func:`model` counts as one step.

    Args:
        function: The function, when the decorator is used without arguments.
        name: The agent's name; default the function's. A callable gets the call's arguments, for methods:
            ``name=lambda self, *_: self.name``.
        instructions: The agent's system prompt, or a callable that gives it. Use :func:`tracer_hooks.instructions` in
            the function to receive a rewritten one.
        tools: Names of the tools it may call.
    """

    def decorate(target: F) -> F:
        called = name or target.__name__
        declare_agent(called, instructions)
        if isinstance(called, str):
            _note_place(f"agent {called}", target)

        def begin(run: RunInvocation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AgentInvocation:
            given = bind_arguments(target, args, kwargs).values()
            spec = AgentSpec(
                name=called(*args, **kwargs) if callable(called) else called,
                instructions=instructions(*args, **kwargs) if callable(instructions) else instructions,
                tools=tuple(tools),
            )
            inputs = [text_message("user", answer_text(value)) for value in given if value is not None]
            return AgentInvocation(run, spec, inputs=inputs)

        def end(turn: AgentInvocation, value: Any) -> None:
            turn.stop(None if value is None else answer_text(value))

        shown = called if isinstance(called, str) else target.__name__
        return cast(F, wrap(target, Operation(begin, end, lambda: warn_of_lost_step(shown))))

    return decorate if function is None else decorate(cast(Any, function))


TOOL_NAMES: set[str] = set()
"""Names of all functions that were marked as tools in this process."""


@overload
def tool(function: F, /) -> F: ...


@overload
def tool(*, name: str | None = None) -> Callable[[F], F]: ...


def tool(function: Callable[..., Any] | None = None, /, *, name: str | None = None) -> Any:
    """Mark a function or method as a tool: its arguments, result and exception are recorded; a run can intervene.

    A supplied result is the text, or the value where that is plain data. Nothing intervenes in a generator: its text is
    recorded, and a replay runs it.
    """

    def decorate(target: F) -> F:
        called = name or target.__name__
        TOOL_NAMES.add(called)
        _note_place(f"tool {called}", target)

        def begin(run: RunInvocation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolInvocation:
            return ToolInvocation(run, called, arguments=to_json_value(bind_arguments(target, args, kwargs)))

        def end(call: ToolInvocation, value: Any) -> None:
            call.value = plain_value(value)
            call.stop(answer_text(value))

        return cast(F, wrap(with_seam(target, ToolSeam(target, called)), Operation(begin, end)))

    return decorate if function is None else decorate(cast(Any, function))


@overload
def model(function: F, /) -> F: ...


@overload
def model(*, name: str = "") -> Callable[[F], F]: ...


def model(function: Callable[..., Any] | None = None, /, *, name: str = "") -> Any:
    """Mark the function that calls a language model.

    Its first argument (``self`` left out) is the prompt: text, or messages as ``{"role", "content"}``. It returns text,
    a mapping in the shape of OpenAI's assistant message (``content``, ``tool_calls``, ``usage``), a
    :class:`~tracer_hooks.telemetry.ChatReply`, or an object in the shape of OpenAI's completion or message. A generator
    yields text.

    A supplied reply (of a replay, for one) comes in the shape that the return annotation names, else in that of the
    last real reply. In a new process a function without annotation has shown none: it then gives text, or a mapping
    where the reply calls tools. Annotate functions that return mappings or a client's objects.

    Args:
        function: The function, when the decorator is used without arguments.
        name: The model's name.
    """

    def decorate(target: F) -> F:
        seam = ModelSeam(target, name, to_messages=_prompt, to_reply=_reply)

        def begin(run: RunInvocation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ChatInvocation:
            messages = _prompt(next(iter(bind_arguments(target, args, kwargs).values()), ""))
            return ChatInvocation(run, name or target.__name__, messages=messages)

        def end(call: ChatInvocation, value: Any) -> None:
            call.stop(_reply(value))

        return cast(F, wrap(with_stream_seam(target, seam), Operation(begin, end)))

    return decorate if function is None else decorate(cast(Any, function))


def instructions(agent_name: str, default: str) -> str:
    """The instructions for an agent of a plain Python team: accepted or rewritten ones, else ``default``."""
    run, text = current_run(), default
    if run is not None:
        with guard("look up rewritten instructions"):
            run.add_agent(AgentSpec(name=agent_name, instructions=default))
            text = rewritten_instructions(run.intervention, agent_name, default)
            if text != default:
                run.use_instructions(agent_name, text)
    return text


def hand_off(recipient: str) -> None:
    """Say, inside an agent's turn, that its last step passes control to the agent ``recipient``."""
    from tracer_hooks.telemetry import enclosing_agent

    with guard("record a hand-off"):
        turn = enclosing_agent(None)
        if turn is not None:
            turn.hand_off(recipient)


def bind_arguments(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The call's arguments by parameter name, ``self`` and ``cls`` left out.

    Arguments that the function does not take are given by position or by their own name: the call will fail, and the
    record is to show with what.
    """
    try:
        values = inspect.signature(function).bind_partial(*args, **kwargs).arguments
    except TypeError:
        values = {**{str(position): value for position, value in enumerate(args)}, **kwargs}
    return {name: value for name, value in values.items() if name not in ("self", "cls")}


def _prompt(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_message(item) for item in value]
    return [text_message("user", answer_text(value))]


def _message(item: Any) -> dict[str, Any]:
    if isinstance(item, Mapping) and "role" in item:
        return text_message(str(item["role"]), answer_text(item.get("content")), name=item.get("name"))
    return text_message("user", answer_text(item))


def _reply(value: Any) -> ChatReply:
    if isinstance(value, ChatReply):
        return value
    value = _message_of(value)
    if not isinstance(value, Mapping):
        return ChatReply(content=answer_text(value))
    calls = [_requested_tool(call) for call in value.get("tool_calls") or ()]
    usage = _message_of(value.get("usage"))
    return ChatReply(
        content=answer_text(value.get("content")) if calls or "content" in value else answer_text(value),
        tool_calls=[call for call in calls if call is not None],
        usage=_usage(usage) if isinstance(usage, Mapping) else None,
        finish_reason=value.get("finish_reason"),
        model=value.get("model"),
    )


def _message_of(value: Any) -> Any:
    """An object of a client, such as OpenAI's completion or message, as a mapping in the shape of a message."""
    dump = getattr(value, "model_dump", None)
    data = dump() if callable(dump) else value
    choices = data.get("choices") if isinstance(data, Mapping) else None
    if isinstance(choices, (list, tuple)) and choices and isinstance(choices[0], Mapping):
        message = choices[0].get("message")
        if isinstance(message, Mapping):
            return {"usage": data.get("usage"), "model": data.get("model"), **message}
    return data


def _requested_tool(call: Any) -> RequestedTool | None:
    call = _message_of(call)  # in a mapping of the user's own, calls may be a client's objects
    if not isinstance(call, Mapping):
        return None
    function = call.get("function")
    inner = function if isinstance(function, Mapping) else call
    return RequestedTool(name=str(inner.get("name")), arguments=inner.get("arguments"), id=call.get("id"))


def _usage(usage: Mapping[str, Any]) -> Usage:
    read = usage.get("input_tokens", usage.get("prompt_tokens")) or 0
    written = usage.get("output_tokens", usage.get("completion_tokens")) or 0
    return Usage(input_tokens=_count(read), output_tokens=_count(written))


def _count(tokens: Any) -> int:
    """A number of tokens; what is none counts as none."""
    try:
        return max(0, int(tokens))
    except (TypeError, ValueError, OverflowError):
        return 0
