"""The context of a tool call: which call is going on, so that spans of the user's own nest below it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from opentelemetry import context as otel_context

from tracer_hooks.telemetry import ToolInvocation


class Call:
    """A call of ``BaseTool.run`` or ``arun`` that is going on."""

    __slots__ = ("call_id", "tool")

    def __init__(self, call_id: str | None) -> None:
        self.call_id = call_id
        self.tool: ToolInvocation | None = None


_call: ContextVar[Call | None] = ContextVar("tracer_hooks_tool_call", default=None)


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
def noted(call_id: str | None) -> Iterator[Call]:
    """Within the block a call of a tool is going on; afterwards the context is as it was."""
    before, outer = otel_context.get_current(), _call.get()
    call = Call(call_id)
    _call.set(call)
    try:
        yield call
    finally:
        _call.set(outer)
        otel_context.attach(before)
