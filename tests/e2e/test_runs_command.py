"""``tracer-hooks runs``: the store in every state that it can be in."""

import json
from pathlib import Path

import pytest

import tracer_hooks
from tracer_hooks.datasets import load
from tracer_hooks.schema import Trajectory, from_json
from tracer_hooks.store import RunStore

from ._command import Command


def ids(run: tracer_hooks.TeamRun) -> list[str]:
    return [attempt.trajectory.run_id for attempt in run.attempts]


def test_list(command: Command, stored: tracer_hooks.TeamRun) -> None:
    done = command("runs", "list", "--json")
    assert done.code == 0
    assert [run["run_id"] for run in done.json["runs"]] == ids(stored)[::-1]
    for arguments in (("runs",), ("runs", "list")):
        shown = command(*arguments)
        assert shown.code == 0
        for run_id in ids(stored):
            assert run_id[:12] in shown.out
        assert "failed" in shown.out
        assert "What do 3 tickets cost?" in shown.out
    for more, count in (
        (("--limit", "1"), 1),
        (("--outcome", "succeeded"), 0),
        (("--outcome", "FAILED"), 2),
        (("--team", "another"), 0),
    ):
        assert len(command("runs", "list", "--json", *more).json["runs"]) == count
    assert command("runs", "list", "--outcome", "good").code == 2
    assert command("runs", "list", "--limit", "0").code == 2


def test_show(command: Command, stored: tracer_hooks.TeamRun) -> None:
    first = ids(stored)[0]
    done = command("runs", "show", first[:16])
    assert done.code == 0
    assert "check: expected 82.50 EUR, got 75.00 EUR" in done.out
    assert "The total is 75.00 EUR." in done.out
    data = command("runs", "show", first, "--json").json
    assert data["run_id"] == first
    assert data["trajectory"]["steps"][0]["agent"] == "researcher"


def test_show_tells_what_was_tried_with_any_attempt_of_the_call(command: Command, stored: tracer_hooks.TeamRun) -> None:
    for run_id in ids(stored):
        said = " ".join(command("runs", "show", run_id).out.split())
        assert "What was tried The one trial did not help." in said
        assert "Why it stopped 1 of 1 retries used." in said
    logs = [command("runs", "show", run_id, "--json").json["repair"] for run_id in ids(stored)]
    assert logs[0] is None
    assert (logs[1]["stopped"], len(logs[1]["trials"])) == ("1 of 1 retries used", 1)
    page = command("runs", "export", ids(stored)[0], "--format", "html").out
    assert "The one trial did not help." in page


def test_the_page_of_a_run_has_commands_that_find_it_where_it_is_stored(
    stored: tracer_hooks.TeamRun, tmp_path: Path
) -> None:
    first = stored.attempts[0].trajectory.run_id[:12]
    assert f"<span>label</span> <span>{first}</span>" in stored.report(tmp_path / "kept.html").read_text("utf-8")
    unkept = tracer_hooks.run(lambda task: task, "x", check=lambda result: False, store="off")
    assert "<span>label</span>" not in unkept.report(tmp_path / "unkept.html").read_text("utf-8")


def test_export_in_every_format(command: Command, stored: tracer_hooks.TeamRun) -> None:
    first = stored.attempts[0].trajectory
    assert from_json(command("runs", "export", first.run_id).out, Trajectory) == first
    for file_format, name in (("trajectory", "t.json"), ("otlp", "o.json")):
        done = command("runs", "export", first.run_id, "--format", file_format, "--out", name)
        assert (done.code, done.out) == (0, "")
        assert f"written: {name}" in done.err
        (record,) = load(command.folder / name)
        assert [step.content for step in record.trajectory.steps] == [step.content for step in first.steps]
        assert record.trajectory.agents == first.agents
        assert command("diagnose", name, "--json").json["results"][0]["run_id"] == first.run_id
    (told,) = json.loads(command("runs", "export", first.run_id, "--format", "otlp").out)["resourceSpans"]
    assert told["scopeSpans"][0]["spans"][-1]["name"].startswith("diagnose ")
    page = command("runs", "export", ids(stored)[1], "--format", "html").out
    assert page.lower().startswith("<!doctype html>")
    assert all(run_id in page for run_id in ids(stored)), "a report has every attempt of the call"
    done = command("runs", "export", first.run_id, "--out", "missing/run.json")
    assert done.code == 1
    assert "cannot write 'missing/run.json'" in done.err
    assert command("runs", "export", first.run_id, "--format", "pdf").code == 2
    done = command("runs", "show", "zzz")
    assert done.code == 1
    assert "'zzz'" in done.err


def test_no_runs_yet(command: Command) -> None:
    path = command.folder / "runs.sqlite"
    for arguments in (("list",), ("list", "--json"), ("show", "abc")):
        done = command("runs", *arguments, "--store", path)
        assert (done.code, done.out) == (2, "")
        assert f"--store is {str(path)!r}, and there is no such file" in done.err
    assert not path.exists(), "looking makes no file"
    assert "no runs yet" in command("runs", "list").err
    with RunStore(path) as store:
        store.list()
    done = command("runs", "list", "--store", path)
    assert (done.code, done.out) == (0, "")
    assert "no runs yet" in done.err
    assert command("runs", "list", "--json", "--store", path).json == {"runs": []}


@pytest.mark.parametrize("content", ["not a database", "SQLite format 3\x00 but damaged", "x" * 10_000])
def test_a_damaged_store(command: Command, content: str) -> None:
    path = command.folder / "runs.sqlite"
    path.write_text(content)
    for arguments in (("list",), ("list", "--json"), ("show", "abc"), ("export", "abc")):
        done = command("runs", *arguments, "--store", path)
        assert done.code == 1
        assert done.out == ""
        assert "runs.sqlite" in done.err
    assert path.read_text() == content


def test_a_store_that_is_switched_off(command: Command) -> None:
    for arguments in (("list",), ("show", "abc"), ("export", "abc")):
        done = command("runs", *arguments, TRACER_HOOKS_STORE="off")
        assert done.code == 2
        assert "switched off by TRACER_HOOKS_STORE" in done.err


def test_a_run_whose_texts_no_terminal_can_show(command: Command, tmp_path: Path) -> None:
    run = tracer_hooks.run(
        lambda task: "fünf ✓ \ud800 [bold]not markup[/bold] \x1b[31m", "größe", store=tmp_path / "odd.sqlite"
    )
    run_id = run.trajectory.run_id
    for arguments in (("show", run_id), ("export", run_id), ("export", run_id, "--format", "html"), ("list",)):
        done = command("runs", *arguments, "--store", "odd.sqlite", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
        assert done.code == 0
