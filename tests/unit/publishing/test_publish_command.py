"""``tracer-hooks publish``, and what the end of a process still writes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tracer_hooks.cli import app, console
from tracer_hooks.store import RunStore, StoredRun

from ._backend import SPAN, TEXT, TRACE, ScriptedBackend, blamed, failed_run, serving

Call = Callable[..., int]


@pytest.fixture
def backend() -> Iterator[ScriptedBackend]:
    with serving(ScriptedBackend()) as served:
        yield served


@pytest.fixture
def publish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Call]:
    """Calls the command beside a store with three runs: with a diagnosis, without one, without a trace."""
    with RunStore(tmp_path / "runs.sqlite") as store:
        for name, run, found in (
            ("diagnosed", failed_run(), blamed()),
            ("undiagnosed", failed_run(), None),
            ("untraced", failed_run(trace_id=None), blamed()),
        ):
            store.save(StoredRun.of(run.model_copy(update={"run_id": name}), session_id=name, attribution=found))
    monkeypatch.setenv("TRACER_HOOKS_STORE", str(tmp_path / "runs.sqlite"))

    def call(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["tracer-hooks", "publish", *arguments])
        return app.run_app()

    yield call
    for made in (console.out, console.out_wide, console.err):
        made.cache_clear()


def test_stored_diagnoses_are_written_with_a_line_each(
    publish: Call, backend: ScriptedBackend, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = backend.url("mlflow")
    assert publish("diagnosed", url) == 0
    out, err = capsys.readouterr()
    written = f"failure_attribution=decisive at span {SPAN}, failed_agent=clerk at the trace"
    assert " ".join(out.split()) == f"diagnosed {url}: {written} (trace {TRACE})"
    assert "TRACER_HOOKS_CAPTURE=redacted sends what was found" in err
    monkeypatch.setenv("TRACER_HOOKS_CAPTURE", "full")
    monkeypatch.setenv("TRACER_HOOKS_PUBLISH", url)
    assert publish("diagnosed", "--json") == 0
    out, err = capsys.readouterr()
    (result,) = json.loads(out)["results"]
    assert (result["run_id"], result["to"], result["trace_id"], err) == ("diagnosed", url, TRACE, "")
    assert [(each["label"], each["span_id"]) for each in result["written"]] == [("decisive", SPAN), ("clerk", None)]
    assert [TEXT in entry["rationale"] for entry in backend.entries.values()] == [True, True]


def test_what_cannot_be_written_says_why_and_the_rest_is(
    publish: Call, backend: ScriptedBackend, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("undiagnosed", "untraced", "nowhere", "diagnosed")
    assert publish(*names, backend.url("phoenix"), "--json") == 1
    results = json.loads(capsys.readouterr().out)["results"]
    assert [result.get("error", "") for result in results[:2]] == [
        "it has no diagnosis. Next: tracer-hooks diagnose undiagnosed",
        "the run has no trace",
    ]
    assert "nowhere" in results[2]["error"]
    assert len(results[3]["written"]) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["diagnosed"], "expected runs and a URL, as in: tracer-hooks publish RUN phoenix://"),
        (["phoenix://localhost:6006/x"], "expected runs and a URL"),
        (["diagnosed", "http://localhost:6006/x"], "is a URL of 'http'"),
    ],
)
def test_a_wrong_call_is_a_usage_error(
    publish: Call, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(*arguments) == 2
    assert said in " ".join(capsys.readouterr().err.split())


PROGRAM = """
import sys
from opentelemetry.sdk.trace import TracerProvider
import tracer_hooks

@tracer_hooks.agent
def clerk(task):
    return "12"

@tracer_hooks.hook(expected="17", tracer_provider=TracerProvider(), store="off", publish=sys.argv[1], diagnose="inline")
def team(task):
    return clerk(task)

team("how many books?")
"""


def test_the_end_of_a_process_waits_for_what_is_to_be_written_and_not_for_a_backend_that_is_down(
    backend: ScriptedBackend,
) -> None:
    backend.traces = set()
    command = [sys.executable, "-c", PROGRAM, backend.url("phoenix")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not backend.requests:
        assert process.poll() is None
        time.sleep(0.01)
    backend.traces = None
    assert (process.communicate(timeout=60)[1], process.returncode) == ("", 0)
    assert len(backend.entries) == 2 or {entry["name"] for entry in backend.entries.values()} == {"failure_attribution"}
    with serving(ScriptedBackend()) as gone:
        url = gone.url("phoenix")
    began = time.monotonic()
    done = subprocess.run([*command[:3], url], capture_output=True, text=True, timeout=60, check=True)
    assert time.monotonic() - began < 25
    assert "cannot be reached" in done.stderr
    assert f"lost 1 diagnosis that could not be written to {url}." in done.stderr
    assert len(done.stderr.splitlines()) == 2
