"""One store's runs and prompts are copied into another: whole, again, broken off, and from file to server and back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tracer_hooks.cli.app import app
from tracer_hooks.config import StorePlace
from tracer_hooks.errors import StoreError
from tracer_hooks.store import CopyCounts, ForkedFrom, PromptStore, RunStore, copy_store

from ._prompts import TEAM, accepted, outcome, proposed
from ._runs import alter, make_attribution, make_run
from .test_run_store import TAPE


@pytest.fixture
def target(place: StorePlace) -> RunStore:
    return RunStore(place)


@pytest.fixture
def source(tmp_path: Path) -> RunStore:
    """A file with five runs, and prompts of two teams."""
    store = RunStore(tmp_path / "source.sqlite")
    store.save(make_run("a", tape=TAPE, attribution=make_attribution("a"), repair={"stopped": "x"}))
    store.save(make_run("b", tags={"release": "1.4"}, parent=ForkedFrom(run_id="a", step=0, change="said", kind="say")))
    for run_id in "cde":
        store.save(make_run(run_id))
    prompts = PromptStore(store.place)
    accepted(prompts)
    for run_id in "abc":
        prompts.count(TEAM, 1, outcome(run_id))
    proposed(prompts, team="other-team")
    return store


def all_of(store: RunStore) -> tuple[object, ...]:
    prompts = PromptStore(store.place)
    runs = [store.get(run.run_id) for run in store.list()]
    return runs, prompts.versions(), [prompts.events(team) for team in prompts.teams()], prompts.outcomes(TEAM, 1)


def test_all_is_copied_and_nothing_doubled(source: RunStore, target: RunStore, tmp_path: Path) -> None:
    assert copy_store(source, target) == CopyCounts(runs=5, teams=2)
    assert all_of(target) == all_of(source)
    assert copy_store(source, target) == CopyCounts(runs_there=5, teams_there=2)
    assert all_of(target) == all_of(source)
    back = RunStore(tmp_path / "back.sqlite")
    copy_store(target, back)
    assert all_of(back) == all_of(source)
    assert PromptStore(target.place).count(TEAM, 1, outcome("d")), "what comes next is counted on"
    assert not PromptStore(target.place).count(TEAM, 1, outcome("a"))
    proposed(PromptStore(target.place), "another text")


def test_what_is_there_already_stays(source: RunStore, target: RunStore) -> None:
    mine = make_run("a", text="mine")
    target.save(mine)
    version = proposed(PromptStore(target.place), "mine")
    assert copy_store(source, target) == CopyCounts(runs=4, runs_there=1, teams=1, teams_there=1)
    assert target.get("a") == mine
    assert PromptStore(target.place).versions(TEAM) == (version,)


def test_a_copy_that_broke_off_goes_on(source: RunStore, target: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracer_hooks.store import _copying

    monkeypatch.setattr(_copying, "_PAGE", 2)
    monkeypatch.setattr(_copying, "_AT_A_TIME", 1)
    seen: list[Sequence[int]] = []

    def stop(done: int, total: int) -> None:
        seen.append((done, total))
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_store(source, target, stop)
    assert len(target.list()) == 3
    assert copy_store(source, target) == CopyCounts(runs=2, runs_there=3, teams=2)
    assert all_of(target) == all_of(source)
    assert seen == [(1, 5), (2, 5), (3, 5)]


def test_a_damaged_run_is_named_and_the_others_are_copied(source: RunStore, target: RunStore) -> None:
    alter(source, "update runs set steps = 'x' where run_id = 'b'")
    copied = copy_store(source, target)
    assert copied.runs + len(copied.left_out) == 5
    with pytest.raises(StoreError, match="into itself"):
        copy_store(target, target)


def test_the_command(source: RunStore, target: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["runs", "copy", "--from", source.name, "--to", target.name]
    first = CliRunner().invoke(app, words)
    assert first.exit_code == 0, first.output
    assert first.output.splitlines() == [f"5 runs copied to {target.name}", "prompts of 2 teams copied"]
    again = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert (again["runs"], again["runs_there"], again["teams_there"]) == (0, 5, 2)
    monkeypatch.setenv("TRACER_HOOKS_STORE", target.name)
    looked = CliRunner().invoke(app, ["runs", "list", "--json"], catch_exceptions=False)
    listed = json.loads(looked.stdout)
    assert len(listed["runs"]) == 5
    secret = CliRunner().invoke(app, ["runs", "copy", "--to", "postgresql://u:quokka@h/db"])
    assert secret.exit_code == 2
    assert "PGPASSWORD" in secret.output
    assert "quokka" not in secret.output
    nothing = CliRunner().invoke(app, ["runs", "copy", "--from", "nowhere.sqlite"])
    assert "there is no such file" in str(nothing.exception)


@pytest.mark.skipif(os.name == "nt", reason="signals are sent as on POSIX")
def test_killed_and_interrupted_copies_leave_what_can_be_gone_on_from(tmp_path: Path, target: RunStore) -> None:
    with RunStore(tmp_path / "many.sqlite", stays_open=True) as many:
        with many.writing() as writing:
            from tracer_hooks.store import PackedRun

            for number in range(600):
                writing.save(PackedRun.of(make_run(f"run-{number}", text="x" * 3000)))
        program = "import sys; from tracer_hooks.cli import main; sys.argv[0] = 'tracer-hooks'; main()"
        command = [sys.executable, "-c", program, "runs", "copy", "--from", many.name, "--to", target.name]
        for end in (signal.SIGKILL, signal.SIGINT):
            before = len(target.list(limit=1000)) if target.exists() else 0
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            until = time.monotonic() + 60
            while not (target.exists() and len(target.list(limit=1000)) > before) and time.monotonic() < until:
                time.sleep(0.005)
            child.send_signal(end)
            child.communicate(timeout=60)
        copied = copy_store(many, target)
        assert copied.runs + copied.runs_there == 600
        assert len(target.list(limit=1000)) == 600
