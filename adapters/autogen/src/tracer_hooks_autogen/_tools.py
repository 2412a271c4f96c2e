"""Tool calls: tools, workbenches (MCP) and executed code, observed, with the intervene seam."""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any, cast

from tracer_hooks import semconv
from tracer_hooks.frameworks import ToolReply, ToolRequest, after_tool, before_tool, guard, guarded
from tracer_hooks.schema import to_json_value, to_text
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


async def run_under_intervention(call: ToolInvocation, tool: Any, original: Any, bound: dict[str, Any]) -> Any:
    """``run_json`` with the run's intervention asked before and after; ends the call."""
    request = tool_request(call, bound["args"])
    answer = before_tool(call.run, request)
    value: Any = _NOTHING
    failure: Exception | None = None
    if isinstance(answer, ToolReply):
        reply = answer
    else:
        if answer is not None:
            request = answer
            bound = {**bound, "args": answer.arguments}
            call.set(semconv.TOOL_CALL_ARGUMENTS, answer.arguments)
        try:
            with call.active():
                value = await original(**bound)
            reply = ToolReply(content=to_text(tool.return_value_as_string(value)))
        except Exception as error:
            failure = error
            reply = ToolReply(content=to_text(error), is_error=True)
    final = after_tool(call.run, request, reply)
    if final is reply and failure is not None:
        call.fail(failure)
        raise failure
    call.stop(final.content, error=final.content if final.is_error else None)
    # A hand-off's tool is called without any protection: an exception there would end the run.
    if final.is_error and semconv.TRANSFER_TARGET not in call.attributes:
        raise SuppliedError(final.content)
    return value if final is reply and value is not _NOTHING else SuppliedText(final.content)


async def call_under_intervention(call: ToolInvocation, original: Any, bound: dict[str, Any]) -> Any:
    """``call_tool`` of a workbench likewise."""
    request = tool_request(call, bound["arguments"])
    answer = before_tool(call.run, request)
    result: Any = None
    if isinstance(answer, ToolReply):
        reply = answer
    else:
        if answer is not None:
            request = answer
            bound = {**bound, "arguments": answer.arguments}
            call.set(semconv.TOOL_CALL_ARGUMENTS, answer.arguments)
        with call.active():
            result = await original(**bound)
        reply = ToolReply(content=to_text(result.to_text()), is_error=bool(result.is_error))
    final = after_tool(call.run, request, reply)
    call.stop(final.content, error=final.content if final.is_error else None)
    if final is reply and result is not None:
        return result
    known = types()
    texts = [known.text_result(content=final.content)]
    return known.tool_result(name=bound["name"], result=texts, is_error=final.is_error)


def show_supplied_text(original: Any, hooked_teams: list[HookedTeam]) -> Any:
    """Replaces ``return_value_as_string`` of tools whose own would not know what to do with a :class:`SuppliedText`."""

    def return_value_as_string(value: Any) -> str:
        return str(value) if isinstance(value, SuppliedText) else original(value)

    return return_value_as_string


def tool_request(call: ToolInvocation, arguments: Any) -> ToolRequest:
    """Return the request that the run's intervention is given for a call."""
    agent = enclosing_agent(call, call.run)
    return ToolRequest(
        agent=agent.spec.name if agent is not None else call.run.name,
        name=call.name,
        arguments=to_json_value(arguments),
        call_id=call.attributes.get(semconv.TOOL_CALL_ID),
        step=call.step,
    )


CODE_EXECUTION = "execute_code"
"""The name under which an execution is recorded."""


def observe_execution(original: Any, hooked_teams: list[HookedTeam]) -> Any:
    """Replaces ``execute_code_block`` of a ``CodeExecutorAgent``."""

    async def execute_code_block(code_blocks: Any, cancellation_token: Any) -> Any:
        call = _begin_execution(hooked_teams, code_blocks)
        if call is None:
            return await original(code_blocks, cancellation_token)
        try:
            if call.run.intervention is not None:
                return await _execute_under_intervention(call, original, code_blocks, cancellation_token)
            with call.active():
                result = await original(code_blocks, cancellation_token)
        except BaseException as error:
            call.fail(error)
            raise
        with guard("record what code gave"):
            call.stop(result.output, error=result.output if result.exit_code else None)
        return result

    return execute_code_block


@guarded("begin to record an execution of code", cast("ToolInvocation | None", None))
def _begin_execution(hooked_teams: Sequence[HookedTeam], code_blocks: Sequence[Any]) -> ToolInvocation | None:
    run = run_for(hooked_teams)
    agent = enclosing_agent(None, run) if run is not None else None
    # Without a model the agent runs what others wrote: that is its whole turn, and already a step.
    if run is None or agent is None or agent.last_step is None:
        return None
    arguments = {"code": [block.code for block in code_blocks]}
    return ToolInvocation(run, CODE_EXECUTION, arguments=arguments, parent=parent_in(run))


async def _execute_under_intervention(
    call: ToolInvocation, original: Any, code_blocks: Any, cancellation_token: Any
) -> Any:
    """Run the code with the run's intervention asked before and after; the code itself cannot be changed."""
    request = tool_request(call, call.attributes[semconv.TOOL_CALL_ARGUMENTS])
    answer = before_tool(call.run, request)
    result: Any = None
    if isinstance(answer, ToolReply):
        reply = answer
    else:
        with call.active():
            result = await original(code_blocks, cancellation_token)
        reply = ToolReply(content=to_text(result.output), is_error=bool(result.exit_code))
    final = after_tool(call.run, request, reply)
    call.stop(final.content, error=final.content if final.is_error else None)
    if final is reply and result is not None:
        return result
    from autogen_core.code_executor import CodeResult

    return CodeResult(exit_code=1 if final.is_error else 0, output=final.content)


def observe_tool(tool: Any, original: Any, hooked_teams: list[HookedTeam]) -> Any:
    """Replaces ``run_json``, where every tool call of a static workbench, and every hand-off, ends up."""

    async def run_json(*args: Any, **kwargs: Any) -> Any:
        call = _begin_call(tool, hooked_teams, _bind_run_json(args, kwargs))
        if call is None:
            return await original(*args, **kwargs)
        try:
            if call.run.intervention is not None:
                return await run_under_intervention(call, tool, original, _bind_run_json(args, kwargs))
            with call.active():
                value = await original(*args, **kwargs)
        except BaseException as error:
            call.fail(error)
            raise
        with guard("record a tool's result"):
            call.stop(tool.return_value_as_string(value))
        return value

    return run_json


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
        try:
            if call.run.intervention is not None:
                return await call_under_intervention(call, original, bound)
            with call.active():
                result = await original(*args, **kwargs)
        except BaseException as error:
            call.fail(error)
            raise
        with guard("record a tool's result"):
            text = result.to_text()
            call.stop(text, error=text if result.is_error else None)
        return result

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

        try:
            value = await run_under_intervention(call, tool, run_through, bound)
        except BaseException as error:
            call.fail(error)
            raise
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
