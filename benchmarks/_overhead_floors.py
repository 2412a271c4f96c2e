"""What tracing costs at the least: the same number of spans without a hook, and a handler that does nothing."""

from __future__ import annotations

import json
import time
from contextvars import ContextVar
from typing import Any

from _overhead_modes import Bare
from _overhead_script import ANSWER, OPERATIONS, PROMPTS, TASK
from opentelemetry import context as otel_context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import set_span_in_context

_SHORT = {f"benchmark.attribute_{number}": "northwind" if number % 2 else number for number in range(9)}
"""As many short attributes as our spans have: names, ids, the step's index, tokens."""
_CONTENT = {
    "run": {"input.value": TASK, "output.value": ANSWER},
    "agent": {"input.messages": 4, "output.messages": 1},
    "chat": {"input.messages": 9, "output.messages": 1},
    "tool": {"arguments": 1, "result": ANSWER},
}
"""Content of each kind of span: a text, or how many messages."""


class SpansAlone(Bare):
    """Makes as many spans as a run of ours has, of the same size, after a run that nobody traces.

    Nested as ours are, each made the current one and given its attributes at its end, as anybody has to who knows them
    only then.
    """

    def on(self, team: Any, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("benchmark")

    def settle(self, team: Any) -> None:
        outer = otel_context.get_current()
        for kind, count in OPERATIONS.items():
            for _ in range(count):
                span = self._tracer.start_span(f"{kind} name", outer, attributes={"operation": kind})
                inner = set_span_in_context(span, outer)
                otel_context.attach(inner)
                span.set_attributes({**_SHORT, **_content(kind)})
                otel_context.attach(outer)
                span.end(time.time_ns())
                if kind == "run":
                    outer = inner
        otel_context.attach(otel_context.Context())


class IdleHandler(Bare):
    """LangChain's callbacks answered by nothing, which every instrumentation that listens to them pays as well."""

    emits = False
    _current: ContextVar[Any] = ContextVar("idle_handler", default=None)
    _is_registered = False

    def on(self, team: Any, provider: TracerProvider) -> None:
        from langchain_core.callbacks import BaseCallbackHandler
        from langchain_core.tracers.context import register_configure_hook

        if not IdleHandler._is_registered:
            register_configure_hook(self._current, True)
            IdleHandler._is_registered = True
        handler = BaseCallbackHandler()
        handler.run_inline = True
        self._current.set(handler)

    def off(self, team: Any) -> None:
        self._current.set(None)


def _content(kind: str) -> dict[str, str]:
    return {key: value if isinstance(value, str) else _messages(value) for key, value in _CONTENT[kind].items()}


def _messages(count: int) -> str:
    parts = [{"type": "text", "content": PROMPTS["analyst"]}]
    return json.dumps([{"role": "user", "parts": parts} for _ in range(count)])
