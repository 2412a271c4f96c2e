"""Tool calls: ``run_json`` of the tools, ``call_tool`` of workbenches that run tools elsewhere (MCP)."""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

from tracer_hooks import semconv
from tracer_hooks.frameworks import guard, guarded
from tracer_hooks.schema import to_text
from tracer_hooks.telemetry import ToolInvocation, current_invocation, drive_async, enclosing_agent
from tracer_hooks_autogen._autogen import types
from tracer_hooks_autogen._home import Home, parent_in, run_for
from tracer_hooks_autogen._intervene_tool import call_under_intervention, run_under_intervention
from tracer_hooks_autogen._layers import Make
from tracer_hooks_autogen._members import handoff_target
from tracer_hooks_autogen._turns import AgentTurn


def observe_tool(tool: Any) -> Make:
    """Replaces ``run_json``, where every tool call of a static workbench, and every hand-off, ends up."""

    def make(original: Any, homes: list[Home]) -> Any:
        @functools.wraps(original)
        async def run_json(*args: Any, **kwargs: Any) -> Any:
            call = _begin_call(tool, homes, _bound(args, kwargs))
            if call is None:
                return await original(*args, **kwargs)
            try:
                if call.run.intervention is not None:
                    return await run_under_intervention(call, tool, original, _bound(args, kwargs))
                with call.active():
                    value = await original(*args, **kwargs)
            except BaseException as error:
                call.fail(error)
                raise
            with guard("record a tool's result"):
                call.stop(tool.return_value_as_string(value))
            return value

        return run_json

    return make


def observe_tool_stream(tool: Any) -> Make:
    """Replaces ``run_json_stream``, by which ``AgentTool`` and ``TeamTool`` pass on what happens inside them."""

    def make(original: Any, homes: list[Home]) -> Any:
        @functools.wraps(original)
        def run_json_stream(*args: Any, **kwargs: Any) -> Any:
            call = _begin_call(tool, homes, _bound(args, kwargs))
            if call is None:
                return original(*args, **kwargs)
            return _stream(call, tool, original, _bound(args, kwargs))

        return run_json_stream

    return make


def observe_workbench(workbench: Any) -> Make:
    """Replaces ``call_tool``, which gives a result that says itself whether it is an error."""

    def make(original: Any, homes: list[Home]) -> Any:
        @functools.wraps(original)
        async def call_tool(*args: Any, **kwargs: Any) -> Any:
            bound = _bound_call(args, kwargs)
            call = _begin_named_call(to_text(bound["name"]), homes, bound["arguments"], bound["call_id"])
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

    return make


def keep_context(tool: Any) -> Make:
    """Replaces ``run`` of a tool made from a plain function, so that spans opened in the function nest in ours.

    AutoGen 0.7 runs such functions in an executor thread without their context variables.
    """
    function_tool = types().function_tool

    def make(original: Any, homes: list[Home]) -> Any:
        @functools.wraps(original)
        async def run(args: Any, cancellation_token: Any) -> Any:
            if not isinstance(current_invocation(), ToolInvocation):
                return await original(args, cancellation_token)
            context = contextvars.copy_context()
            twin = object.__new__(type(tool))
            twin.__dict__.update(tool.__dict__)
            twin._func = functools.partial(context.run, tool._func)
            return await function_tool.run(twin, args, cancellation_token)

        return run

    return make


def loses_context(tool: Any) -> bool:
    """Whether :func:`keep_context` fits the tool: AutoGen's own ``run`` around a plain function."""
    known = types()
    function = getattr(tool, "_func", None)  # private in 0.7
    plain = callable(function) and not asyncio.iscoroutinefunction(function)
    return isinstance(tool, known.function_tool) and type(tool).run is known.function_tool.run and plain


async def _stream(call: ToolInvocation, tool: Any, original: Any, bound: dict[str, Any]) -> AsyncIterator[Any]:
    last: list[Any] = [None]
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

    def keep(item: Any) -> None:
        last[0] = item

    items = drive_async(original(**bound), call, on_item=keep)
    try:
        async for item in items:
            yield item
    finally:
        await items.aclose()
    with guard("record a tool's result"):
        call.stop(tool.return_value_as_string(last[0]))


@guarded("begin a tool call", cast("ToolInvocation | None", None))
def _begin_call(tool: Any, homes: Sequence[Home], bound: dict[str, Any]) -> ToolInvocation | None:
    call = _begin_named_call(tool.name, homes, bound["args"], bound["call_id"])
    if call is not None:
        call.set(semconv.TOOL_DESCRIPTION, tool.description)
        _note_hand_off(call, tool)
    return call


@guarded("begin a tool call", cast("ToolInvocation | None", None))
def _begin_named_call(name: str, homes: Sequence[Home], arguments: Any, call_id: str | None) -> ToolInvocation | None:
    run = run_for(homes)
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


def _bound(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of ``run_json`` by name."""
    return {"call_id": None, **dict(zip(("args", "cancellation_token", "call_id"), args, strict=False)), **kwargs}


def _bound_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of ``call_tool`` by name."""
    names = ("name", "arguments", "cancellation_token", "call_id")
    return {"arguments": None, "call_id": None, **dict(zip(names, args, strict=False)), **kwargs}
