"""Tool calls as a ``ToolNode`` makes them: what an intervention is asked before it, and after results of its own.

A ``ToolNode`` words the errors that it handles, refuses arguments and answers for unknown tools; a tool's own code sees
none of that.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from langchain_core.messages import ToolMessage

from tracer_hooks.errors import RecordedFailureError
from tracer_hooks.frameworks import ToolReply, ToolRequest, after_tool, before_tool, guard
from tracer_hooks.schema import to_json_value
from tracer_hooks.telemetry import RunInvocation, current_run
from tracer_hooks_langgraph._callbacks import observation
from tracer_hooks_langgraph._convert import content_text

HAND_OVER = re.compile(r"^(?:transfer|hand_?off)_to_")
"""Tools that answer with a ``Command``, which no text can replace, and that have no side effects; never asked about."""


class Asked:
    """A tool call that an intervention was asked about before a ``ToolNode`` made it."""

    __slots__ = ("done", "failure", "node", "request")

    def __init__(self, request: ToolRequest, node: Any, failure: Exception | None = None) -> None:
        self.request = request
        self.node = node
        self.failure = failure
        """What is to be raised in place of the tool's own code."""
        self.done = False
        """Whether it was asked about the result too."""


asked_call: ContextVar[Asked | None] = ContextVar("tracer_hooks_asked_tool_call", default=None)


def wrap_run_one(original: Callable[..., Any]) -> Callable[..., Any]:
    """A replacement for ``ToolNode._run_one``."""

    @functools.wraps(original)
    def run_one(self: Any, call: Any, *args: Any, **kwargs: Any) -> Any:
        run, asked, answer = _ask_first(self, call)
        if run is None or asked is None:
            return original(self, call, *args, **kwargs)
        if isinstance(answer, ToolReply):
            return _supply(run, asked.request, answer)
        outer = asked_call.get()
        asked_call.set(asked)
        try:
            result = original(self, _changed_call(call, answer), *args, **kwargs)
        finally:
            asked_call.set(outer)
        return _ask_last(run, asked, result)

    return run_one


def wrap_arun_one(original: Callable[..., Any]) -> Callable[..., Any]:
    """A replacement for ``ToolNode._arun_one``."""

    @functools.wraps(original)
    async def arun_one(self: Any, call: Any, *args: Any, **kwargs: Any) -> Any:
        run, asked, answer = _ask_first(self, call)
        if run is None or asked is None:
            return await original(self, call, *args, **kwargs)
        if isinstance(answer, ToolReply):
            return _supply(run, asked.request, answer)
        outer = asked_call.get()
        asked_call.set(asked)
        try:
            result = await original(self, _changed_call(call, answer), *args, **kwargs)
        finally:
            asked_call.set(outer)
        return _ask_last(run, asked, result)

    return arun_one


def _ask_first(node: Any, call: Any) -> tuple[RunInvocation | None, Asked | None, ToolRequest | ToolReply | None]:
    run = current_run()
    if run is None or run.intervention is None:
        return None, None, None
    request = _node_request(call)
    if request is None or HAND_OVER.match(request.name):
        return None, None, None
    try:
        answer = before_tool(run, request)
    except RecordedFailureError as error:
        return run, Asked(request, node, error), None  # the node is to word it, or to let it pass, as it did
    return run, Asked(answer if isinstance(answer, ToolRequest) else request, node), answer


def _node_request(call: Any) -> ToolRequest | None:
    with guard("describe a tool call"):
        seen = observation()
        if seen is not None:
            agent, step = seen.tools.requester(call.get("id"))
            arguments = to_json_value(call["args"])
            return ToolRequest(agent=agent, name=call["name"], arguments=arguments, call_id=call.get("id"), step=step)
    return None


def _supply(run: RunInvocation, request: ToolRequest, answer: ToolReply) -> Any:
    reply = after_tool(run, request, answer)
    seen = observation()
    if seen is not None:
        seen.tools.supplied(request.name, request.arguments, request.call_id, reply.content, reply.is_error)
    status = "error" if reply.is_error else "success"
    return ToolMessage(reply.content, name=request.name, tool_call_id=request.call_id, status=status)


def _changed_call(call: Any, answer: ToolRequest | ToolReply | None) -> Any:
    return {**call, "args": dict(answer.arguments or {})} if isinstance(answer, ToolRequest) else call


def _ask_last(run: RunInvocation, asked: Asked, result: Any) -> Any:
    """Ask about results that the tool's own code did not give: refused arguments, unknown tools."""
    if asked.done or not isinstance(result, ToolMessage):
        return result
    reply = ToolReply(content=content_text(result.content), is_error=result.status == "error")
    changed = after_tool(run, asked.request, reply)
    if changed is reply:
        return result
    return result.model_copy(update={"content": changed.content, "status": "error" if changed.is_error else "success"})
