import time
from concurrent.futures import ThreadPoolExecutor

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode

from tracer_hooks import semconv
from tracer_hooks.testing import CountingIds, span_tree, ticking_clock


def test_ids_count_from_one_and_are_given_out_once() -> None:
    ids = CountingIds()
    assert [ids.generate_span_id() for _ in range(3)] == [1, 2, 3]
    assert ids.generate_trace_id() == 1
    given: list[int] = []
    with ThreadPoolExecutor(4) as pool:
        for _ in range(4):
            pool.submit(lambda: given.extend(ids.generate_span_id() for _ in range(200)))
    assert sorted(given) == list(range(4, 804))


def test_the_clock_ticks_evenly_and_is_given_back() -> None:
    real = time.time_ns
    with ticking_clock(start_ns=100, tick_ns=5):
        assert [time.time_ns() for _ in range(3)] == [100, 105, 110]
    assert time.time_ns is real


def test_the_tree_shows_nesting_order_steps_and_errors() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("root"):
        late = tracer.start_span("late", start_time=20)
        early = tracer.start_span("early", start_time=10, attributes={semconv.STEP_INDEX: 3})
        early.set_status(Status(StatusCode.ERROR))
        early.end()
        late.end()
    with tracer.start_as_current_span("other root"):
        pass
    spans = exporter.get_finished_spans()
    assert span_tree(spans) == "root\n  early [3] ERROR\n  late\nother root"
    assert span_tree(spans, with_steps=False).splitlines()[1] == "  early ERROR"
    assert span_tree([]) == ""
    early_alone = [span for span in spans if span.name == "early"]
    assert span_tree(early_alone) == "early [3] ERROR", "a span whose parent is not there is a root"
