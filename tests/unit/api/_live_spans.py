"""Spans as another framework emits them: made here, and recorded ones played again as if they came about just now."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from tracer_hooks.telemetry import SpanRecord, SpanStatus

TASK = "How many copies of Emma are there?"


def messages(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


class Desk:
    """A team of two agents in a framework that emits GenAI spans: a librarian, who asks the stock, and a clerk."""

    def __init__(self, provider: TracerProvider, *, content: bool = True) -> None:
        self.tracer = provider.get_tracer("some.framework")
        self._content = content

    def run(self, said: str = "12", **options: Any) -> None:
        with self.team(**options) as root:
            self.librarian(said)
            self.turn("clerk", f"The librarian says {said}.", f"Dear reader, {said} copies.")
            self.answer(root, f"Dear reader, {said} copies.")

    @contextmanager
    def team(self, **options: Any) -> Iterator[Any]:
        named = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "desk"}
        with self.tracer.start_as_current_span("invoke_workflow desk", **options) as root:
            root.set_attributes({**named, **self._texts(input=messages("user", TASK))})
            yield root

    def answer(self, root: Any, text: str) -> None:
        root.set_attributes(self._texts(output=messages("assistant", text)))

    def librarian(self, said: str) -> None:
        with self.span("invoke_agent", {"gen_ai.agent.name": "librarian"}):
            call = {"type": "tool_call", "id": "c1", "name": "stock", "arguments": {"title": "Emma"}}
            asked = json.dumps([{"role": "assistant", "parts": [call]}])
            self.chat(messages("user", TASK), asked)
            self.tool()
            self.chat(messages("user", "17 copies"), messages("assistant", f"There are {said} copies."))

    def turn(self, agent: str, given: str, said: str) -> None:
        with self.span("invoke_agent", {"gen_ai.agent.name": agent}):
            self.chat(messages("user", given), messages("assistant", said))

    def chat(self, given: str, said: str) -> None:
        with self.span("chat", self._texts(input=given, output=said)):
            pass

    def tool(self) -> None:
        texts = {"gen_ai.tool.call.arguments": '{"title": "Emma"}', "gen_ai.tool.call.result": "17 copies"}
        told = texts if self._content else {}
        with self.span("execute_tool", {"gen_ai.tool.name": "stock", "gen_ai.tool.call.id": "c1", **told}):
            pass

    def span(self, operation: str, attributes: dict[str, Any]) -> Any:
        return self.tracer.start_as_current_span(
            operation, attributes={"gen_ai.operation.name": operation, **attributes}
        )

    def _texts(self, **texts: str) -> dict[str, Any]:
        return {f"gen_ai.{name}.messages": text for name, text in texts.items()} if self._content else {}


def play(processor: SpanProcessor, records: Sequence[SpanRecord]) -> None:
    """Begin and end recorded spans in the order in which they did."""
    spans = [_live(record) for record in records]
    moments = [(span.start_time or 0, 1, position) for position, span in enumerate(spans)]
    moments += [(span.end_time or 0, 2, -position) for position, span in enumerate(spans)]
    for _, kind, position in sorted(moments):
        span: Any = spans[abs(position)]
        if kind == 1:
            processor.on_start(span)
        else:
            processor.on_end(span)


def _live(record: SpanRecord) -> ReadableSpan:
    code = {SpanStatus.UNSET: StatusCode.UNSET, SpanStatus.OK: StatusCode.OK, SpanStatus.ERROR: StatusCode.ERROR}
    status = Status(code[record.status], record.status_message if record.status is SpanStatus.ERROR else None)
    return ReadableSpan(
        name=record.name,
        context=_context(record.trace_id, record.span_id),
        parent=_context(record.trace_id, record.parent_id) if record.parent_id else None,
        resource=Resource(record.resource),
        attributes=record.attributes,
        events=[Event(event.name, event.attributes, event.time_ns) for event in record.events],
        links=[Link(_context(link.trace_id, link.span_id), link.attributes) for link in record.links],
        kind=SpanKind[record.kind.upper()] if record.kind.upper() in SpanKind.__members__ else SpanKind.INTERNAL,
        status=status,
        start_time=record.start_ns,
        end_time=record.end_ns,
        instrumentation_scope=InstrumentationScope(record.scope),
    )


def _context(trace_id: str, span_id: str) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=TraceFlags(1))
