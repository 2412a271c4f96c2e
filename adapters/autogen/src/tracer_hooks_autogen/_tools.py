"""Tool calls: tools, workbenches (MCP) and executed code, observed, with the intervene seam."""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, cast

from tracer_hooks import semconv
from tracer_hooks.frameworks import ToolReply, after_tool, before_tool, guard, guarded, tool_request
from tracer_hooks.schema import to_text
from tracer_hooks.telemetry import ToolInvocation, current_invocation, drive_async, enclosing_agent
from tracer_hooks_autogen._members import handoff_target, types
from tracer_hooks_autogen._patching import HookedTeam, parent_in, run_for
from tracer_hooks_autogen._turns import AgentTurn

_NOTHING = object()


class SuppliedText(str):
    """A tool's result in the words that the agent is to read, in place of what the tool returns."""

    __slots__ = ()


class SuppliedError(Exception):
    """Raised in a tool's place, so that AutoGen shows its text to the agent as the tool's error."""


async def _carry_out(
    call: ToolInvocation,
    run: Callable[[], Awaitable[Any]],
    read: Callable[[Any], ToolReply],
    give: Callable[[ToolReply], Any],
    *,
    run_changed: Callable[[Any], Awaitable[Any]] | None = None,
    shows_errors: bool = False,
) -> Any:
    """Carry out a tool call, with the run's intervention asked before and after, and end it.

    Args:
        call: The call, which is open.
        run: Runs the tool.
        read: The reply that a native result is.
        give: The native result that a reply is, in place of the tool's own.
        run_changed: Runs it with other arguments; None where they cannot be changed.
        shows_errors: Whether AutoGen shows what the tool raises to the agent: it is then a reply like any other.
    """
    value: Any = _NOTHING
    try:
        if call.run.intervention is None:
            with call.active():
                value = await run()
            with guard("record a tool's result"):
                _stop(call, read(value))
            return value
        request = tool_request(call)
        answer = before_tool(call.run, request)
        failure: Exception | None = None
        if isinstance(answer, ToolReply):
            reply = answer
        else:
            if answer is not None and run_changed is not None:
                request, run = answer, partial(run_changed, answer.arguments)
                call.set(semconv.TOOL_CALL_ARGUMENTS, answer.arguments)
            try:
                with call.active():
                    value = await run()
                reply = read(value)
            except Exception as error:
                if not shows_errors:
                    raise
                failure, reply = error, ToolReply(content=to_text(error), is_error=True)
        final = after_tool(call.run, request, reply)
        if final is reply and failure is not None:
            raise failure
        _stop(call, final)
        return value if final is reply and value is not _NOTHING else give(final)
    except BaseException as error:
        call.fail(error)
        raise


def _stop(call: ToolInvocation, reply: ToolReply) -> None:
    call.stop(reply.content, error=reply.content if reply.is_error else None)


def show_supplied_text(original: Any, hooked_teams: list[HookedTeam]) -> Any:
    """Replaces ``return_value_as_string`` of tools whose own would not know what to do with a :class:`SuppliedText`."""

    def return_value_as_string(value: Any) -> str:
        return str(value) if isinstance(value, SuppliedText) else original(value)

    return return_value_as_string


CODE_EXECUTION = "execute_code"
"""The name under which an execution is recorded."""


def observe_execution(original: Any, hooked_teams: list[HookedTeam]) -> Any:
    """Replaces ``execute_code_block`` of a ``CodeExecutorAgent``; the code itself cannot be changed."""

    async def execute_code_block(code_blocks: Any, cancellation_token: Any) -> Any:
        call = _begin_execution(hooked_teams, code_blocks)
        run = partial(original, code_blocks, cancellation_token)
        return await run() if call is None else await _carry_out(call, run, _read_code_result, _to_code_result)

    return execute_code_block


def _read_code_result(result: Any) -> ToolReply:
    return ToolReply(content=to_text(result.output), is_error=bool(result.exit_code))


def _to_code_result(reply: ToolReply) -> Any:
    from autogen_core.code_executor import CodeResult

    return CodeResult(exit_code=1 if reply.is_error else 0, output=reply.content)


@guarded("begin to record an execution of code", cast("ToolInvocation | None", None))
def _begin_execution(hooked_teams: Sequence[HookedTeam], code_blocks: Sequence[Any]) -> ToolInvocation | None:
    run = run_for(hooked_teams)
    agent = enclosing_agent(None, run) if run is not None else None
    # Without a model the agent runs what others wrote: that is its whole turn, and already a step.
    if run is None or agent is None or agent.last_step is None:
        return None
    arguments = {"code": [block.code for block in code_blocks]}
    return ToolInvocation(run, CODE_EXECUTION, arguments=arguments, parent=parent_in(run))


def observe_tool(tool: Any, original: Any, hooked_teams: list[HookedTeam]) -> Any:
    """Replaces ``run_json``, where every tool call of a static workbench, and every hand-off, ends up."""

    async def run_json(*args: Any, **kwargs: Any) -> Any:
        bound = _bind_run_json(args, kwargs)
        call = _begin_call(tool, hooked_teams, bound)
        if call is None:
            return await original(*args, **kwargs)
        return await _run_tool(call, tool, partial(original, *args, **kwargs), original, bound)

    return run_json


async def _run_tool(
    call: ToolInvocation, tool: Any, run: Callable[[], Awaitable[Any]], original: Any, bound: dict[str, Any]
) -> Any:
    def read(value: Any) -> ToolReply:
        return ToolReply(content=to_text(tool.return_value_as_string(value)))

    def give(reply: ToolReply) -> SuppliedText:
        # A hand-off's tool is called without any protection: an exception there would end the run.
        if reply.is_error and semconv.TRANSFER_TARGET not in call.attributes:
            raise SuppliedError(reply.content)
        return SuppliedText(reply.content)

    return await _carry_out(
        call, run, read, give, run_changed=lambda args: original(**{**bound, "args": args}), shows_errors=True
    )


def observe_tool_stream(tool: Any, original: Any, hooked_teams: list[HookedTeam]) -> Any:
    """Replaces ``run_json_stream``, by which ``AgentTool`` and ``TeamTool`` pass on what happens inside them."""

    def run_json_stream(*args: Any, **kwargs: Any) -> Any:
        bound = _bind_run_json(args, kwargs)
        call = _begin_call(tool, hooked_teams, bound)
        return original(*args, **kwargs) if call is None else _stream(call, tool, original, bound)

    return run_json_stream


def observe_workbench(workbench: Any, original: Any, hooked_teams: list[HookedTeam]) -> Any:
    """Replaces ``call_tool``, which gives a result that says itself whether it is an error."""

    async def call_tool(*args: Any, **kwargs: Any) -> Any:
        bound = _bind_call_tool(args, kwargs)
        call = _begin_named_call(to_text(bound["name"]), hooked_teams, bound["arguments"], bound["call_id"])
        if call is None:
            return await original(*args, **kwargs)

        def give(reply: ToolReply) -> Any:
            texts = [types().text_result(content=reply.content)]
            return types().tool_result(name=bound["name"], result=texts, is_error=reply.is_error)

        return await _carry_out(
            call,
            partial(original, *args, **kwargs),
            lambda result: ToolReply(content=to_text(result.to_text()), is_error=bool(result.is_error)),
            give,
            run_changed=lambda arguments: original(**{**bound, "arguments": arguments}),
        )

    return call_tool


def keep_context(tool: Any, original: Any, hooked_teams: list[HookedTeam]) -> Any:
    """Replaces ``run`` of a tool made from a plain function, so that spans opened in the function nest in ours.

    AutoGen 0.7 runs such functions in an executor thread without their context variables.
    """
    function_tool = types().function_tool

    async def run(args: Any, cancellation_token: Any) -> Any:
        if not isinstance(current_invocation(), ToolInvocation):
            return await original(args, cancellation_token)
        context = contextvars.copy_context()
        twin = object.__new__(type(tool))
        twin.__dict__.update(tool.__dict__)
        twin._func = partial(context.run, tool._func)
        return await function_tool.run(twin, args, cancellation_token)

    return run


def loses_context(tool: Any) -> bool:
    """Tell whether :func:`keep_context` fits the tool: AutoGen's own ``run`` around a plain function."""
    known = types()
    function = getattr(tool, "_func", None)  # private in 0.7
    plain = callable(function) and not asyncio.iscoroutinefunction(function)
    return isinstance(tool, known.function_tool) and type(tool).run is known.function_tool.run and plain


async def _stream(call: ToolInvocation, tool: Any, original: Any, bound: dict[str, Any]) -> AsyncIterator[Any]:
    if call.run.intervention is not None:
        inside: list[Any] = []

        async def run_through(**arguments: Any) -> Any:
            inside.extend([item async for item in original(**arguments)])
            return inside.pop() if inside else None

        value = await _run_tool(call, tool, partial(run_through, **bound), run_through, bound)
        for item in inside:  # what the agents in the tool said; the last item is the tool's result
            yield item
        yield value
        return

    last: deque[Any] = deque((None,), maxlen=1)
    items = drive_async(original(**bound), call, on_item=last.append)
    try:
        async for item in items:
            yield item
    finally:
        await items.aclose()
    with guard("record a tool's result"):
        call.stop(tool.return_value_as_string(last[0]))


@guarded("begin a tool call", cast("ToolInvocation | None", None))
def _begin_call(tool: Any, hooked_teams: Sequence[HookedTeam], bound: dict[str, Any]) -> ToolInvocation | None:
    call = _begin_named_call(tool.name, hooked_teams, bound["args"], bound["call_id"])
    if call is not None:
        call.set(semconv.TOOL_DESCRIPTION, tool.description)
        _note_hand_off(call, tool)
    return call


@guarded("begin a tool call", cast("ToolInvocation | None", None))
def _begin_named_call(
    name: str, hooked_teams: Sequence[HookedTeam], arguments: Any, call_id: str | None
) -> ToolInvocation | None:
    run = run_for(hooked_teams)
    if run is None:
        return None
    here = current_invocation()
    if isinstance(here, ToolInvocation) and here.attributes.get(semconv.TOOL_CALL_ID) == call_id and call_id:
        return None  # a workbench that runs one of the team's tools
    turn = enclosing_agent(None, run)
    if isinstance(turn, AgentTurn) and call_id:
        turn.executed.add(call_id)
        asked = turn.requested.get(call_id)
        if asked is not None:
            name = asked.name  # StaticWorkbench can show a tool to the model under another name
    plain = dict(arguments) if isinstance(arguments, dict) else arguments
    return ToolInvocation(run, name, arguments=plain, call_id=call_id, parent=parent_in(run))


def _note_hand_off(call: ToolInvocation, tool: Any) -> None:
    runner = getattr(tool, "_task_runner", None)  # AgentTool and TeamTool; private in 0.7
    if runner is not None:
        call.hand_off(to_text(runner.name), returns=True)
        return
    turn = enclosing_agent(call, call.run)
    if not isinstance(turn, AgentTurn):
        return
    target = handoff_target(turn.subject, call.name)
    if target is None:
        return
    # Of several hand-offs in one reply AutoGen follows the first; the others' tools run, but change nothing.
    asked = [other for other in turn.requested.values() if handoff_target(turn.subject, other.name) is not None]
    call_id = call.attributes.get(semconv.TOOL_CALL_ID)
    if not asked or asked[0].id == call_id:
        call.hand_off(target)


def _bind_run_json(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of ``run_json`` by name."""
    return {"call_id": None, **dict(zip(("args", "cancellation_token", "call_id"), args, strict=False)), **kwargs}


def _bind_call_tool(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of ``call_tool`` by name."""
    names = ("name", "arguments", "cancellation_token", "call_id")
    return {"arguments": None, "call_id": None, **dict(zip(names, args, strict=False)), **kwargs}
