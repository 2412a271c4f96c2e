"""Reading results through an adapter, whose failures are ours and never the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracer_hooks._guard import guard
from tracer_hooks.frameworks import Adapter, RunResult, StreamCollector, TeamCall


class SafeCollector:
    """An adapter's collector; a failure in it is ours, and leaves the stream as it is."""

    def __init__(self, adapter: Adapter, call: TeamCall) -> None:
        self.last: Any = None
        self._collector: StreamCollector | None = None
        with guard("look at a stream"):
            self._collector = adapter.collector(call)

    def see(self, item: Any) -> None:
        """Look at one item."""
        self.last = item
        if self._collector is not None:
            self._collector.see(item)

    def result(self) -> RunResult:
        """What came out."""
        return self._collector.result() if self._collector is not None else RunResult(text="", native=self.last)


def read_result(read: Callable[[], RunResult], native: Any) -> RunResult:
    """What ``read`` gives; when it fails, which is ours, whatever text can be found in ``native``."""
    with guard("read the result"):
        return read()
    return RunResult(text=_text_of(native), native=native)


def _text_of(native: Any) -> str:
    from tracer_hooks.frameworks.plain import answer_text

    with guard("read the answer"):
        return answer_text(native)
    return ""
