"""CrewAI's events, seen in the caller's context, for what its hooks do not tell: usage, chunks, and tool errors.

Handlers of the event bus run later, in other threads and out of order. Stream sinks (``crewai.events.stream_context``,
in 1.15.3 and newer) are called inline and only in the context that added them, so nothing is registered globally.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tracer_hooks.frameworks import guard, guarded, warn_once
from tracer_hooks.schema import Usage
from tracer_hooks_crewai import _scope
from tracer_hooks_crewai._scope import OpenChat, OpenTool

_INPUT_KEYS = ("prompt_tokens", "input_tokens", "prompt_token_count")
_OUTPUT_KEYS = ("completion_tokens", "output_tokens", "candidates_token_count")


@contextmanager
def listening() -> Iterator[None]:
    """Within the block events reach the open model or tool call."""
    functions = _sink_functions() if not _scope.listening.get() else None
    if functions is None:
        yield
        return
    add, reset = functions
    token, mark = add(_on_event), _scope.listening.set(True)
    try:
        yield
    finally:
        with guard("stop listening to CrewAI's events"):
            _scope.listening.reset(mark)
            reset(token)


def usage_of(counts: Any) -> Usage | None:
    """A provider's token counts, under whichever names it uses; None when there are none."""
    if not isinstance(counts, Mapping):
        return None
    read, written = _first(counts, _INPUT_KEYS), _first(counts, _OUTPUT_KEYS)
    if read is None and written is None:
        return None
    return Usage(input_tokens=read or 0, output_tokens=written or 0)


@guarded("read an event of CrewAI", None)
def _on_event(_source: Any, event: Any) -> None:
    reader = _READERS.get(getattr(event, "type", ""))
    current = _scope.call.get()
    if reader is not None and current is not None:
        reader(current, event)


def _completed(current: OpenChat | OpenTool, event: Any) -> None:
    if isinstance(current, OpenChat):
        usage = usage_of(getattr(event, "usage", None))
        if usage is not None:
            current.usage = usage if current.usage is None else current.usage + usage
        current.finish_reason = getattr(event, "finish_reason", None) or current.finish_reason
        current.response_id = getattr(event, "response_id", None) or current.response_id


def _chunk(current: OpenChat | OpenTool, event: Any) -> None:
    if isinstance(current, OpenChat):
        text = getattr(event, "chunk", "") if getattr(event, "tool_call", None) is None else ""
        current.invocation.chunk(text if isinstance(text, str) else "")


def _tool_error(current: OpenChat | OpenTool, event: Any) -> None:
    if isinstance(current, OpenTool):
        error = getattr(event, "error", None)
        current.error = error if isinstance(error, BaseException) else RuntimeError(str(error))


_READERS: dict[str, Callable[[OpenChat | OpenTool, Any], None]] = {
    "llm_call_completed": _completed,
    "llm_stream_chunk": _chunk,
    "tool_usage_error": _tool_error,
}


def _first(counts: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    for key in keys:
        value = counts.get(key)
        if isinstance(value, int) and value >= 0:
            return value
    return None


def _sink_functions() -> tuple[Any, Any] | None:
    try:
        from crewai.events.stream_context import add_stream_sink, reset_stream_sinks
    except ImportError:
        warn_once(
            "crewai stream sinks",
            "tracer-hooks: this CrewAI has no crewai.events.stream_context; token usage is measured per model instead, "
            "and tool errors on the native function-calling path show as results",
        )
        return None
    return add_stream_sink, reset_stream_sinks
