"""Publishing in the background: late traces, backends that fail, what is lost, and the ends of processes."""

from __future__ import annotations

import logging
import os
import threading
import time
import timeit
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

import tracer_hooks
from tracer_hooks import _background
from tracer_hooks._background import Breaker
from tracer_hooks.config import CaptureConfig
from tracer_hooks.errors import ConfigError
from tracer_hooks.publishing import Publisher, _publisher, destinations_of, send_request
from tracer_hooks.runtime._options import HookOptions
from tracer_hooks.telemetry import Capture

from ._backend import OTHER, SPAN, TRACE, ScriptedBackend, blamed, failed_run, serving

OFF = Capture(CaptureConfig())
SECOND = "1af7651916cd43dd8448eb211c80319c"


@pytest.fixture(autouse=True)
def queues_of_their_own(strict_mode: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pauses are short, and what a test leaves to be written is no matter of the next one."""
    monkeypatch.setattr(_publisher, "_FIRST_PAUSE_S", 0.02)
    monkeypatch.setattr(Breaker, "_FIRST_S", 0.05)
    monkeypatch.setenv("PHOENIX_API_KEY", "SECRET")
    monkeypatch.setenv("TRACER_HOOKS_STORE", "off")
    known = list(_background._queues)
    yield
    _publisher.queue_for.cache_clear()
    for queue in [queue for queue in _background._queues if queue not in known]:
        queue.give_up()
        _background._queues.remove(queue)


@pytest.fixture
def backend() -> Iterator[ScriptedBackend]:
    with serving(ScriptedBackend()) as served:
        yield served


def publish(backend: ScriptedBackend, trace_id: str = TRACE, kind: str = "phoenix") -> None:
    Publisher(destinations_of(backend.url(kind))).publish(failed_run(trace_id), blamed(), OFF)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def traces_of(backend: ScriptedBackend) -> set[str]:
    return {entry["trace_id"] for entry in backend.entries.values() if "trace_id" in entry}


# --- traces that are late --------------------------------------------------------------------------------------------
def test_a_trace_that_is_late_is_waited_for_while_others_go_on(backend: ScriptedBackend) -> None:
    backend.traces = {SECOND, SPAN}
    publish(backend, TRACE)
    publish(backend, SECOND)
    wait_for(lambda: traces_of(backend) == {SECOND})
    backend.traces.add(TRACE)
    assert tracer_hooks.flush(10)
    assert traces_of(backend) == {TRACE, SECOND}


def test_a_trace_that_never_arrives_is_said_once(
    backend: ScriptedBackend, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_publisher, "_PATIENCE_S", 0.05)
    backend.traces = set()
    publish(backend, TRACE)
    publish(backend, SECOND)
    assert not tracer_hooks.flush(10)  # it says that something was lost
    (said,) = warnings(caplog)
    assert "has no such trace. Set a TracerProvider that exports to it" in said


class Exporter(SpanExporter):
    """Hands its spans to the backend; counts how often."""

    def __init__(self, backend: ScriptedBackend) -> None:
        self.backend = backend
        self.hangs = threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        while self.hangs.is_set():
            time.sleep(0.01)
        for span in spans:
            assert span.context is not None
            assert self.backend.traces is not None
            self.backend.traces |= {f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}"}
        return SpanExportResult.SUCCESS


def hooked(provider: TracerProvider | None = None, **options: Any) -> Any:
    @tracer_hooks.tool
    def stock(task: str) -> str:
        return "17"

    @tracer_hooks.agent
    def clerk(task: str) -> str:
        return "12"

    @tracer_hooks.hook(expected="17", tracer_provider=provider, **options)
    def team(task: str) -> str:
        stock(task)
        return clerk(task)

    return team


def test_a_hooked_teams_failure_is_visible_long_before_its_spans_would_be_exported(backend: ScriptedBackend) -> None:
    backend.traces, provider = set(), TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Exporter(backend), schedule_delay_millis=60_000))
    hooked(provider, publish=backend.url("phoenix"))("how many books?")
    ended = time.monotonic()
    wait_for(lambda: len(backend.entries) == 2)
    assert time.monotonic() - ended < 3
    assert {entry["result"]["label"] for entry in backend.entries.values()} == {"decisive", "clerk"}
    provider.shutdown()


def test_a_provider_that_hangs_is_not_waited_for(backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_publisher, "_FLUSH_S", 0.05)
    exporter, provider = Exporter(backend), TracerProvider()
    exporter.hangs.set()
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=60_000))
    hooked(provider, publish=backend.url("phoenix"))("how many books?")
    wait_for(lambda: len(backend.entries) == 2)
    backend.traces = set()
    exporter.hangs.clear()
    provider.shutdown()


@pytest.mark.parametrize("provider", [None, TracerProvider(sampler=ALWAYS_OFF)], ids=["no provider", "not sampled"])
def test_a_run_without_a_trace_is_not_published_and_that_is_said_once(
    provider: TracerProvider | None,
    backend: ScriptedBackend,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", None)  # a framework may have set one
    team = hooked(provider, publish=[backend.url("phoenix"), backend.url("mlflow")])
    team("how many books?")
    team("how many?")
    assert tracer_hooks.flush(10)
    (said,) = warnings(caplog)
    assert "the run has no trace. Set a TracerProvider that exports to phoenix://127.0.0.1" in said
    assert not backend.requests


# --- backends that fail ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("failure", [(500, "oops"), (404, "<html>"), (405, ""), "hangs", "down"])
def test_a_backend_that_fails_is_said_once_and_gets_everything_when_it_is_back(
    failure: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(send_request.__kwdefaults__ or {}, "timeout_s", 0.1)
    backend = ScriptedBackend()
    with serving(backend):
        publisher = Publisher(destinations_of(backend.url("phoenix")))
        if failure == "hangs":
            backend.hangs.set()
        elif failure != "down":
            backend.failure = failure
        if failure != "down":
            for number in range(20):
                publisher.publish(failed_run(f"{number:032x}"), blamed(), OFF)
            assert not tracer_hooks.flush(10)
    if failure == "down":
        for number in range(20):
            publisher.publish(failed_run(f"{number:032x}"), blamed(), OFF)
        assert not tracer_hooks.flush(10)
    (said,) = warnings(caplog)
    assert "/office: Phoenix at 'http://127.0.0.1" in said
    assert "Up to 1,000 wait in memory, and it is tried again" in said
    assert "SECRET" not in caplog.text
    backend.failure = None
    with serving(backend, backend.port):
        wait_for(lambda: len(traces_of(backend)) == 20)
        assert tracer_hooks.flush(10)
    assert len(warnings(caplog)) == 1


def test_what_is_over_the_bound_is_counted_and_said_once(
    backend: ScriptedBackend, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_publisher, "MOST_WAITING", 3)
    backend.failure = (503, "")
    for number in range(8):
        publish(backend, f"{number:032x}")
    assert not tracer_hooks.flush(10)
    kept = len(_publisher.queue_for(destinations_of(backend.url("phoenix"))[0])._waiting)
    backend.failure = None
    wait_for(lambda: len(traces_of(backend)) == kept)
    assert tracer_hooks.flush(10)
    assert [said for said in warnings(caplog) if f"tracer-hooks lost {8 - kept} diagnoses" in said]
    assert len(warnings(caplog)) == 2


def test_a_wrong_key_is_said_once_and_not_tried_for_ever(
    backend: ScriptedBackend, caplog: pytest.LogCaptureFixture
) -> None:
    backend.failure = (401, "Invalid token SECRET")
    for number in range(5):
        publish(backend, f"{number:032x}")
    assert not tracer_hooks.flush(10)
    time.sleep(0.2)
    assert len(backend.requests) <= 5
    (said,) = warnings(caplog)
    assert "refuses the key (401). Set PHOENIX_API_KEY" in said
    assert "SECRET" not in caplog.text


def test_one_that_is_refused_is_dropped_and_the_next_is_written(
    backend: ScriptedBackend, caplog: pytest.LogCaptureFixture
) -> None:
    backend.failure = (422, '{"detail": []}')
    publish(backend, TRACE)
    wait_for(lambda: bool(warnings(caplog)))
    backend.failure = None
    publish(backend, SECOND)
    wait_for(lambda: traces_of(backend) == {SECOND})


def test_no_caller_waits_a_millisecond_even_for_a_backend_that_hangs(backend: ScriptedBackend) -> None:
    backend.hangs.set()
    publisher, run, found = Publisher(destinations_of(backend.url("phoenix"))), failed_run(), blamed(contributing=0)
    publisher.publish(run, found, OFF)
    times = timeit.repeat(lambda: publisher.publish(run, found, OFF), number=1, repeat=50)
    assert sorted(times)[25] < 0.001


# --- options and ends ------------------------------------------------------------------------------------------------
def test_the_environment_says_where_and_an_argument_goes_before_it(
    backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACER_HOOKS_PUBLISH", f"{backend.url('phoenix')}, {backend.url('mlflow')}")
    options = [HookOptions(publish=given) for given in (None, "off", backend.url("mlflow"))]
    kinds = [[each.kind for each in one.publisher.destinations] if one.publisher else [] for one in options]
    assert kinds == [["phoenix", "mlflow"], [], ["mlflow"]]
    monkeypatch.setenv("TRACER_HOOKS_PUBLISH", "http://me:SECRET@host")
    with pytest.raises(ConfigError, match="a URL of 'http' names no backend") as caught:
        hooked()
    assert "SECRET" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_writes_what_is_its_own_and_nothing_of_its_parents(backend: ScriptedBackend) -> None:
    backend.failure = (503, "")
    publish(backend, TRACE)
    assert not tracer_hooks.flush(10)
    child = os.fork()
    if child == 0:
        queue = _publisher.queue_for(destinations_of(backend.url("phoenix"))[0])
        is_empty = not queue._waiting
        publish(backend, SECOND)
        os._exit(0 if is_empty and len(queue._waiting) + len(queue._going) == 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    backend.failure = None
    wait_for(lambda: traces_of(backend) == {TRACE})
    assert [entry["span_id"] for entry in backend.entries.values() if "span_id" in entry] == [SPAN]
    assert OTHER not in str(backend.entries)
