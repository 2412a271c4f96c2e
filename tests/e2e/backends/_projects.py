"""A project of a real backend: where spans go, what stands at its traces, and a team that fails in it."""

from __future__ import annotations

import json
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

import tracer_hooks
from tracer_hooks.telemetry import OTLPFileExporter, read_otlp, write_otlp_protobuf

from ._servers import Server

_Entry = tuple[str, str, str, int, str | None]
_TRACES = "/api/3.0/mlflow/traces"


@dataclass
class Project:
    """A Phoenix project or an MLflow experiment."""

    server: Server
    name: str
    _headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.server.name == "mlflow":  # Phoenix makes projects as their first spans arrive
            made = self.ask("POST", "/api/2.0/mlflow/experiments/create", {"name": self.name})
            self._headers["x-mlflow-experiment-id"] = made["experiment_id"]

    @property
    def url(self) -> str:
        return f"{self.server.name}://127.0.0.1:{self.server.port}/{self.name}"

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.server.address + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.loads(reply.read())

    def provider(self, *, file: Path, exports: bool = True) -> TracerProvider:
        """A provider that writes spans into ``file``, and exports them every half minute unless it is asked to."""
        provider = TracerProvider(resource=Resource.create({"openinference.project.name": self.name}))
        provider.add_span_processor(SimpleSpanProcessor(OTLPFileExporter(file)))
        if exports:
            exporter = OTLPSpanExporter(f"{self.server.address}/v1/traces", headers=self._headers)
            provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=30_000))
        return provider

    def receive(self, file: Path) -> None:
        """Get spans that were kept in ``file`` while the backend was away, as a collector sends them."""
        with tempfile.NamedTemporaryFile(suffix=".pb") as packed:
            write_otlp_protobuf(packed.name, read_otlp(file))
            data = Path(packed.name).read_bytes()
        headers = {"Content-Type": "application/x-protobuf", **self._headers}
        request = urllib.request.Request(f"{self.server.address}/v1/traces", data, headers)
        with urllib.request.urlopen(request, timeout=30) as reply:
            reply.read()

    def holds(self, run: tracer_hooks.TeamRun) -> bool:
        """Tell whether the run's trace has arrived."""
        trace_id = run.attempts[0].trajectory.trace_id
        if self.server.name == "mlflow":
            return bool(self.ask("GET", f"{_TRACES}/tr-{trace_id}"))
        return bool(self.ask("GET", f"/v1/projects/{self.name}/spans?trace_id={trace_id}")["data"])

    def entries(self, run: tracer_hooks.TeamRun) -> list[_Entry]:
        """What stands at a run's trace and its spans: name, label, agent, step, span."""
        trajectory = run.attempts[0].trajectory
        assert trajectory.trace_id is not None
        if self.server.name == "mlflow":
            found = self._of_mlflow(trajectory.trace_id)
        else:
            found = self._of_phoenix(trajectory.trace_id, [step.span_id for step in trajectory.steps])
        return sorted(found, key=str)

    def _of_phoenix(self, trace_id: str, spans: list[str | None]) -> Iterable[_Entry]:
        for what, asked in (("span", {"span_ids": spans}), ("trace", {"trace_ids": trace_id})):
            query = urllib.parse.urlencode({**asked, "limit": 100}, doseq=True)
            for one in self.ask("GET", f"/v1/projects/{self.name}/{what}_annotations?{query}")["data"]:
                told = one["metadata"]
                yield one["name"], one["result"]["label"], told["agent"], told["step"], one.get("span_id")

    def _of_mlflow(self, trace_id: str) -> Iterable[_Entry]:
        info = self.ask("GET", f"{_TRACES}/tr-{trace_id}")["trace"]["trace_info"]
        for one in info.get("assessments", []):
            told, label = one["metadata"], one["feedback"]["value"]
            yield one["assessment_name"], label, told["agent"], int(told["step"]), one.get("span_id")


def seconds_until(is_so: Callable[[], bool], *, most: float = 30.0) -> float:
    """How long it takes until something is so; asking about a trace that is not there is an error."""
    began = time.monotonic()
    while time.monotonic() < began + most:
        with suppress(OSError):
            if is_so():
                break
        time.sleep(0.05)
    return time.monotonic() - began


@tracer_hooks.tool
def stock(title: str) -> int:
    return 17


@tracer_hooks.agent(instructions="Look the number up.")
def librarian(task: str) -> str:
    stock("blue book")
    return "There are 12 blue books."


@tracer_hooks.agent(instructions="Write the reply.")
def writer(text: str) -> str:
    return f"We have them. {text}"


def team(task: str) -> str:
    return writer(librarian(task))


def run_team(provider: TracerProvider, *, passes: bool = False, **options: Any) -> tracer_hooks.TeamRun:
    """One run, in which the librarian does not say what the stock said."""
    verdict = tracer_hooks.Verdict(passed=passes, reason=None if passes else "expected 17, got 12")
    return tracer_hooks.run(
        team, "How many blue books are there?", check=lambda _: verdict, tracer_provider=provider, store="off",
        name="library", capture="full", **options,
    )  # fmt: skip


def expected_entries(run: tracer_hooks.TeamRun) -> list[_Entry]:
    """What must stand at the trace of such a run: who at which step, on the librarian's span and on the trace."""
    step = next(step for step in run.attempts[0].trajectory.steps if step.agent == "librarian" and step.content)
    return [
        ("failed_agent", "librarian", "librarian", step.index, None),
        ("failure_attribution", "decisive", "librarian", step.index, step.span_id),
    ]
