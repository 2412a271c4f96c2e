"""Traces over HTTP: every encoding, what is refused, and that what is acknowledged is stored, once."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tracer_hooks.schema import RunKind, RunOutcome
from tracer_hooks.serving import _receiver, _traces
from tracer_hooks.serving._spool import Spool
from tracer_hooks.store import RunStore, StoredRun

from ._served import Served, as_protobuf, request_of, text, trace

JSON, PROTOBUF = "application/json", "application/x-protobuf"


def send(served: Served, body: bytes, kind: str = JSON, **headers: str) -> Any:
    told = {"Content-Type": kind, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return served.client.post("/v1/traces", content=body, headers=told)


def stored(served: Served) -> list[str]:
    return sorted(each.run_id for each in served.store.list(limit=500)) if served.path.exists() else []


def spooled(served: Served) -> list[Path]:
    return sorted(served.path.with_name(f"{served.path.name}-received").glob("*-*"))


@pytest.mark.parametrize("kind", [JSON, PROTOBUF, f"{JSON}; charset=utf-8"])
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_trace_is_acknowledged_in_its_own_encoding_stored_and_diagnosed(
    served: Served, kind: str, is_packed: bool
) -> None:
    run = trace()
    body = request_of(run) if JSON in kind else as_protobuf(request_of(run))
    answer = send(
        served, gzip.compress(body) if is_packed else body, kind, **({"Content_Encoding": "gzip"} if is_packed else {})
    )
    assert (answer.status_code, answer.headers["content-type"]) == (200, kind.partition(";")[0])
    assert answer.content == (b"{}" if JSON in kind else b"")
    assert len(spooled(served)) == 1
    served.work()
    there = served.store.get(run.run_id)
    assert (there.kind, there.outcome, len(there.trajectory.steps)) == (RunKind.IMPORTED, RunOutcome.FAILED, 4)
    assert there.attribution is not None
    assert there.attribution.run_id == run.run_id
    assert text(served.page("/").one("h1")) == "1 run, 1 failed"
    time.sleep(0.5)
    served.work()
    assert spooled(served) == []


@pytest.mark.parametrize(
    ("body", "headers", "status", "said"),
    [
        (b"{}", {"kind": "text/plain"}, 415, "expected application/x-protobuf"),
        (b"{}", {"Content_Encoding": "br"}, 415, "expected gzip or none"),
        (b"[]", {}, 400, "no resourceSpans"),
        (b'{"resourceLogs": []}', {}, 400, "no resourceSpans"),
        (b"no json", {}, 400, "not JSON"),
        (b"[" * 100_000, {}, 400, "not JSON"),
        (b"hello", {"kind": PROTOBUF}, 400, "protobuf"),
        (b"no gzip", {"Content_Encoding": "gzip"}, 400, "not gzip"),
        (gzip.compress(b"{}")[:-4], {"Content_Encoding": "gzip"}, 400, "breaks off"),
        (b" " * 2_000_000, {}, 413, "more than 1,000,000 bytes"),
        (gzip.compress(b" " * 2_000_000), {"Content_Encoding": "gzip"}, 413, "more than 1,000,000 bytes, unpacked"),
    ],
)
def test_what_is_no_request_is_refused_in_plain_words(
    served: Served, monkeypatch: pytest.MonkeyPatch, body: bytes, headers: dict[str, str], status: int, said: str
) -> None:
    monkeypatch.setattr(
        _receiver.TraceReceiver.__init__, "__kwdefaults__", {"most_body": 1_000_000, "most_waiting": 4_000_000}
    )
    served = Served(served.path.parent)
    answer = send(served, body, **headers)
    assert (answer.status_code, said in answer.text) == (status, True), answer.text
    assert spooled(served) == []
    assert send(served, b"{}").status_code == 200
    assert send(served, b"", PROTOBUF).status_code == 200


def test_a_damaged_span_is_told_and_the_others_are_taken(served: Served) -> None:
    run = trace()
    request = json.loads(request_of(run))
    request["resourceSpans"][0]["scopeSpans"][0]["spans"].append({"name": "lost", "traceId": "zz"})
    answer = send(served, json.dumps(request).encode())
    told = answer.json()["partialSuccess"]
    assert (answer.status_code, told["rejectedSpans"]) == (200, "1")
    assert "spans[" in told["errorMessage"]
    served.work()
    assert stored(served) == [run.run_id]


def test_too_much_is_told_to_come_again(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    body = as_protobuf(request_of(trace()))
    monkeypatch.setattr(
        _receiver.TraceReceiver.__init__, "__kwdefaults__", {"most_body": len(body), "most_waiting": 2 * len(body) - 1}
    )
    served = Served(served.path.parent)
    assert send(served, body, PROTOBUF).status_code == 200
    answer = send(served, body, PROTOBUF)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")
    served.work()
    time.sleep(0.5)
    served.work()
    assert send(served, body, PROTOBUF).status_code == 200, "there is room again"


def test_a_full_disk_acknowledges_nothing(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    run = trace()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        answer = send(served, request_of(run))
        assert (answer.status_code, "No space left" in answer.text, "retry-after" in answer.headers) == (
            503,
            True,
            True,
        )
    assert send(served, request_of(run)).status_code == 200
    served.work()
    assert stored(served) == [run.run_id]


def test_spans_that_are_sent_again_or_late_make_no_second_run(served: Served) -> None:
    run = trace()
    whole, early, late = request_of(run), request_of(run, only=slice(0, -3)), request_of(run, only=slice(-3, None))
    send(served, early)
    served.work()
    time.sleep(0.1)
    served.work()
    before = len(served.store.get(stored(served)[0]).trajectory.steps)
    for body in (late, whole, late):
        send(served, body)
        served.work()
    assert stored(served) == [run.run_id]
    assert len(served.store.get(run.run_id).trajectory.steps) == 4 > before
    time.sleep(0.5)
    served.work()  # it is forgotten
    assert served.server._traces.open == 0
    for body in (whole, late):
        send(served, body)
        time.sleep(0.1)
        served.work()
    assert stored(served) == [run.run_id]
    assert len(served.store.get(run.run_id).trajectory.steps) == 4


def test_a_trace_waits_for_what_is_missing_and_not_for_ever(served: Served) -> None:
    run = trace()
    send(served, request_of(run, only=slice(1, None)))
    served.work()
    assert stored(served) == []
    time.sleep(0.1)
    served.work()
    assert len(stored(served)) == 1


def test_a_hooked_run_of_the_same_store_is_left_alone(served: Served) -> None:
    run = trace()
    served.store.save(StoredRun.of(run, session_id="call", kind=RunKind.LIVE))
    send(served, request_of(run))
    served.work()
    assert [each.kind for each in served.store.list()] == [RunKind.LIVE]
    assert served.store.get(run.run_id).attribution is None


def test_what_a_killed_server_left_is_taken_up_once(served: Served, tmp_path: Path) -> None:
    runs = [trace() for _ in range(5)]
    for run in runs[:3]:
        send(served, request_of(run))
    served.work()
    for run in runs[3:]:
        send(served, as_protobuf(request_of(run)), PROTOBUF)
    served.server._spool.close()  # as the end of the process does
    last = spooled(served)[-1]
    last.with_name(f"{last.name[:-3]}0.pb").write_bytes(last.read_bytes()[:-10])
    last.with_name(f"{last.name[:-3]}1.pb").touch()
    after = Served(tmp_path)
    after.server._traces._stopping.set()  # its thread reads what was left, and ends; here it is this one that stores
    after.server._traces.start()
    assert after.server._traces._thread is not None
    after.server._traces._thread.join(10)
    after.work()
    assert stored(after) == sorted(run.run_id for run in runs)
    time.sleep(0.5)
    after.work()
    assert spooled(after) == []
    assert all(after.store.get(run.run_id).attribution is not None for run in runs)


def test_a_file_of_a_server_that_is_there_is_not_touched(served: Served) -> None:
    send(served, request_of(trace()))
    other = Spool(spooled(served)[0].parent)
    assert list(other.left()) == []
    assert len(spooled(served)) == 1


def test_a_store_that_cannot_be_written_loses_nothing(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracer_hooks.errors import StoreError

    def locked(*_: object) -> bool:
        error = StoreError("cannot save the run: database is locked")
        error.is_of_place = True
        raise error

    run = trace()
    send(served, request_of(run))
    with monkeypatch.context() as patch:
        patch.setattr(RunStore, "add", locked)
        served.work()
    assert stored(served) == []
    served.work()
    assert stored(served) == [], "it is left alone for a while"
    served.server._traces._breaker.succeed()
    served.work()
    assert stored(served) == [run.run_id]


def test_a_run_that_cannot_be_stored_or_is_gone_keeps_no_other_one_waiting(served: Served) -> None:
    damaged, deleted, good = trace(), trace(), trace()
    served.store.save(StoredRun.of(damaged, session_id="x", kind=RunKind.IMPORTED))
    with contextlib.closing(sqlite3.connect(served.path)) as file, file:
        file.execute("UPDATE runs SET trajectory = x'00'")
    send(served, request_of(damaged, deleted, good))
    served.server._traces._store_due()
    served.store.delete(deleted.run_id)
    served.work()
    assert stored(served) == sorted([damaged.run_id, good.run_id])
    assert served.store.get(good.run_id).attribution is not None
    time.sleep(0.5)
    served.work()
    assert spooled(served) == []


def test_a_trace_of_too_many_spans_is_cut_and_that_is_told(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_traces, "MOST_SPANS", 3)
    told = send(served, request_of(trace())).json()["partialSuccess"]
    assert int(told["rejectedSpans"]) > 0
    assert "more than" in told["errorMessage"]
    answer = ExportTraceServiceResponse.FromString(send(served, as_protobuf(request_of(trace())), PROTOBUF).content)
    assert answer.partial_success.rejected_spans > 0
