"""Tool calls: the intervene seam at ``ToolNode`` and at a tool's own code.

A ``ToolNode`` words the errors that it handles, refuses arguments and answers for unknown tools; a tool's own code sees
none of that.
"""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, ToolException
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt import ToolNode

from tracer_hooks import semconv
from tracer_hooks.errors import RecordedFailureError
from tracer_hooks.frameworks import ToolReply, ToolRequest, after_tool, before_tool, guard
from tracer_hooks.schema import to_json_value
from tracer_hooks.telemetry import RunInvocation, current_run
from tracer_hooks_langgraph._callbacks import CurrentToolCall, SharedPatches, observation, tool_call_noted
from tracer_hooks_langgraph._convert import content_text, messages_in, state_text

HAND_OVER = re.compile(r"^(?:transfer|hand_?off)_to_")
"""Tools that answer with a ``Command``, which no text can replace, and that have no side effects; never asked about."""


@dataclass(slots=True, eq=False)
class AskedToolCall:
    """A tool call that an intervention was asked about before a ``ToolNode`` made it."""

    request: ToolRequest
    node: Any
    failure: Exception | None = None
    """What is to be raised in place of the tool's own code."""
    done: bool = False
    """Whether it was asked about the result too."""


asked_call: ContextVar[AskedToolCall | None] = ContextVar("tracer_hooks_asked_tool_call", default=None)


def wrap_run_one(original: Callable[..., Any]) -> Callable[..., Any]:
    """A replacement for ``ToolNode._run_one``."""

    def run_one(self: Any, call: Any, *args: Any, **kwargs: Any) -> Any:
        run, asked, answer = _ask_first(self, call)
        if run is None or asked is None:
            return original(self, call, *args, **kwargs)
        if isinstance(answer, ToolReply):
            return _supply_result(run, asked.request, answer)
        with _set_as_asked(asked):
            result = original(self, _changed_call(call, answer), *args, **kwargs)
        return _ask_last(run, asked, result)

    return run_one


def wrap_arun_one(original: Callable[..., Any]) -> Callable[..., Any]:
    """A replacement for ``ToolNode._arun_one``."""

    async def arun_one(self: Any, call: Any, *args: Any, **kwargs: Any) -> Any:
        run, asked, answer = _ask_first(self, call)
        if run is None or asked is None:
            return await original(self, call, *args, **kwargs)
        if isinstance(answer, ToolReply):
            return _supply_result(run, asked.request, answer)
        with _set_as_asked(asked):
            result = await original(self, _changed_call(call, answer), *args, **kwargs)
        return _ask_last(run, asked, result)

    return arun_one


@contextmanager
def _set_as_asked(asked: AskedToolCall) -> Iterator[None]:
    outer = asked_call.get()
    asked_call.set(asked)
    try:
        yield
    finally:
        asked_call.set(outer)


def _ask_first(
    node: Any, call: Any
) -> tuple[RunInvocation | None, AskedToolCall | None, ToolRequest | ToolReply | None]:
    run = current_run()
    if run is None or run.intervention is None:
        return None, None, None
    request = _node_request(call)
    if request is None or HAND_OVER.match(request.name):
        return None, None, None
    try:
        answer = before_tool(run, request)
    except RecordedFailureError as error:
        return run, AskedToolCall(request, node, error), None  # the node is to word it, or to let it pass, as it did
    return run, AskedToolCall(answer if isinstance(answer, ToolRequest) else request, node), answer


def _node_request(call: Any) -> ToolRequest | None:
    with guard("describe a tool call"):
        seen = observation()
        if seen is not None:
            agent, step = seen.tools.requester(call.get("id"))
            arguments = to_json_value(call["args"])
            return ToolRequest(agent=agent, name=call["name"], arguments=arguments, call_id=call.get("id"), step=step)
    return None


def _supply_result(run: RunInvocation, request: ToolRequest, answer: ToolReply) -> Any:
    reply = after_tool(run, request, answer)
    seen = observation()
    if seen is not None:
        seen.tools.supplied(request.name, request.arguments, request.call_id, reply.content, reply.is_error)
    status = "error" if reply.is_error else "success"
    return ToolMessage(reply.content, name=request.name, tool_call_id=request.call_id, status=status)


def _changed_call(call: Any, answer: ToolRequest | ToolReply | None) -> Any:
    return {**call, "args": dict(answer.arguments or {})} if isinstance(answer, ToolRequest) else call


def _ask_last(run: RunInvocation, asked: AskedToolCall, result: Any) -> Any:
    """Ask about results that the tool's own code did not give: refused arguments, unknown tools."""
    if asked.done or not isinstance(result, ToolMessage):
        return result
    reply = ToolReply(content=content_text(result.content), is_error=result.status == "error")
    changed = after_tool(run, asked.request, reply)
    if changed is reply:
        return result
    return result.model_copy(update={"content": changed.content, "status": "error" if changed.is_error else "success"})


def _wrap_run(original: Callable[..., Any]) -> Callable[..., Any]:
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        current = current_run()
        if current is None:
            return original(self, *args, **kwargs)
        with tool_call_noted(kwargs.get("tool_call_id")) as call:
            return original(_with_seam_if_needed(self, current, call), *args, **kwargs)

    return run


def _wrap_arun(original: Callable[..., Any]) -> Callable[..., Any]:
    async def arun(self: Any, *args: Any, **kwargs: Any) -> Any:
        current = current_run()
        if current is None:
            return await original(self, *args, **kwargs)
        with tool_call_noted(kwargs.get("tool_call_id")) as call:
            return await original(_with_seam_if_needed(self, current, call), *args, **kwargs)

    return arun


def _with_seam_if_needed(tool: Any, run: RunInvocation, call: CurrentToolCall) -> Any:
    """The tool itself, or where an intervention may want a say, a copy that asks it around the tool's own code."""
    return tool if run.intervention is None or HAND_OVER.match(tool.name) else _with_seam(tool, run, call)


def _with_seam(tool: Any, run: RunInvocation, call: CurrentToolCall) -> Any:
    seamed = copy.copy(tool)

    @functools.wraps(tool._run)
    def _run(*args: Any, **kwargs: Any) -> Any:
        asking = _ToolIntervention(tool, run, call)
        kwargs = asking.before(kwargs)
        if asking.supplied is not None:
            return asking.give(asking.supplied)
        try:
            result = tool._run(*args, **kwargs)
        except Exception as error:
            return asking.after_error(error)
        return asking.after(result)

    @functools.wraps(tool._arun)
    async def _arun(*args: Any, **kwargs: Any) -> Any:
        asking = _ToolIntervention(tool, run, call)
        kwargs = asking.before(kwargs)
        if asking.supplied is not None:
            return asking.give(asking.supplied)
        try:
            result = await tool._arun(*args, **kwargs)
        except Exception as error:
            return asking.after_error(error)
        return asking.after(result)

    seamed.__dict__.update(_run=_run, _arun=_arun)  # pydantic refuses ordinary assignment
    return seamed


class _ToolIntervention:
    """Asks the run's intervention about one execution of a tool's own code."""

    def __init__(self, tool: Any, run: RunInvocation, call: CurrentToolCall) -> None:
        self._tool = tool
        self._run = run
        self._call = call
        earlier = asked_call.get()
        # Another tool's is that of a tool inside which this one is called.
        self._earlier = earlier if earlier is not None and earlier.request.name == tool.name else None
        self._request = self._earlier.request if self._earlier is not None else None
        self.supplied: ToolReply | None = None

    def before(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments to use; sets ``supplied`` when the tool is not to be called."""
        if self._earlier is not None and self._earlier.failure is not None:
            raise self._earlier.failure
        if self._request is not None:
            return kwargs
        self._request = request = self._build(kwargs)
        answer = before_tool(self._run, request)
        if isinstance(answer, ToolReply):
            self.supplied = after_tool(self._run, request, answer)
        elif answer is not None:
            self._request = answer
            kwargs = {**kwargs, **_changed_arguments(request.arguments, answer.arguments)}
        return kwargs

    def _build(self, kwargs: Mapping[str, Any]) -> ToolRequest:
        opened = self._call.tool
        agent = str(opened.attributes.get(semconv.AGENT_NAME)) if opened is not None else self._run.name
        known = set(self._tool.args)
        arguments = {key: to_json_value(value) for key, value in kwargs.items() if key in known}
        return ToolRequest(
            agent=agent,
            name=self._tool.name,
            arguments=arguments,
            call_id=self._call.call_id,
            step=opened.step if opened is not None else None,
        )

    def after(self, result: Any) -> Any:
        """Return what to give in place of ``result``."""
        content = result[0] if self._in_two_parts and isinstance(result, tuple) else result
        reply = ToolReply(content=_result_text(content))
        changed = self._after(reply)
        return result if changed is reply else self.give(changed)

    def after_error(self, error: Exception) -> Any:
        """Return what to give in place of an error; raise it when it stays. To be called where it was caught."""
        if isinstance(error, GraphBubbleUp):
            raise error
        reply = ToolReply(content=self._error_text(error), is_error=True)
        changed = self._after(reply)
        if changed is reply:
            raise error
        return self.give(changed)

    def _after(self, reply: ToolReply) -> ToolReply:
        if self._earlier is not None:
            self._earlier.done = True
        return after_tool(self._run, self._request, reply) if self._request is not None else reply

    def _error_text(self, error: Exception) -> str:
        """Return the text that the model will read of an error: a ``ToolNode`` words it."""
        try:
            from langgraph.prebuilt.tool_node import _handle_tool_error

            if self._earlier is not None:
                return str(_handle_tool_error(error, flag=self._earlier.node._handle_tool_errors))
        except Exception:  # it does not handle this error, or is of another version
            return str(error)
        return str(error)

    def give(self, reply: ToolReply) -> Any:
        """``reply`` as what a tool's code returns."""
        call_id = self._call.call_id
        if reply.is_error and call_id is None:
            raise ToolException(reply.content)
        if reply.is_error:
            content: Any = ToolMessage(reply.content, tool_call_id=call_id, name=self._tool.name, status="error")
        else:
            content = reply.content
        return (content, None) if self._in_two_parts else content

    @property
    def _in_two_parts(self) -> bool:
        return bool(getattr(self._tool, "response_format", "") == "content_and_artifact")


def _changed_arguments(before: Any, after: Any) -> dict[str, Any]:
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return {}
    return {key: value for key, value in after.items() if before.get(key) != value}


def _result_text(result: Any) -> str:
    if isinstance(result, (str, list)):
        return content_text(result)
    messages = [content_text(message.content) for message in messages_in(result) if isinstance(message, ToolMessage)]
    return "\n".join(messages) if messages else state_text(result)


tool_patches = SharedPatches(
    (BaseTool, "run", _wrap_run),
    (BaseTool, "arun", _wrap_arun),
    (ToolNode, "_run_one", wrap_run_one),
    (ToolNode, "_arun_one", wrap_arun_one),
)
