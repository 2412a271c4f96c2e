"""A served store, runs in it, and requests of an exporter."""

from __future__ import annotations

import json
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="starlette is not installed: pip install 'tracer-hooks[serve]'")
pytest.importorskip("uvicorn", reason="uvicorn is not installed: pip install 'tracer-hooks[serve]'")

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from starlette.testclient import TestClient

from tracer_hooks.schema import RunOutcome, Trajectory
from tracer_hooks.serving import Access, Server, TracePatience
from tracer_hooks.store import RunStore, StoredRun
from tracer_hooks.telemetry import export_request, to_spans

from ..report._pages import Element, diagnosis, failed_run, parse

PORT = 8766
BASE = f"http://127.0.0.1:{PORT}"
FAST = TracePatience(settle=0.0, quiet=0.05, late=0.2, idle=0.4)
NOW = datetime.now(UTC).replace(microsecond=0)


class Served:
    """A server that is asked in this process, and its store."""

    def __init__(self, folder: Path, **access: Any) -> None:
        self.path, self.labels = folder / "runs.sqlite", folder / "labels.jsonl"
        host = access.pop("host", "127.0.0.1")
        self.server = Server(self.path, self.labels, Access.of(host, PORT, **access), patience=FAST)
        self.store = RunStore(self.path)
        self.client = TestClient(self.server.app, base_url=BASE, follow_redirects=False)

    def page(self, address: str, status: int = 200) -> Element:
        answer = self.client.get(address)
        assert answer.status_code == status, answer.text
        return parse(answer.text)

    def put(self, run_id: str, *, hours: int = 0, confidence: float | None = 0.95, **fields: Any) -> Trajectory:
        own = {key: fields.pop(key) for key in ("team", "outcome", "task") if key in fields}
        run = failed_run(run_id=run_id, **own)
        is_told = run.outcome is RunOutcome.FAILED and confidence is not None
        found = diagnosis(run_id=run_id, confidence=confidence) if is_told else None
        more = {"session_id": run_id, "started_at": NOW - timedelta(hours=hours), "attribution": found, **fields}
        self.store.save(StoredRun.of(run, **more))
        return run

    def work(self) -> None:
        """What the thread does again and again."""
        self.server._traces.work()


def text(element: Element) -> str:
    return " ".join(element.text.split())


def links(page: Element, start: str = "") -> list[str]:
    found = [each.attributes["href"] for each in page.all("a")]
    return [each for each in found if each.startswith(start)]


def trace(**fields: Any) -> Trajectory:
    """A failed run with ids as an exporter makes them."""
    return failed_run(**{"run_id": secrets.token_hex(16), "trace_id": secrets.token_hex(16), **fields})


def request_of(*runs: Trajectory, only: slice = slice(None)) -> bytes:
    """An OTLP/JSON request with the spans of these runs."""
    spans = [span for run in runs for span in to_spans(run, None)][only]
    return json.dumps(export_request(spans)).encode()


def as_protobuf(body: bytes) -> bytes:
    return json_format.Parse(body, ExportTraceServiceRequest()).SerializeToString()
