"""The seam at tool calls: a context in which user spans nest, and replies that an intervention supplies or changes."""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, ToolException
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt import ToolNode
from opentelemetry import context as otel_context

from tracer_hooks._guard import guard
from tracer_hooks.adapters import ToolReply, ToolRequest, after_tool, before_tool
from tracer_hooks.schema import to_json_value
from tracer_hooks.telemetry import RunInvocation, ToolInvocation, current_run
from tracer_hooks_langgraph._class_patches import ClassPatches
from tracer_hooks_langgraph._convert import content_text
from tracer_hooks_langgraph._state import messages_in, state_text

_HAND_OVER = re.compile(r"^(?:transfer|hand_?off)_to_")
"""Tools that answer with a ``Command``, which no text can replace, and that have no side effects; never asked about."""


class _Call:
    """A call of ``BaseTool.run`` or ``arun`` that is going on."""

    __slots__ = ("call_id", "tool")

    def __init__(self, call_id: str | None) -> None:
        self.call_id = call_id
        self.tool: ToolInvocation | None = None


class _Asked:
    """A tool call that an intervention was asked about before a ``ToolNode`` made it."""

    __slots__ = ("done", "node", "request")

    def __init__(self, request: ToolRequest, node: Any) -> None:
        self.request = request
        self.node = node
        self.done = False
        """Whether it was asked about the result too."""


_call: ContextVar[_Call | None] = ContextVar("tracer_hooks_tool_call", default=None)
_asked: ContextVar[_Asked | None] = ContextVar("tracer_hooks_asked_tool_call", default=None)


def noted_call_id() -> str | None:
    """The model's id of the tool call that is going on (langchain-core 1.0 does not tell it to callbacks)."""
    call = _call.get()
    return call.call_id if call is not None and call.tool is None else None


def begin_tool_context(tool: ToolInvocation) -> None:
    """Make ``tool`` the current operation until the tool's ``run`` is over.

    Called from the callback at the tool's start; LangChain copies the context for the tool's own code only after that.
    """
    call = _call.get()
    if call is not None and call.tool is None:  # else nobody would put the context back
        call.tool = tool
        otel_context.attach(tool.context())


@contextmanager
def _noted(call_id: str | None) -> Iterator[_Call]:
    before, outer = otel_context.get_current(), _call.get()
    call = _Call(call_id)
    _call.set(call)
    try:
        yield call
    finally:
        _call.set(outer)
        otel_context.attach(before)


def _wrap_run(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        current = current_run()
        if current is None:
            return original(self, *args, **kwargs)
        with _noted(kwargs.get("tool_call_id")) as call:
            return original(_seamed(self, current, call), *args, **kwargs)

    return run


def _wrap_arun(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def arun(self: Any, *args: Any, **kwargs: Any) -> Any:
        current = current_run()
        if current is None:
            return await original(self, *args, **kwargs)
        with _noted(kwargs.get("tool_call_id")) as call:
            return await original(_seamed(self, current, call), *args, **kwargs)

    return arun


def _seamed(tool: Any, run: RunInvocation, call: _Call) -> Any:
    """The tool itself, or where an intervention may want a say, a copy that asks it around the tool's own code."""
    return tool if run.intervention is None or _HAND_OVER.match(tool.name) else _with_seam(tool, run, call)


def _with_seam(tool: Any, run: RunInvocation, call: _Call) -> Any:
    seamed = copy.copy(tool)

    @functools.wraps(tool._run)
    def _run(*args: Any, **kwargs: Any) -> Any:
        asking = _Asking(tool, run, call)
        kwargs = asking.before(kwargs)
        if asking.supplied:
            return asking.give(asking.reply)
        try:
            result = tool._run(*args, **kwargs)
        except Exception as error:
            return asking.after_error(error)
        return asking.after(result)

    @functools.wraps(tool._arun)
    async def _arun(*args: Any, **kwargs: Any) -> Any:
        asking = _Asking(tool, run, call)
        kwargs = asking.before(kwargs)
        if asking.supplied:
            return asking.give(asking.reply)
        try:
            result = await tool._arun(*args, **kwargs)
        except Exception as error:
            return asking.after_error(error)
        return asking.after(result)

    seamed.__dict__.update(_run=_run, _arun=_arun)  # pydantic refuses ordinary assignment
    return seamed


class _Asking:
    """Asks the run's intervention about one execution of a tool's own code."""

    def __init__(self, tool: Any, run: RunInvocation, call: _Call) -> None:
        self._tool = tool
        self._run = run
        self._call = call
        self._earlier = _asked.get()
        if self._earlier is not None and self._earlier.request.name != tool.name:
            self._earlier = None  # a tool that is called inside another
        self._request = self._earlier.request if self._earlier is not None else None
        self.supplied = False
        self.reply = ToolReply(content="")

    def before(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments to use; sets ``supplied`` when the tool is not to be called."""
        if self._request is not None:
            return kwargs
        self._request = request = self._build(kwargs)
        answer = before_tool(self._run, request)
        if isinstance(answer, ToolReply):
            self.supplied = True
            self.reply = after_tool(self._run, request, answer)
        elif answer is not None:
            self._request = answer
            kwargs = {**kwargs, **_changes(request.arguments, answer.arguments)}
        return kwargs

    def _build(self, kwargs: Mapping[str, Any]) -> ToolRequest:
        from tracer_hooks_langgraph._callbacks import observation

        opened, seen = self._call.tool, observation()
        call_id = self._call.call_id
        agent, step = seen.tools.requester(call_id) if seen is not None else (self._run.name, None)
        if step is None and opened is not None:
            agent, step = self._run.step_of_tool(None, call_id)[1] if call_id else agent, opened.step
        known = set(self._tool.args)
        arguments = {key: to_json_value(value) for key, value in kwargs.items() if key in known}
        return ToolRequest(agent=agent, name=self._tool.name, arguments=arguments, call_id=call_id, step=step)

    def after(self, result: Any) -> Any:
        """What to give in place of ``result``."""
        content = result[0] if self._in_two_parts and isinstance(result, tuple) else result
        reply = ToolReply(content=_text(content))
        changed = self._after(reply)
        return result if changed is reply else self.give(changed)

    def after_error(self, error: Exception) -> Any:
        """What to give in place of an error; raises it when it stays. To be called where it was caught."""
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
        """What the model will read of an error: a ``ToolNode`` words it."""
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


def _changes(before: Any, after: Any) -> dict[str, Any]:
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return {}
    return {key: value for key, value in after.items() if before.get(key) != value}


def _text(result: Any) -> str:
    if isinstance(result, (str, list)):
        return content_text(result)
    messages = [content_text(message.content) for message in messages_in(result) if isinstance(message, ToolMessage)]
    return "\n".join(messages) if messages else state_text(result)


# --- tool nodes ----------------------------------------------------------------------------------------------------


def _wrap_node(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run_one(self: Any, call: Any, *args: Any, **kwargs: Any) -> Any:
        run, asked, answer = _ask_first(self, call)
        if run is None or asked is None:
            return original(self, call, *args, **kwargs)
        if isinstance(answer, ToolReply):
            return _supply(run, asked.request, answer)
        outer = _asked.get()
        _asked.set(asked)
        try:
            result = original(self, _changed_call(call, answer), *args, **kwargs)
        finally:
            _asked.set(outer)
        return _ask_last(run, asked, result)

    return run_one


def _wrap_anode(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def arun_one(self: Any, call: Any, *args: Any, **kwargs: Any) -> Any:
        run, asked, answer = _ask_first(self, call)
        if run is None or asked is None:
            return await original(self, call, *args, **kwargs)
        if isinstance(answer, ToolReply):
            return _supply(run, asked.request, answer)
        outer = _asked.get()
        _asked.set(asked)
        try:
            result = await original(self, _changed_call(call, answer), *args, **kwargs)
        finally:
            _asked.set(outer)
        return _ask_last(run, asked, result)

    return arun_one


def _ask_first(node: Any, call: Any) -> tuple[RunInvocation | None, _Asked | None, ToolRequest | ToolReply | None]:
    run = current_run()
    if run is None or run.intervention is None:
        return None, None, None
    request = _node_request(call)
    if request is None or _HAND_OVER.match(request.name):
        return None, None, None
    answer = before_tool(run, request)
    asked = _Asked(answer if isinstance(answer, ToolRequest) else request, node)
    return run, asked, answer


def _node_request(call: Any) -> ToolRequest | None:
    from tracer_hooks_langgraph._callbacks import observation

    with guard("describe a tool call"):
        seen = observation()
        if seen is not None:
            agent, step = seen.tools.requester(call.get("id"))
            arguments = to_json_value(call["args"])
            return ToolRequest(agent=agent, name=call["name"], arguments=arguments, call_id=call.get("id"), step=step)
    return None


def _supply(run: RunInvocation, request: ToolRequest, answer: ToolReply) -> Any:
    from tracer_hooks_langgraph._callbacks import observation

    reply = after_tool(run, request, answer)
    seen = observation()
    if seen is not None:
        seen.tools.supplied(request.name, request.arguments, request.call_id, reply.content, reply.is_error)
    status = "error" if reply.is_error else "success"
    return ToolMessage(reply.content, name=request.name, tool_call_id=request.call_id, status=status)


def _changed_call(call: Any, answer: ToolRequest | ToolReply | None) -> Any:
    return {**call, "args": dict(answer.arguments or {})} if isinstance(answer, ToolRequest) else call


def _ask_last(run: RunInvocation, asked: _Asked, result: Any) -> Any:
    """Ask about results that the tool's own code did not give: refused arguments, unknown tools."""
    if asked.done or not isinstance(result, ToolMessage):
        return result
    reply = ToolReply(content=content_text(result.content), is_error=result.status == "error")
    changed = after_tool(run, asked.request, reply)
    if changed is reply:
        return result
    return result.model_copy(
        update={"content": changed.content, "status": "error" if changed.is_error else "success"}
    )


def _install(patches: ClassPatches) -> None:
    patches.wrap(BaseTool, "run", _wrap_run)
    patches.wrap(BaseTool, "arun", _wrap_arun)
    patches.wrap(ToolNode, "_run_one", _wrap_node)
    patches.wrap(ToolNode, "_arun_one", _wrap_anode)


tool_patches = ClassPatches(_install)
