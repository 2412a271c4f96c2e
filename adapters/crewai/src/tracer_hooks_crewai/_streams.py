"""Streaming kickoffs: the caller gets CrewAI's own output object, whose chunks are drawn through the run's host."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

from tracer_hooks.frameworks import RunHost, RunResult, TeamCall, guard
from tracer_hooks_crewai._kickoffs import run_result


@dataclass(frozen=True, kw_only=True)
class StreamCall(TeamCall):
    """A streaming kickoff. The first time it is made on the caller's team, it draws the output the caller holds.

    CrewAI starts to work when the first chunk is drawn, so the output can be made before the run begins.
    """

    output: Any = None
    """What the caller holds."""
    source: Any = None
    """The iterator that CrewAI gave it."""
    drawn: list[Any] = field(default_factory=list)
    """The outputs that were drawn, in order; the last one holds the result."""

    def is_first(self, team: Any) -> bool:
        """Whether the caller's own output is to be drawn: once, and for the caller's team."""
        return team is self.team and not self.drawn

    def pass_result(self, output: Any) -> None:
        """Give the result of a later attempt to the output that the caller holds."""
        with guard("hand on the result of a stream"):
            result = _result_of(output)
            if result is not None:
                self.output._set_result(result)


@dataclass(frozen=True, kw_only=True)
class SyncStreamCall(StreamCall):
    """A streaming kickoff that is iterated with ``for``."""

    def on(self, team: Any) -> Iterator[Any]:
        """The chunks."""
        if self.is_first(team):
            self.drawn.append(self.output)
            return iter(self.source)
        output = getattr(team, self.method)(*self.args, **self.kwargs)
        self.drawn.append(output)
        return self._again(output)

    def _again(self, output: Any) -> Iterator[Any]:
        try:
            yield from output
            self.pass_result(output)
        finally:
            output.close()


@dataclass(frozen=True, kw_only=True)
class AsyncStreamCall(StreamCall):
    """A streaming kickoff that is iterated with ``async for``."""

    async def on(self, team: Any) -> AsyncIterator[Any]:
        """The chunks."""
        if self.is_first(team):
            self.drawn.append(self.output)
            try:
                async for chunk in self.source:
                    yield chunk
            finally:
                await self.source.aclose()
            return
        output = await getattr(team, self.method)(*self.args, **self.kwargs)
        self.drawn.append(output)
        try:
            async for chunk in output:
                yield chunk
            self.pass_result(output)
        finally:
            await output.aclose()


class Collector:
    """Says at the end of a stream what came out; the chunks themselves are not kept."""

    def __init__(self, call: TeamCall) -> None:
        self._call = call
        self._text: list[str] = []

    def see(self, item: Any) -> None:
        """Keep the text of a chunk, in case the stream ends without a result."""
        text = getattr(item, "content", None)
        if isinstance(text, str):
            self._text.append(text)

    def result(self) -> RunResult:
        """What came out."""
        outputs = self._call.drawn if isinstance(self._call, StreamCall) else []
        native = _result_of(outputs[-1]) if outputs else None
        if native is None:
            return RunResult(text="".join(self._text), native=outputs[-1] if outputs else None)
        return run_result(native)


def stream_through(host: RunHost, call: TeamCall, output: Any) -> None:
    """Have ``output`` draw its chunks through ``host``: the run begins with the first and ends with the last."""
    common = {"team": call.team, "method": call.method, "args": call.args, "kwargs": call.kwargs, "task": call.task}
    if getattr(output, "_sync_iterator", None) is not None:
        source = output._sync_iterator
        output._sync_iterator = host.stream(SyncStreamCall(**common, output=output, source=source))
    elif getattr(output, "_async_iterator", None) is not None:
        source = output._async_iterator
        output._async_iterator = host.astream(AsyncStreamCall(**common, output=output, source=source))


def _result_of(output: Any) -> Any:
    """The result of a stream that was drawn to its end; ``result`` itself refuses until the caller's loop has ended."""
    return getattr(output, "_result", None)
