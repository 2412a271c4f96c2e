"""Operation of a run: a span on the user's tracer and a record of our own, opened and closed together.

The idea of an invocation object (start on construction, set fields, then ``stop`` or ``fail``) follows OpenTelemetry's
``opentelemetry-util-genai``; adapters never touch raw spans.

A generator that is broken off is closed later, in whatever context happens to be current. So the operation's context is
attached around each step alone, and removed before the item is handed out.
"""

from __future__ import annotations

import asyncio
import functools
import random
import time
import traceback
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from opentelemetry import context as otel_context
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, Status, StatusCode, get_current_span, set_span_in_context

from tracer_hooks import semconv
from tracer_hooks._guard import guard, report
from tracer_hooks.schema import to_text
from tracer_hooks.telemetry._capture import ContentPolicy, cut_text
from tracer_hooks.telemetry._outages import class_name, error_type
from tracer_hooks.telemetry._records import SpanEvent, SpanRecord, SpanStatus

if TYPE_CHECKING:
    from tracer_hooks.telemetry._run import RunInvocation

SUPPRESSED = "tracer_hooks.suppress"
"""Context key under which we stay silent."""

# The keys that the instrumentations of OpenTelemetry contrib, OpenInference and OpenLLMetry look for.
OTHERS_SILENT = dict.fromkeys(("suppress_instrumentation", "suppress_language_model_instrumentation"), True)
"""What a context holds in which other instrumentations stay silent."""


@contextmanager
def suppressed() -> Iterator[None]:
    """Within the block neither we nor other instrumentations trace: for the attributor's and rewriter's own calls."""
    with unrecorded():
        otel_context.attach(otel_context.Context({**otel_context.get_current(), **OTHERS_SILENT}))
        yield


@contextmanager
def unrecorded() -> Iterator[None]:
    """Within the block we record nothing; others go on. For code of the user's that is no part of a run."""
    previous = otel_context.get_current()
    otel_context.attach(otel_context.set_value(SUPPRESSED, True, previous))
    try:
        yield
    finally:
        otel_context.attach(previous)


def is_suppressed(context: otel_context.Context | None = None) -> bool:
    """Tell whether tracing is suppressed in ``context``, by default the current one."""
    return bool(otel_context.get_value(SUPPRESSED, context))


CURRENT = "tracer_hooks.invocation"
"""Context key of the operation that code runs in."""
_MAX_STACK_CHARS = 8_000
_MAX_STACK_READ = 8 * _MAX_STACK_CHARS
"""Characters of a stack trace that are looked at: AutoGen's hold one another, and grow with every level."""
_RANDOM = random.SystemRandom()
"""Not the module's own generator: a run must not use up the random numbers of a user who has seeded it."""
CANCELLED = "cancelled"
ABANDONED = "abandoned"
INTERRUPTED = "interrupted"


class Invocation:
    """An open operation. It ends once, by :meth:`fail`, :meth:`abandon` or a subclass's ``stop``.

    Args:
        run: The run it belongs to.
        name: What the span is named for, after the operation: ``"chat gpt-4o"``.
        parent: The enclosing operation; default the current one.
        start_ns: When it began, for operations that are noticed late; default now.
        attributes: Attributes known at the start.
    """

    operation: ClassVar[str]
    span_kind: ClassVar[SpanKind] = SpanKind.INTERNAL
    openinference_kind: ClassVar[str]

    def __init__(
        self,
        run: RunInvocation,
        name: str,
        *,
        parent: Invocation | None = None,
        start_ns: int | None = None,
        attributes: dict[str, Any] | None = None,
    ) -> None:
        self.run = run
        self.name = name
        self.span_name = f"{self.operation} {name}".rstrip()
        """``"{operation} {name}"``, as the conventions ask."""
        self.parent = parent if parent is not None else current_invocation()
        self.start_ns = start_ns if start_ns is not None else time.time_ns()
        self.ended = False
        self.error: BaseException | None = None
        self.errors_inside: list[tuple[str, str]] = []
        self._events: list[SpanEvent] = []
        self._ending = (SpanStatus.UNSET, "", self.start_ns)
        self._last_context: tuple[otel_context.Context, otel_context.Context] | None = None
        self.attributes: dict[str, Any] = {
            semconv.OPERATION_NAME: self.operation,
            semconv.OI_SPAN_KIND: self.openinference_kind,
            **run.common_attributes,
            **(attributes or {}),
        }
        if run is not self and not run.is_begun:
            run.begin()
        # A run that may be none has no span yet; see RunStart.tentative.
        self.span = self._start_span() if run.is_begun else INVALID_SPAN
        self.trace_id, self.span_id = self._identify()
        run.opened(self)

    @property
    def end_ns(self) -> int:
        """Time when it ended, in nanoseconds since the epoch; its start while it is open."""
        return max(self._ending[2], self.start_ns)

    def set(self, key: str, value: object) -> None:
        """Set an attribute; None values are left out. Keys come from :mod:`tracer_hooks.semconv`."""
        if not self.ended and value is not None:
            self.attributes[key] = value

    def context(self) -> otel_context.Context:
        """The OpenTelemetry context in which this operation's work has to run."""
        # One copy of the context, and one more for the span: a context is copied with each value that is set in it.
        context = otel_context.Context({**otel_context.get_current(), CURRENT: self, **self._also_set})
        return context if self.span is INVALID_SPAN else set_span_in_context(self.span, context)

    @property
    def _also_set(self) -> Mapping[str, object]:
        """Further values that are set in the context of its work."""
        return {}

    def active(self) -> _Active:
        """Make this the current operation within the block. Never hold it across a ``yield``: see :mod:`._streams`."""
        return _Active(self)

    def _context_within(self, outer: otel_context.Context) -> otel_context.Context:
        """:meth:`context`, kept for the next step of a stream, which begins in the same context."""
        last = self._last_context
        if last is not None and last[0] is outer:
            return last[1]
        context = self.context()
        self._last_context = (outer, context)
        return context

    def fail(self, error: BaseException, *, end_ns: int | None = None) -> None:
        """End with ``error``. Cancellation and an early generator close are not errors: they :meth:`abandon`."""
        try:
            if isinstance(error, (asyncio.CancelledError, KeyboardInterrupt)):
                return self.abandon(CANCELLED, end_ns=end_ns)
            if isinstance(error, GeneratorExit):
                return self.abandon(ABANDONED, end_ns=end_ns)
            if self.ended:
                return None
            self.error = error
            self.attributes[semconv.ERROR_TYPE] = error_type(error)
            if self.run.mark_error_seen(error, self):
                self._record_exception(error)
            self._tell_ancestors(error)
            self._end(SpanStatus.ERROR, to_text(error) or type(error).__name__, end_ns)
        except Exception as failure:
            report(f"record the failure of {self.span_name!r}", failure)
        return None

    def abandon(self, reason: str = ABANDONED, *, end_ns: int | None = None) -> None:
        """End without result and without error, since the work was cancelled, broken off or interrupted."""
        if not self.ended:
            self.attributes[semconv.ABANDONED] = reason
            self._end(SpanStatus.UNSET, "", end_ns)

    def _tell_ancestors(self, error: BaseException) -> None:
        entry = (type(error).__name__, to_text(error))
        outer = self.parent
        while outer is not None and outer.run is self.run:
            outer.errors_inside.append(entry)
            outer = outer.parent

    def _start_span(self) -> Span:
        try:
            context = otel_context.get_current()
            around = self.parent.span if self.parent is not None else INVALID_SPAN
            if around is not INVALID_SPAN and around is not get_current_span(context):
                context = set_span_in_context(around, context)
            # A sampler may decide on the operation; everything else is set once, at the end.
            start = {semconv.OPERATION_NAME: self.operation}
            shown = self.run.capture.export_policy.name(self.span_name)
            return self.run.tracer.start_span(
                shown, context, kind=self.span_kind, attributes=start, start_time=self.start_ns
            )
        except Exception as failure:
            report(f"start the span {self.span_name!r}", failure)
            return INVALID_SPAN

    def _identify(self) -> tuple[str, str]:
        """The span's ids, or ids of our own where no provider is set up or the span's sampler dropped everything."""
        context = self.span.get_span_context()
        # A tracer that records nothing hands on the enclosing span's ids.
        outer = self.parent.span if self.parent is not None else get_current_span()
        if context.is_valid and context.span_id != outer.get_span_context().span_id:
            return f"{context.trace_id:032x}", f"{context.span_id:016x}"
        own_parent = self.parent is not None and self.parent.run is self.run
        trace_id = (
            self.parent.trace_id if own_parent and self.parent is not None else f"{_RANDOM.getrandbits(128) or 1:032x}"
        )
        return trace_id, f"{_RANDOM.getrandbits(64) or 1:016x}"

    def _record_exception(self, error: BaseException) -> None:
        capture = self.run.capture
        kept = _exception_attributes(error, capture.record_policy, capture.record_policy.text(to_text(error)))
        self._events.append(SpanEvent(name=semconv.EVENT_EXCEPTION, time_ns=time.time_ns(), attributes=kept))
        if self.span.is_recording():
            message = capture.cut(capture.export_policy.text(to_text(error)))
            exported = _exception_attributes(error, capture.export_policy, message)
            if not capture.export_policy.blocks_all:
                stack = to_text("".join(traceback.format_exception(error)))[-_MAX_STACK_READ:]
                # Cut after redaction: half a secret is recognised by no pattern.
                redacted = capture.export_policy.text(stack)[-_MAX_STACK_CHARS:]
                exported[semconv.EXCEPTION_STACKTRACE] = cut_text(redacted, capture.config.max_attribute_bytes)
            self.span.add_event(semconv.EVENT_EXCEPTION, exported)

    def _end(self, status: SpanStatus, message: str, end_ns: int | None) -> None:
        self.ended = True
        self._last_context = None  # it refers back to this
        end_ns = end_ns if end_ns is not None else time.time_ns()
        # Plain try blocks: these run for every span, and a context manager each would cost a tenth of the whole.
        try:
            self._ending = (status, message, end_ns)
            self.run.closed(self)
        except Exception as failure:
            report(f"record {self.span_name!r}", failure)
        try:
            if self.span.is_recording():
                self.span.set_attributes(self.run.capture.exported(self.attributes, self.run.encoded))
                described = self._described(message, self.run.capture.export_policy)
                if status is SpanStatus.ERROR:  # else left UNSET: a status of OK could never be overridden
                    self.span.set_status(Status(StatusCode.ERROR, self.run.capture.cut(described)))
        except Exception as failure:
            report(f"export {self.span_name!r}", failure)
        try:
            self.span.end(end_ns)
        except Exception as failure:
            report(f"end the span {self.span_name!r}", failure)

    def _described(self, message: str, policy: ContentPolicy) -> str:
        """The status's description as ``policy`` allows it: of content that is kept back, its kind remains."""
        return self._kind_of_failure() if policy.blocks_all and message else policy.text(message)

    def _kind_of_failure(self) -> str:
        """Description of a status where content is kept back: the exception's class, or that a tool failed."""
        return str(self.attributes.get(semconv.ERROR_TYPE) or "failed")

    def to_record(self) -> SpanRecord:
        """Record of the ended operation. It is made when a trajectory is asked for: most runs' never is."""
        status, message, _ = self._ending
        parent = self.parent
        return SpanRecord(
            trace_id=self.trace_id,
            span_id=self.span_id,
            parent_id=parent.span_id if parent is not None and parent.run is self.run else None,
            name=self.run.capture.record_policy.name(self.span_name),
            kind="client" if self.span_kind is SpanKind.CLIENT else "internal",
            start_ns=self.start_ns,
            end_ns=self.end_ns,
            attributes=self.run.capture.recorded(self.attributes),
            status=status,
            status_message=self._described(message, self.run.capture.record_policy),
            events=tuple(self._events),
            schema_url=semconv.SCHEMA_URL,
        )


def _exception_attributes(error: BaseException, policy: ContentPolicy, message: str) -> dict[str, Any]:
    """The attributes of an exception's event; what is kept back is named, so that nobody looks for it elsewhere."""
    attributes: dict[str, Any] = {semconv.EXCEPTION_TYPE: class_name(type(error))}
    if policy.blocks_all:
        attributes[semconv.WITHHELD] = [semconv.EXCEPTION_MESSAGE, semconv.EXCEPTION_STACKTRACE]
    else:
        attributes[semconv.EXCEPTION_MESSAGE] = message
    return attributes


class _Active:
    """See :meth:`Invocation.active`."""

    __slots__ = ("_invocation", "_previous")

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation

    def __enter__(self) -> None:
        self._previous = previous = otel_context.get_current()
        try:
            context = self._invocation._context_within(previous)
        except Exception as error:
            # Current in any case: a hooked entry point passes its own call through only while its run is current.
            context = otel_context.set_value(CURRENT, self._invocation)
            report(f"make the span {self._invocation.span_name!r} the current one", error)
        otel_context.attach(context)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # Attaching the previous context, not detaching a token: a token is refused, with a logged error, when the
        # block ends in another copy of the context than it began in, as happens in CrewAI's and LangGraph's threads.
        otel_context.attach(self._previous)


def current_invocation() -> Invocation | None:
    """The operation that the calling code runs in; None outside a hooked run or where tracing is suppressed."""
    # A context is a dict. Adapters ask at every event of the framework, so it is looked into without further calls.
    context = otel_context.get_current()
    value = context.get(CURRENT)
    return value if isinstance(value, Invocation) and not context.get(SUPPRESSED) else None


T = TypeVar("T")
OnItem = Callable[[T], None]


class AsyncSteps(Generic[T]):
    """Takes the items of an asynchronous generator one by one, each step run inside an operation.

    It is no generator itself. When a stream is broken off without being closed, the event loop closes each generator of
    the chain by itself and in no certain order, which an inner one may answer with "async generator ignored
    GeneratorExit". So there is at most one generator of ours around the user's.

    Args:
        source: The generator.
        invocation: The operation.
        on_item: Sees each item first.
    """

    def __init__(self, source: AsyncIterator[T], invocation: Invocation, on_item: OnItem[T] | None = None) -> None:
        self._source = source
        self._invocation = invocation
        self._on_item = on_item

    def __aiter__(self) -> AsyncSteps[T]:
        return self

    async def __anext__(self) -> T:
        with self._invocation.active():
            item = await anext(self._source)
        if self._on_item is not None:
            with guard("look at a streamed item"):
                self._on_item(item)
        return item

    async def aclose(self) -> None:
        """Close the generator, if it can be closed."""
        close = getattr(self._source, "aclose", None)
        if close is not None:
            await close()


async def drive_async(
    source: AsyncIterator[T], invocation: Invocation, *, on_item: OnItem[T] | None = None, fails: bool = True
) -> AsyncGenerator[T, None]:
    """Yield what ``source`` yields, each step run inside ``invocation``, which fails or is abandoned with it.

    The caller ends the invocation after a normal end, and with ``fails=False`` after any end. ``on_item`` sees each
    item first.
    """
    try:
        while True:
            try:
                with invocation.active():
                    item = await anext(source)  # not by AsyncSteps, which would be one more frame in every traceback
            except StopAsyncIteration:
                return
            if on_item is not None:
                with guard("look at a streamed item"):
                    on_item(item)
            yield item
    except BaseException as error:
        if fails:
            invocation.fail(error)
        raise
    finally:
        close = getattr(source, "aclose", None)
        if close is not None:
            await close()


def drive(
    source: Iterator[T], invocation: Invocation, *, on_item: OnItem[T] | None = None, fails: bool = True
) -> Generator[T, Any, Any]:
    """The same for plain generators; see :func:`drive_async`. What is sent or thrown in goes on to ``source``.

    Returns:
        What ``source`` returns.
    """
    step: Callable[[], T] = functools.partial(next, source)
    try:
        while True:
            try:
                with invocation.active():
                    item = step()
            except StopIteration as stop:
                return stop.value
            if on_item is not None:
                with guard("look at a streamed item"):
                    on_item(item)
            try:
                step = _next_step(source, (yield item))
            except GeneratorExit:
                raise
            except BaseException as thrown:
                if not isinstance(source, Generator):
                    raise
                step = functools.partial(source.throw, thrown)
    except BaseException as error:
        if fails:
            invocation.fail(error)
        raise
    finally:
        close = getattr(source, "close", None)
        if close is not None:
            close()


def _next_step(source: Iterator[T], sent: Any) -> Callable[[], T]:
    if sent is not None and isinstance(source, Generator):
        return functools.partial(source.send, sent)
    return functools.partial(next, source)
