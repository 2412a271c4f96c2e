"""Real servers of Phoenix and MLflow: what is published stands at the right span, and failed traces are read."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider

import tracer_hooks
from tracer_hooks import _background
from tracer_hooks.cli.app import run_app
from tracer_hooks.publishing import _publisher

from ._servers import Server, why_missing

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the exporter over HTTP is not installed")
from ...unit.api._live_spans import Desk
from ._projects import Project, expected_entries, run_team, seconds_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
VISIBLE_S = 3.0


@pytest.fixture(autouse=True)
def queues_of_their_own() -> Iterator[None]:
    """What a test leaves to be written is no matter of the next one, nor of the end of the tests."""
    known = list(_background._queues)
    yield
    _publisher.queue_for.cache_clear()
    for queue in [queue for queue in _background._queues if isinstance(queue, _publisher.PublishQueue)]:
        if queue not in known:
            queue.give_up()
            _background._queues.remove(queue)


@pytest.fixture(scope="module", params=["phoenix", "mlflow"])
def server(request, tmp_path_factory) -> Iterator[Server]:
    if reason := why_missing(request.param):
        pytest.skip(reason)
    running = Server(request.param, tmp_path_factory.mktemp(request.param))
    running.start()
    yield running
    running.stop()


@pytest.fixture
def project(server: Server, request) -> Project:
    return Project(server, request.function.__name__)


def stands(project: Project, run: tracer_hooks.TeamRun) -> bool:
    """Tell whether the run's diagnosis can be seen."""
    return len(project.entries(run)) == 2


def check_visible(project: Project, taken: list[float], what: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Print what was measured; the better of two counts, since other tests use the machine, too."""
    with capsys.disabled():
        each = ", ".join(f"{seconds:.2f}" for seconds in taken)
        print(f"\n{project.server.name}: the diagnosis of {what} is visible {each} s after the run ended")
    assert min(taken) <= VISIBLE_S


def diagnose(capsys, monkeypatch, *arguments: str | Path) -> tuple[int, list[dict], str]:
    monkeypatch.setattr("sys.argv", ["tracer-hooks", "diagnose", *map(str, arguments), "--json"])
    code = run_app()
    said = capsys.readouterr()
    return code, json.loads(said.out)["results"], said.err


def test_a_diagnosis_stands_at_the_blamed_span_within_three_seconds(project: Project, tmp_path: Path, capsys) -> None:
    provider = project.provider(file=tmp_path / "spans.jsonl")
    run_team(provider, passes=True, publish=project.url)  # the first run loads what is loaded late
    taken = []
    for _ in range(2):
        run = run_team(provider, publish=project.url)
        taken.append(seconds_until(partial(stands, project, run)))
        assert project.entries(run) == expected_entries(run)
    check_visible(project, taken, "a hooked team", capsys)
    provider.shutdown()


def test_a_diagnosis_of_an_observed_team_is_seen_as_soon(project: Project, tmp_path: Path, capsys) -> None:
    provider = project.provider(file=tmp_path / "spans.jsonl")
    observer = tracer_hooks.observe(expected="17", store="off", provider=provider, publish=project.url)
    try:
        taken = []
        for _ in range(2):
            last = observer.last_run
            Desk(provider).run("12")
            ended = time.monotonic()
            seconds_until(lambda last=last: observer.last_run is not last)  # type: ignore[misc]
            assert observer.last_run is not None
            seconds_until(partial(stands, project, observer.last_run))
            taken.append(time.monotonic() - ended)
            assert project.entries(observer.last_run) == expected_entries(observer.last_run)
        check_visible(project, taken, "an observed team", capsys)
    finally:
        observer.stop()
        provider.shutdown()


def test_failed_traces_are_read_diagnosed_as_their_file_and_written_to_once(
    project: Project, tmp_path: Path, capsys, monkeypatch
) -> None:
    file = tmp_path / "spans.jsonl"
    provider = project.provider(file=file)
    passed = run_team(provider, passes=True)
    runs = [run_team(provider) for _ in range(2)]
    tracer_hooks.flush()
    provider.shutdown()
    for run in (passed, *runs):
        seconds_until(partial(project.holds, run))  # Phoenix puts spans away a moment after it got them

    code, of_file, _ = diagnose(capsys, monkeypatch, file)
    assert code == 0
    failed = [one for one in of_file if one["run_id"] != passed.attempts[0].trajectory.run_id]
    code, read, said = diagnose(capsys, monkeypatch, project.url, "--no-publish")
    assert code == 0, said
    assert "written" not in said
    assert [one["source"].partition("#")[0] for one in read] == [project.url] * 2
    assert [told(one) for one in read] == [told(one) for one in reversed(failed)], "newest first"
    assert project.entries(runs[0]) == []

    for _ in range(2):  # the second time finds the first one's entries
        code, _, said = diagnose(capsys, monkeypatch, project.url, "--since", "1h")
        assert (code, "2 of 2 diagnoses written to" in said) == (0, True), said
        assert [project.entries(run) for run in runs] == [expected_entries(run) for run in runs]
    assert len(diagnose(capsys, monkeypatch, project.url, "--limit", "1", "--no-publish")[1]) == 1
    assert diagnose(capsys, monkeypatch, project.url, "--since", "2100-01-01")[1] == []
    every = diagnose(capsys, monkeypatch, project.url, "--failed", "--no-publish")[1]
    assert len(every) == 3, "who says how they ended means all of them"


def told(result: dict) -> dict:
    """What a diagnosis says, wherever the run was read from."""
    return {key: value for key, value in result.items() if key not in ("source", "elapsed_s")}


def test_a_project_that_is_not_there_is_named(project: Project, capsys, monkeypatch) -> None:
    monkeypatch.setattr("sys.argv", ["tracer-hooks", "diagnose", f"{project.url}-of-nobody"])
    assert run_app() == 1
    assert "of-nobody'" in capsys.readouterr().out


def test_nothing_is_lost_while_the_server_is_away(project: Project, tmp_path: Path, caplog) -> None:
    file = tmp_path / "spans.jsonl"
    provider = project.provider(file=file, exports=False)  # as where a collector stands between
    caplog.set_level(logging.WARNING, logger="tracer_hooks")
    project.server.stop(at_once=True)
    try:
        runs = [run_team(provider, publish=project.url) for _ in range(5)]
        seconds_until(lambda: "cannot publish" in caplog.text)
    finally:
        project.server.start()
    provider.shutdown()
    project.receive(file)
    for run in runs:
        seconds_until(partial(stands, project, run), most=60)
        assert project.entries(run) == expected_entries(run)
    said = [message for message in caplog.messages if str(project.server.port) in message]
    assert ["cannot publish" in message for message in said] == [True]


SECRET, KEY = "a" * 31 + "1", "b" * 31 + "2"
KEYS = {
    "phoenix": {"PHOENIX_ENABLE_AUTH": "true", "PHOENIX_SECRET": SECRET, "PHOENIX_ADMIN_SECRET": KEY},
    "mlflow": {"MLFLOW_AUTH_ADMIN_PASSWORD": KEY, "MLFLOW_FLASK_SERVER_SECRET_KEY": SECRET},
}
"""What makes a server ask for a key."""


@pytest.mark.parametrize("name", KEYS)
def test_a_key_is_needed_and_a_wrong_one_is_one_warning(name: str, tmp_path: Path, capsys, monkeypatch, caplog) -> None:
    if reason := why_missing(name):
        pytest.skip(reason)
    server = Server(name, tmp_path, KEYS[name])
    server.start()
    url = f"{name}://127.0.0.1:{server.port}/{'default' if name == 'phoenix' else '0'}"
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "admin")
    variable = "PHOENIX_API_KEY" if name == "phoenix" else "MLFLOW_TRACKING_PASSWORD"
    try:
        for key, code, words in (("wrong-key", 1, variable), (KEY, 0, "no failed trace")):
            monkeypatch.setenv(variable, key)
            monkeypatch.setattr("sys.argv", ["tracer-hooks", "diagnose", url])
            assert run_app() == code
            printed = "".join(capsys.readouterr())
            assert words in printed
            assert key not in printed
        monkeypatch.setenv(variable, "wrong-key")
        provider = TracerProvider()
        for _ in range(3):
            run_team(provider, publish=url)
        tracer_hooks.flush()
        said = [message for message in caplog.messages if server.address in message]
    finally:
        server.stop()
    assert [variable in message and "wrong-key" not in message for message in said] == [True]
