"""Failed traces of Phoenix and MLflow, read page by page into the runs that were exported, and diagnosed."""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from tracer_hooks.cli import app, console
from tracer_hooks.errors import BackendError, ConfigError
from tracer_hooks.publishing import destinations_of, traces_in
from tracer_hooks.schema import RunOutcome, Step, Trajectory
from tracer_hooks.telemetry import SpanRecord, assemble, export_request, normalise, read_otlp, to_spans

from ._backend import ScriptedBackend, serving

KINDS = ("phoenix", "mlflow")
FIXTURES = Path(__file__).parents[2] / "fixtures" / "otlp"
SINCE = datetime(2026, 11, 24, 12, tzinfo=UTC)


def trajectory(number: int, outcome: RunOutcome = RunOutcome.FAILED) -> Trajectory:
    steps = (
        Step(index=0, agent="lookup", content="There are 17.", span_id=f"{number:015x}1"),
        Step(index=1, agent="clerk", content="6 x 7 = 48, so 48.", span_id=f"{number:015x}2"),
    )
    return Trajectory(
        run_id=f"run{number}", team="office", framework="python", task="how many?", steps=steps, outcome=outcome,
        final_output="48", trace_id=f"{number:032x}",
    )  # fmt: skip


class ReadableBackend(ScriptedBackend):
    """Also gives traces, newest first, two a page.

    Attributes:
        spans: The spans of each trace, the oldest first.
        failed: Traces that it shows as failed.
        answers: What is answered in the place of what a path asks for.
        breaks_at: How many traces it gives before it breaks.
    """

    def __init__(self) -> None:
        super().__init__()
        self.spans: dict[str, list[SpanRecord]] = {}
        self.failed: set[str] = set()
        self.answers: dict[str, tuple[int, Any]] = {}
        self.breaks_at: int | None = None

    def hold(self, run: Trajectory) -> None:
        assert run.trace_id is not None
        self.spans[run.trace_id] = to_spans(run)
        if run.outcome is RunOutcome.FAILED:
            self.failed.add(run.trace_id)

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        parts = urlsplit(path)
        query = {key: values for key, values in parse_qs(parts.query).items()}
        for ending, answer in self.answers.items():
            if parts.path.endswith(ending):
                return answer
        if parts.path.endswith("/traces"):
            start = int(query.get("cursor", ["0"])[0])
            if self.breaks_at is not None and start + 2 > self.breaks_at:
                return 503, "out of order"
            found, cursor = self._page("error" in query, start)
            return 200, {"data": [{"trace_id": one} for one in found], "next_cursor": cursor}
        if parts.path.endswith("/spans/otlpv1"):
            nodes = [named_kinds(node) for node in self._nodes(query["trace_id"][0])]
            start = int(query.get("cursor", ["0"])[0])
            more = str(start + 2) if start + 2 < len(nodes) else None
            return 200, {"data": nodes[start : start + 2], "next_cursor": more}
        if parts.path.endswith("/traces/search"):
            found, token = self._page("filter" in body, int(body.get("page_token", 0)))
            traces = {"traces": [{"trace_id": f"tr-{one}"} for one in found]} if found else {}
            return 200, traces | ({"next_page_token": token} if token else {})
        if parts.path.endswith("/traces/batchGet"):
            asked = sorted(one.removeprefix("tr-") for one in query["trace_ids"])  # in an order of its own
            return 200, {
                "traces": [
                    {"trace_info": {"trace_id": f"tr-{one}"}, "spans": [in_base64(node) for node in self._nodes(one)]}
                    for one in asked
                ]
            }
        if parts.path.endswith("/experiments/get-by-name"):
            return 200, {"experiment": {"experiment_id": "7", "name": unquote(query["experiment_name"][0])}}
        return super().answer(method, path, body)

    def _page(self, only_failed: bool, start: int) -> tuple[list[str], str | None]:
        found = [one for one in reversed(self.spans) if not only_failed or one in self.failed]
        return found[start : start + 2], str(start + 2) if start + 2 < len(found) else None

    def _nodes(self, trace_id: str) -> list[dict[str, Any]]:
        (resource,) = export_request(self.spans[trace_id])["resourceSpans"] if self.spans[trace_id] else ({},)
        return [span for scope in resource.get("scopeSpans", ()) for span in scope["spans"]]


def named_kinds(node: dict[str, Any]) -> dict[str, Any]:
    """A span as Phoenix gives it: the value of an attribute names every kind, all but one null."""
    kinds = dict.fromkeys(
        ("array_value", "bool_value", "bytes_value", "double_value", "int_value", "kvlist_value", "string_value")
    )
    attributes = []
    for each in node["attributes"]:
        (kind, value), *_ = each["value"].items()
        snake = re.sub("([A-Z])", r"_\1", kind).lower()
        attributes.append({"key": each["key"], "value": {**kinds, snake: value}})
    return {**node, "attributes": attributes}


def in_base64(node: dict[str, Any]) -> dict[str, Any]:
    """A span as MLflow gives it: ids in base64."""
    ids = ("traceId", "spanId", "parentSpanId")
    return node | {key: base64.b64encode(bytes.fromhex(node[key])).decode() for key in ids if node.get(key)}


@pytest.fixture
def backend() -> Iterator[ReadableBackend]:
    with serving(ReadableBackend()) as served:
        assert isinstance(served, ReadableBackend)
        yield served


@pytest.mark.parametrize("kind", KINDS)
def test_failed_traces_are_the_runs_that_were_exported_newest_first(backend: ReadableBackend, kind: str) -> None:
    runs = [trajectory(number) for number in range(1, 6)]
    for run in (*runs, trajectory(9, RunOutcome.SUCCEEDED)):
        backend.hold(run)
    (destination,) = destinations_of(backend.url(kind))
    records = list(traces_in(destination, since=SINCE))
    prefix = "tr-" if kind == "mlflow" else ""
    assert [each.source for each in records] == [f"{destination.url}#{prefix}{run.trace_id}" for run in reversed(runs)]
    assert [each.trajectory and each.trajectory.model_dump() for each in records] == [
        each.model_dump() for each in map(exported, reversed(runs))
    ]
    asked = json.dumps([[path, body] for _, path, body, _ in backend.requests])
    assert ("2026-11-24T12%3A00%3A00%2B00%3A00" if kind == "phoenix" else f">= {int(SINCE.timestamp())}000") in asked
    assert [each.trajectory.run_id for each in traces_in(destination, limit=3) if each.trajectory] == [
        "run5", "run4", "run3",
    ]  # fmt: skip
    assert len(list(traces_in(destination, only_failed=False))) == 6


def exported(run: Trajectory) -> Trajectory:
    """The run as its exported spans tell it."""
    (found,) = assemble(to_spans(run))
    return found


@pytest.mark.parametrize(
    "name", ["openinference_autogen_failing_tool", "openinference_crewai_wrong", "pydantic_ai_wrong"]
)
def test_spans_of_other_libraries_need_no_scope_which_backends_do_not_keep(name: str) -> None:
    spans = read_otlp(FIXTURES / f"{name}.pb.xz")
    bare = [replace(span, scope="", resource={}) for span in spans]
    assert [run.steps for run in assemble(normalise(bare))] == [run.steps for run in assemble(normalise(spans))]


@pytest.mark.parametrize("kind", KINDS)
def test_traces_without_a_run_are_passed_over_and_damaged_ones_named(backend: ReadableBackend, kind: str) -> None:
    (destination,) = destinations_of(backend.url(kind))
    backend.spans["e" * 32] = [
        SpanRecord(
            trace_id="e" * 32, span_id="e" * 16, parent_id=None, name="GET /", start_ns=1, end_ns=2, attributes={}
        )
    ]
    (only,) = traces_in(destination, only_failed=False)
    assert only.error is not None
    assert "the spans of 1 trace are none of an agent" in str(only.error)
    backend.hold(trajectory(1))
    assert [each.error for each in traces_in(destination, only_failed=False)] == [None]
    broken = {"name": "x", "traceId": "f" * 32}
    of_trace = {"trace_info": {"trace_id": f"tr-{1:032x}"}, "spans": [broken]}
    backend.answers = {"/otlpv1": (200, {"data": [broken]}), "/batchGet": (200, {"traces": [of_trace]})}
    (damaged,) = traces_in(destination)
    assert "has no spanId" in str(damaged.error)


@pytest.mark.parametrize(
    ("kind", "path", "answer", "words"),
    [
        ("phoenix", "/traces", (404, "Project with name office not found"), "has no project 'office'"),
        ("mlflow", "/get-by-name", (404, {"error_code": "RESOURCE_DOES_NOT_EXIST"}), "has no experiment 'office'"),
        ("mlflow", "/search", (404, "<html>Not Found</html>"), "answered with 404"),
        ("phoenix", "/traces", (200, "<html>Phoenix</html>"), "something else than JSON"),
        ("phoenix", "/traces", (200, {"data": [1]}), "in another form than expected"),
        ("phoenix", "/traces", (200, {"data": [{"id": 1}]}), "in another form than expected"),
        ("mlflow", "/search", (200, {"traces": "x"}), "in another form than expected"),
        ("mlflow", "/get-by-name", (200, []), "in another form than expected"),
        ("mlflow", "/search", (401, "You are not authenticated"), "MLFLOW_TRACKING_TOKEN"),
    ],
)
def test_a_backend_that_cannot_be_read_is_named_with_the_reason(
    backend: ReadableBackend, kind: str, path: str, answer: tuple[int, Any], words: str
) -> None:
    backend.hold(trajectory(1))
    backend.answers[path] = answer
    with pytest.raises(BackendError, match=re.escape(words)):
        list(traces_in(destinations_of(backend.url(kind))[0]))


def test_langfuse_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk")
    with pytest.raises(ConfigError, match="Phoenix and MLflow"):
        next(traces_in(destinations_of("langfuse://localhost")[0]))


Call = Callable[..., int]


@pytest.fixture
def diagnose(monkeypatch: pytest.MonkeyPatch) -> Iterator[Call]:
    def call(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["tracer-hooks", "diagnose", *arguments])
        return app.run_app()

    yield call
    for made in (console.out, console.out_wide, console.err):
        made.cache_clear()


@pytest.mark.parametrize("kind", KINDS)
def test_diagnoses_are_written_back_unless_told_otherwise(
    diagnose: Call, backend: ReadableBackend, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for run in (trajectory(1), trajectory(2, RunOutcome.SUCCEEDED), trajectory(3)):
        backend.hold(run)
    url = backend.url(kind)
    assert diagnose(url, "--no-publish", "--json") == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert [one["run_id"] for one in results] == ["run3", "run1"]
    assert not backend.entries
    assert diagnose(url, "--limit", "1") == 0
    said = capsys.readouterr().err
    assert "1 of 1 diagnosis written to" in said
    assert "without texts of the runs" in said
    assert backend.entries
    assert "48" not in json.dumps(list(backend.entries.values()))


def test_diagnoses_in_parts_are_written_back_and_into_a_file(
    diagnose: Call, backend: ReadableBackend, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(1, 4):
        backend.hold(trajectory(number))
    assert diagnose(backend.url("phoenix"), "--out", str(tmp_path / "results.jsonl")) == 0
    assert "3 of 3 diagnoses written to" in capsys.readouterr().err
    found = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [one["run_id"] for one in found] == ["run3", "run2", "run1"]
    backend.answers = {"/span_annotations": (500, "out of order")}
    assert diagnose(backend.url("phoenix"), "--out", str(tmp_path / "results.jsonl")) == 1
    assert "0 of 3 diagnoses written to" in capsys.readouterr().err


def test_what_cannot_be_written_back_is_said_with_exit_code_1(
    diagnose: Call, backend: ReadableBackend, capsys: pytest.CaptureFixture[str]
) -> None:
    backend.hold(trajectory(1))
    backend.hold(trajectory(2))
    backend.answers = {"/span_annotations": (500, "out of order"), "/trace_annotations": (500, "out of order")}
    assert diagnose(backend.url("phoenix")) == 1
    said = capsys.readouterr().err
    assert "0 of 2 diagnoses written to" in said
    assert said.count("out of order") == 1


def test_a_backend_that_goes_away_is_one_result_and_the_others_stay(
    diagnose: Call, backend: ReadableBackend, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(1, 6):
        backend.hold(trajectory(number))
    backend.breaks_at = 3
    assert diagnose(backend.url("phoenix"), "--no-publish", "--json") == 1
    results = json.loads(capsys.readouterr().out)["results"]
    assert [one.get("run_id") for one in results] == ["run5", "run4", None]
    assert "answered with 503" in results[-1]["error"]


def test_options_of_urls_are_refused_with_files(diagnose: Call, capsys: pytest.CaptureFixture[str]) -> None:
    for options in (["--since", "1d"], ["--limit", "3"], ["--no-publish"]):
        assert diagnose("runs.jsonl", "phoenix://localhost:6006/office", *options) == 2
        assert "--since, --limit and --no-publish are for URLs" in capsys.readouterr().err
