"""Spans in a file, and the run that is read back from it."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExportResult

import tracer_hooks
from tracer_hooks import _guard
from tracer_hooks.datasets import load
from tracer_hooks.schema import Trajectory, Usage
from tracer_hooks.telemetry import ChatReply, OTLPFileExporter, RequestedTool


@tracer_hooks.tool
def price(route: str) -> str:
    return "25.00 EUR"


@tracer_hooks.tool
def fee(route: str) -> str:
    raise LookupError("no fee known")


@tracer_hooks.model(name="m-1")
def ask(messages: list[dict[str, str]]) -> ChatReply:
    usage = Usage(input_tokens=12, output_tokens=3)
    if "look" in messages[0]["content"]:
        calls = [RequestedTool(name="price", arguments={"route": "A-B"}, id="c1")]
        return ChatReply(content="", tool_calls=calls, usage=usage)
    return ChatReply(content="It is 75.00 EUR.", usage=usage)


@tracer_hooks.agent(instructions="You look it up.", tools=["price", "fee"])
def researcher(task: str) -> str:
    ask([{"role": "system", "content": "You look it up."}, {"role": "user", "content": task}])
    found = price("A-B")
    try:
        fee("A-B")
    except LookupError as error:
        found += f", {error}"
    tracer_hooks.hand_off("writer")
    return found


@tracer_hooks.agent(instructions="You write.")
def writer(found: str) -> str:
    return ask([{"role": "system", "content": "You write."}, {"role": "user", "content": found}]).content


def office(task: str) -> str:
    return writer(researcher(task))


def traced(path: Path, **options: Any) -> tracer_hooks.TeamRun:
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPFileExporter(path)))
    run = tracer_hooks.run(
        office, "What does it cost?", expected="82.50", tracer_provider=provider, store="off", **options
    )
    provider.shutdown()
    return run


def essentials(trajectory: Trajectory) -> dict[str, Any]:
    return trajectory.model_dump(exclude={"reference"})


def test_the_run_that_is_read_back_is_the_run(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "traces.jsonl"
    run = traced(path, capture="full")
    (record,) = load(path)
    assert record.error is None
    assert record.trajectory is not None
    assert essentials(record.trajectory) == essentials(run.trajectory)
    assert [step.kind.value for step in record.trajectory.steps] == ["handoff", "message"]
    assert [call.error for call in record.trajectory.steps[0].tool_calls] == [None, "no fee known"]


@pytest.mark.parametrize(
    "options",
    [{"retries": 1, "repair": "plain"}, {"retries": 1}],
    ids=["plain", "repair"],
)
def test_retries_and_repairs_are_runs_of_their_own_in_the_file(tmp_path: Path, options: dict[str, Any]) -> None:
    """What is resumed takes its first steps' times from the run before; the spans have those of the replay."""
    path = tmp_path / "traces.jsonl"
    run = traced(path, capture="full", **options)
    assert [untimed(record.trajectory) for record in load(path) if record.trajectory] == [
        untimed(attempt.trajectory) for attempt in run.attempts
    ]


def untimed(trajectory: Trajectory) -> dict[str, Any]:
    steps = [step.model_copy(update={"started_at": None, "ended_at": None}) for step in trajectory.steps]
    return essentials(trajectory.model_copy(update={"steps": tuple(steps)}))


def test_without_content_names_and_status_remain(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    run = traced(path)
    text = path.read_text()
    for content in ("75.00", "82.50", "What does it cost?", "You look it up", "25.00"):
        assert content not in text
    (record,) = load(path)
    assert record.trajectory is not None
    assert [step.agent for step in record.trajectory.steps] == ["researcher", "writer"]
    assert record.trajectory.outcome is run.outcome
    assert record.trajectory.outcome_reason == "check: not passed"


def test_each_export_is_a_line_of_otlp(tmp_path: Path) -> None:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OTLPFileExporter(tmp_path / "traces.jsonl")))
    for name in ("one", "two"):
        provider.get_tracer("t").start_span(name, attributes={"list": ["a", "b"], "n": 1.5}).end()
    lines = (tmp_path / "traces.jsonl").read_text().splitlines()
    spans = [json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"] for line in lines]
    assert [[span["name"] for span in each] for each in spans] == [["one"], ["two"]]


def test_a_file_that_cannot_be_written_costs_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_guard, "_warned", set())
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "traces.jsonl"
    run = traced(path, capture="full")
    assert run.native == "It is 75.00 EUR."
    assert [message for message in caplog.messages if "cannot write spans" in message] == caplog.messages
    assert len(caplog.messages) == 1
    assert OTLPFileExporter(path).export([]) is SpanExportResult.FAILURE


def test_a_span_that_cannot_be_written_costs_one_warning_and_the_others_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_guard, "_warned", set())
    exporter = OTLPFileExporter(tmp_path / "traces.jsonl")
    odd = ReadableSpan(name="without a context")
    assert [exporter.export([odd]) for _ in range(2)] == [SpanExportResult.FAILURE] * 2
    assert len([message for message in caplog.messages if "cannot write spans" in message]) == 1
    assert exporter.export([]) is SpanExportResult.SUCCESS
    assert exporter.force_flush() is True
    assert len((tmp_path / "traces.jsonl").read_text().splitlines()) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_that_nobody_reads_is_waited_for_once_and_flushed_when_it_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    exporter = OTLPFileExporter(pipe)
    began = time.monotonic()
    assert {exporter.export([]) for _ in range(200)} == {SpanExportResult.SUCCESS}
    assert time.monotonic() - began < 5  # 25 ms each would be 5 s
    assert exporter.force_flush(timeout_millis=10) is False
    # Each line opens the pipe anew.
    threading.Thread(target=lambda: [pipe.read_bytes() for _ in range(200)], daemon=True).start()
    deadline = time.monotonic() + 30
    while not exporter.force_flush(timeout_millis=100) and time.monotonic() < deadline:
        pass
    assert exporter.force_flush() is True
