"""The intervene seam at the tool call: results that are supplied, changed or recorded, in AutoGen's own types."""

from __future__ import annotations

import functools
from typing import Any

from tracer_hooks import semconv
from tracer_hooks.frameworks import ToolReply, ToolRequest, after_tool, before_tool
from tracer_hooks.schema import to_json_value, to_text
from tracer_hooks.telemetry import ToolInvocation, enclosing_agent
from tracer_hooks_autogen._autogen import types
from tracer_hooks_autogen._home import Home

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


def show_supplied_text(original: Any, homes: list[Home]) -> Any:
    """Replaces ``return_value_as_string`` of tools whose own would not know what to do with a :class:`SuppliedText`."""

    @functools.wraps(original)
    def return_value_as_string(value: Any) -> str:
        return str(value) if isinstance(value, SuppliedText) else original(value)

    return return_value_as_string


def tool_request(call: ToolInvocation, arguments: Any) -> ToolRequest:
    """What the run's intervention is told about a call."""
    agent = enclosing_agent(call, call.run)
    return ToolRequest(
        agent=agent.spec.name if agent is not None else call.run.name,
        name=call.name,
        arguments=to_json_value(arguments),
        call_id=call.attributes.get(semconv.TOOL_CALL_ID),
        step=call.step,
    )
