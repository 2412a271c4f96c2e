"""Cost of ``tracer_hooks.observe()`` to the run: time a span, to a diagnosis, to publish, and at the bounds.

    python benchmarks/observe.py [--rounds 9] [--spans 3000] [--open 10000] [--json FILE]

Spans are begun and ended on a provider of the OpenTelemetry SDK without an exporter, with and without an observer, in
turn; so what is measured beside each other shares whatever else the machine does.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import use_span

import tracer_hooks
from tracer_hooks.config import CaptureConfig, ContentCapture
from tracer_hooks.publishing import publisher_for
from tracer_hooks.schema import RunOutcome, Step, Trajectory
from tracer_hooks.telemetry import Capture

MESSAGES = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "There are 12 copies. " * 20}]}])
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": MESSAGES}


def span_microseconds(spans: int, *, observed: bool) -> float:
    """Time that one span of a run takes, in microseconds."""
    provider = TracerProvider(shutdown_on_exit=False)
    observer = tracer_hooks.observe(store="off", provider=provider) if observed else None
    tracer = provider.get_tracer("some.framework")
    with tracer.start_as_current_span("invoke_agent a"):
        began = time.perf_counter()
        for _ in range(spans):
            with tracer.start_as_current_span("chat", attributes=CHAT):
                pass
        spent = time.perf_counter() - began
    if observer is not None:
        observer.stop()
    return spent / spans * 1e6


def open_traces(number: int) -> dict[str, float]:
    """Time a span and memory where ``number`` runs that never end are open."""
    provider = TracerProvider(shutdown_on_exit=False)
    observer = tracer_hooks.observe(store="off", provider=provider)
    tracer = provider.get_tracer("some.framework")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    for _ in range(number):
        root = tracer.start_span("invoke_agent a")
        with use_span(root), tracer.start_as_current_span("chat", attributes=CHAT):
            pass
    spent = time.perf_counter() - began
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if observer.collector is not None:
        observer.collector.forget()
    observer.stop()
    return {"µs a span": spent / (2 * number) * 1e6, "MB": grown / 1024}


def seconds_to_diagnosis(rounds: int) -> list[float]:
    """Time from the end of a failed run until its callback is called, in seconds."""
    provider = TracerProvider(shutdown_on_exit=False)
    told = threading.Event()
    on_failure: Callable[[Any], Any] = lambda run: told.set()  # noqa: E731
    observer = tracer_hooks.observe(expected="17", store="off", provider=provider, on_failure=on_failure)
    tracer = provider.get_tracer("some.framework")
    waits = []
    for _ in range(rounds):
        told.clear()
        with tracer.start_as_current_span("invoke_agent a", attributes={"gen_ai.operation.name": "invoke_agent"}):
            for _ in range(20):
                with tracer.start_as_current_span("chat", attributes=CHAT):
                    pass
        began = time.perf_counter()
        if not told.wait(30):
            raise SystemExit("a failed run was not diagnosed within 30 s")
        waits.append(time.perf_counter() - began)
    observer.stop()
    return waits


def publish_milliseconds(number: int) -> list[float]:
    """Time that publishing takes in the thread that diagnoses, for a backend that is down, in milliseconds."""
    steps = tuple(Step(index=place, agent="a", content=f"There are {place} copies. " * 20) for place in range(20))
    run = Trajectory(run_id="r", trace_id="1" * 32, team="desk", steps=steps, outcome=RunOutcome.FAILED)
    found = tracer_hooks.diagnose(run, expected="17")
    publisher = publisher_for("phoenix://127.0.0.1:1/default")
    capture = Capture(CaptureConfig(export=ContentCapture.REDACTED))
    spent = []
    for _ in range(number):
        began = time.perf_counter()
        publisher.publish(run, found, capture)
        spent.append((time.perf_counter() - began) * 1e3)
    return spent


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--spans", type=int, default=3_000)
    parser.add_argument("--open", type=int, default=10_000)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    span_microseconds(given.spans, observed=True)
    pairs = [
        (span_microseconds(given.spans, observed=False), span_microseconds(given.spans, observed=True))
        for _ in range(given.rounds)
    ]
    plain, observed = (statistics.median(values) for values in zip(*pairs, strict=True))
    added = [after - before for before, after in pairs]
    waits = seconds_to_diagnosis(given.rounds)
    crowded = open_traces(given.open)
    published = publish_milliseconds(500)
    found = {
        "span without": plain,
        "span observed": observed,
        "added a span, median": statistics.median(added),
        "added a span, most": max(added),
        "seconds to diagnosis, median": statistics.median(waits),
        "seconds to diagnosis, most": max(waits),
        "ms to publish, median": statistics.median(published),
        "ms to publish, most": max(published),
        f"µs a span with {given.open} open runs": crowded["µs a span"],
        f"MB for {given.open} open runs": crowded["MB"],
    }
    for name, value in found.items():
        print(f"{name:40} {value:8.2f}")
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
