"""The intervene seam at the tools of plain Python teams."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from tracer_hooks import semconv
from tracer_hooks.frameworks._intervention import ToolReply, ToolRequest, after_tool, before_tool
from tracer_hooks.frameworks.plain._answer import answer_text
from tracer_hooks.frameworks.plain._seam import Arguments, Seam, agent_of
from tracer_hooks.schema import to_json_value, to_text
from tracer_hooks.telemetry import ToolInvocation, current_invocation

_ABSENT = object()


def plain_value(value: Any) -> Any:
    """``value`` where it is plain data that its text does not say; None for text, and for objects of the user's.

    A value that is None itself is ``ToolInvocation.NONE``.
    """
    if value is None:
        return ToolInvocation.NONE
    if isinstance(value, str):
        return None
    plain = to_json_value(value)
    return plain if plain == value else None


class ToolSeam(Seam[ToolRequest, ToolReply]):
    """Around one tool.

    Args:
        function: The tool.
        name: Its name.
    """

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._function = function
        self._name = name

    def ask(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[ToolRequest, ToolRequest | ToolReply | None] | None:
        current = current_invocation()
        if not isinstance(current, ToolInvocation) or current.run.intervention is None:
            return None
        given = self._bound(args, kwargs).arguments
        plain = {key: to_json_value(value) for key, value in given.items() if key not in ("self", "cls")}
        request = ToolRequest(agent=agent_of(current), name=self._name, arguments=plain, step=current.step)
        return request, before_tool(current.run, request)

    def change(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], request: ToolRequest, changed: ToolRequest
    ) -> Arguments:
        if not isinstance(changed.arguments, Mapping):
            return args, kwargs
        bound, before = self._bound(args, kwargs), request.arguments
        # The others stay the objects that they are; the request holds them as plain data.
        bound.arguments.update({k: v for k, v in changed.arguments.items() if v != before.get(k, _ABSENT)})
        if (current := current_invocation()) is not None:
            current.set(semconv.TOOL_CALL_ARGUMENTS, changed.arguments)
        return bound.args, bound.kwargs

    def supplied(self, answer: ToolRequest | ToolReply | None) -> ToolReply | None:
        return answer if isinstance(answer, ToolReply) else None

    def returned(self, request: ToolRequest, value: Any) -> ToolReply | None:
        return self._other_than(request, ToolReply(content=answer_text(value), value=plain_value(value)))

    def raised(self, request: ToolRequest, error: Exception) -> ToolReply | None:
        return self._other_than(request, ToolReply(content=to_text(error), is_error=True))

    def replaced(self, request: ToolRequest, reply: ToolReply) -> ToolReply:
        return self._other_than(request, reply) or reply

    def give(self, reply: ToolReply, value: Any) -> Any:
        if reply.is_error:  # in plain Python a tool fails by raising
            raise RuntimeError(reply.content)
        if reply.value is ToolInvocation.NONE:
            return reply.content or None  # text, where an intervention has put some
        return reply.content if reply.value is None else reply.value

    def _other_than(self, request: ToolRequest, reply: ToolReply) -> ToolReply | None:
        current = current_invocation()
        changed = after_tool(current.run, request, reply) if current is not None else reply
        return None if changed is reply else changed

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        return inspect.signature(self._function).bind_partial(*args, **kwargs)
