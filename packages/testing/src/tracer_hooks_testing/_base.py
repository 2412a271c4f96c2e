"""Base of the contract: building teams, running them observed, and what is compared around a run."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import types
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import StatusCode

from tracer_hooks import semconv
from tracer_hooks.config import CaptureConfig
from tracer_hooks.frameworks import Adapter, Capability, Intervention, PatchSet, RunHost, get_adapter
from tracer_hooks.schema import Step, Trajectory
from tracer_hooks.testing import RecordingHost, Rule, ScriptedLLM, observed
from tracer_hooks_testing._teams import TASK, ContractTeams, NotOfferedError, Scenario


class CancelledAt:
    """Runs a coroutine, and cancels its task at the ``point``-th point at which it waits.

    That is what a caller's ``task.cancel()`` does, but at every point there is and not only where a test's timing hits.

    Args:
        point: Counted from 0; one that the coroutine never comes to cancels nothing.

    Attributes:
        passed: How many points the coroutine has come to.
    """

    def __init__(self, point: int | None = None) -> None:
        self.passed = 0
        self._point = point

    @property
    def was_reached(self) -> bool:
        """Tell whether the coroutine came to the point."""
        return self._point is not None and self.passed > self._point

    @types.coroutine
    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Await ``coroutine``; must be the outermost thing of its task but for plain awaits."""
        resume, value = coroutine.send, None
        while True:
            try:
                awaited = resume(value)
            except StopIteration as stop:
                return stop.value
            if self.passed == self._point:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            self.passed += 1
            try:
                value, resume = (yield awaited), coroutine.send
            except BaseException as error:
                value, resume = error, coroutine.throw


class Balance(SpanProcessor):
    """Counts the spans that were started and not ended.

    Attributes:
        started: The operations of all that were started.
        open: The names of those that go on.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.started: list[str] = []
        self.open: dict[int, str] = {}

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        with self._lock:
            self.started.append(str((span.attributes or {}).get(semconv.OPERATION_NAME)))
            self.open[id(span.get_span_context())] = span.name

    def on_end(self, span: ReadableSpan) -> None:
        with self._lock:
            self.open.pop(id(span.get_span_context()), None)


WAYS = ("run", "arun", "stream", "astream")
every_way = pytest.mark.parametrize("way", WAYS)


@dataclass(frozen=True)
class Ending:
    """End of a run, as plain data that can be compared: what it gave, or what it raised."""

    items: tuple[Any, ...] = ()
    kinds: tuple[type, ...] = ()
    error: tuple[type, str] | None = None


class _DetachErrors(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


class ContractBase:
    """Builds, hooks and runs teams; see :class:`~tracer_hooks.testing.AdapterContract`."""

    teams: ClassVar[ContractTeams]

    @pytest.fixture(autouse=True)
    def _surroundings(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """Strict mode, one event loop for the whole test, and a look at what OpenTelemetry complains about."""
        monkeypatch.setenv("TRACER_HOOKS_STRICT", "1")
        self.monkeypatch = monkeypatch
        errors = _DetachErrors()
        logger = logging.getLogger("opentelemetry.context")
        logger.addHandler(errors)
        with ExitStack() as self._stack, asyncio.Runner() as self._runner:
            yield
        logger.removeHandler(errors)
        assert errors.messages == []
        assert trace.get_current_span() is trace.INVALID_SPAN

    # --- building --------------------------------------------------------------------------------------------------
    @property
    def adapter(self) -> Adapter:
        """The adapter under test."""
        return get_adapter(self.teams.adapter)

    def llm(self, rules: Sequence[Rule] | Scenario) -> ScriptedLLM:
        """A scripted model that is stopped with the test."""
        script = self.teams.script(rules) if isinstance(rules, Scenario) else rules
        return self._stack.enter_context(ScriptedLLM(rules=script))

    def build(self, builder: str, *args: Any, **kwargs: Any) -> Any:
        """A team; the test is skipped with the reason when the framework has no such thing."""
        return self.offered(getattr(self.teams, builder), *args, **kwargs)

    def offered(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call ``function``; what the framework does not offer is a skip that shows the reason."""
        try:
            return function(*args, **kwargs)
        except NotOfferedError as reason:
            pytest.skip(f"{self.teams.adapter}: {reason}")

    def needs(self, capability: Capability) -> None:
        """Skip where the adapter does not declare ``capability``."""
        if capability not in self.adapter.capabilities:
            pytest.skip(f"{self.teams.adapter}: the adapter does not declare {capability.value!r}")

    # --- hooking ---------------------------------------------------------------------------------------------------
    def hook(self, team: Any, host: RunHost) -> PatchSet:
        """Hook a team until the end of the test at the latest."""
        patches = self.adapter.hook(team, host)
        self._stack.callback(patches.undo)
        return patches

    @contextmanager
    def observe(
        self, team: Any, *, capture: CaptureConfig | None = None, intervention: Intervention | None = None
    ) -> Iterator[RecordingHost]:
        """Hook ``team`` within the block; afterwards every run and every span has to be ended."""
        balance = Balance()
        with observed(team, adapter=self.adapter, capture=capture, intervention=intervention) as observer:
            observer.tracer_provider.add_span_processor(balance)
            yield observer
        assert [run.name for run in observer.runs if not run.ended] == []
        assert list(balance.open.values()) == [], "spans that were never ended"

    # --- running ---------------------------------------------------------------------------------------------------
    def run_async(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine in the test's loop; afterwards its context must be as it was before."""
        before = trace.get_current_span()
        context = contextvars.copy_context()
        try:
            return self._runner.run(work, context=context)
        except NotOfferedError as reason:
            pytest.skip(f"{self.teams.adapter}: {reason}")
        finally:
            assert context.run(trace.get_current_span) is before, "the current span was left behind"

    def conduct(self, way: str, team: Any, task: str = TASK) -> list[Any]:
        """Run ``team`` in one of the ways; gives the result, or every item of the stream, in native form."""
        try:
            return self._WAYS[way](self, team, task)
        except NotOfferedError as reason:
            pytest.skip(f"{self.teams.adapter}: {reason}")

    def run(self, team: Any, task: str = TASK) -> Any:
        """Run ``team`` to its end."""
        (result,) = self.conduct("run", team, task)
        return result

    def ending(self, way: str, team: Any, task: str = TASK) -> Ending:
        """Run ``team``, and say how that ended."""
        try:
            items = self.conduct(way, team, task)
        except Exception as error:
            return Ending(error=(type(error), self.teams.message(error)))
        return Ending(tuple(self.teams.plain(item) for item in items), tuple(type(item) for item in items))

    def _call(self, team: Any, task: str) -> list[Any]:
        if type(self.teams).run is ContractTeams.run:  # its loop would be another than that of the team's clients
            return self._await(team, task)
        return [self.teams.run(team, task)]

    def _await(self, team: Any, task: str) -> list[Any]:
        return [self.run_async(self.teams.arun(team, task))]

    def _iterate(self, team: Any, task: str) -> list[Any]:
        return list(self.teams.stream(team, task))

    def _aiterate(self, team: Any, task: str) -> list[Any]:
        async def collect() -> list[Any]:
            return [item async for item in self.teams.astream(team, task)]

        return list(self.run_async(collect()))

    def _tokens(self, team: Any, task: str) -> list[Any]:
        return list(self.teams.tokens(team, task))

    def _atokens(self, team: Any, task: str) -> list[Any]:
        async def collect() -> list[Any]:
            return [item async for item in self.teams.atokens(team, task)]

        return list(self.run_async(collect()))

    _WAYS: ClassVar[dict[str, Callable[[ContractBase, Any, str], list[Any]]]] = {
        "run": _call,
        "arun": _await,
        "stream": _iterate,
        "astream": _aiterate,
        "tokens": _tokens,
        "atokens": _atokens,
    }

    def astream(self, team: Any, task: str = TASK) -> AsyncIterator[Any]:
        """The framework's asynchronous generator; skips where there is none."""
        stream: AsyncIterator[Any] = self.offered(self.teams.astream, team, task)
        return stream


# --- looking at what was observed -----------------------------------------------------------------------------------
def root_of(observer: RecordingHost) -> ReadableSpan:
    """The span of the only run."""
    (root,) = spans_of(observer, semconv.OP_INVOKE_WORKFLOW)
    return root


def spans_of(observer: RecordingHost, operation: str) -> list[ReadableSpan]:
    """The exported spans of one operation, by start time."""
    found = [span for span in observer.spans if attribute(span, semconv.OPERATION_NAME) == operation]
    return sorted(found, key=lambda span: span.start_time or 0)


def attribute(span: ReadableSpan, key: str) -> Any:
    """An attribute of a span; None when it is not set."""
    return (span.attributes or {}).get(key)


def errors_of(observer: RecordingHost) -> list[str]:
    """The names of the spans whose status is ERROR."""
    return [span.name for span in observer.spans if span.status.status_code is StatusCode.ERROR]


def exceptions_of(observer: RecordingHost) -> list[str]:
    """The types of the exceptions that were recorded as span events."""
    events = [event for span in observer.spans for event in span.events if event.name == semconv.EVENT_EXCEPTION]
    return [str((event.attributes or {}).get(semconv.EXCEPTION_TYPE)) for event in events]


def steps_by(trajectory: Trajectory, agent: str) -> list[Step]:
    """The steps of one agent."""
    return [step for step in trajectory.steps if step.agent == agent]
