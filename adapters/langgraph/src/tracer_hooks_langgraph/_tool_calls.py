"""The seam at a tool's own code: replies that an intervention supplies or changes, and the tool's context."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, ToolException
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt import ToolNode

from tracer_hooks import semconv
from tracer_hooks.frameworks import ToolReply, ToolRequest, after_tool, before_tool
from tracer_hooks.schema import to_json_value
from tracer_hooks.telemetry import RunInvocation, current_run
from tracer_hooks_langgraph._convert import content_text
from tracer_hooks_langgraph._shared_patches import SharedPatches
from tracer_hooks_langgraph._state import messages_in, state_text
from tracer_hooks_langgraph._tool_context import Call, noted
from tracer_hooks_langgraph._tool_nodes import HAND_OVER, asked_call, wrap_arun_one, wrap_run_one


def _wrap_run(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        current = current_run()
        if current is None:
            return original(self, *args, **kwargs)
        with noted(kwargs.get("tool_call_id")) as call:
            return original(_seamed(self, current, call), *args, **kwargs)

    return run


def _wrap_arun(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def arun(self: Any, *args: Any, **kwargs: Any) -> Any:
        current = current_run()
        if current is None:
            return await original(self, *args, **kwargs)
        with noted(kwargs.get("tool_call_id")) as call:
            return await original(_seamed(self, current, call), *args, **kwargs)

    return arun


def _seamed(tool: Any, run: RunInvocation, call: Call) -> Any:
    """The tool itself, or where an intervention may want a say, a copy that asks it around the tool's own code."""
    return tool if run.intervention is None or HAND_OVER.match(tool.name) else _with_seam(tool, run, call)


def _with_seam(tool: Any, run: RunInvocation, call: Call) -> Any:
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

    def __init__(self, tool: Any, run: RunInvocation, call: Call) -> None:
        self._tool = tool
        self._run = run
        self._call = call
        self._earlier = asked_call.get()
        if self._earlier is not None and self._earlier.request.name != tool.name:
            self._earlier = None  # a tool that is called inside another
        self._request = self._earlier.request if self._earlier is not None else None
        self.supplied = False
        self.reply = ToolReply(content="")

    def before(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments to use; sets ``supplied`` when the tool is not to be called."""
        if self._earlier is not None and self._earlier.failure is not None:
            raise self._earlier.failure
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


def _install(patches: SharedPatches) -> None:
    patches.wrap(BaseTool, "run", _wrap_run)
    patches.wrap(BaseTool, "arun", _wrap_arun)
    patches.wrap(ToolNode, "_run_one", wrap_run_one)
    patches.wrap(ToolNode, "_arun_one", wrap_arun_one)


tool_patches = SharedPatches(_install)
