"""Every way in which the file can be unusable ends in a StoreError that says what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.errors import StoreError
from tracer_hooks.store import PromptStore, RunStore, _tables

from ._runs import alter, make_run


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = RunStore(tmp_path / "file" / "runs.sqlite")
    with pytest.raises(StoreError, match=r"cannot save the run: run store .*TRACER_HOOKS_STORE"):
        store.save(make_run())


@pytest.mark.parametrize(
    "change",
    [
        lambda store: store.save(make_run("new")),
        lambda store: store.delete("run-1"),
        lambda store: store.set_attribution("run-1", None),
    ],
)
def test_a_read_only_store_reads_and_refuses_every_change(filled: RunStore, change: Callable[[RunStore], None]) -> None:
    store = RunStore(filled.path, read_only=True)
    with pytest.raises(StoreError, match="opened read-only"):
        change(store)
    assert store.get("run-1") == make_run()


def test_a_file_that_sqlite_may_not_write(filled: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect

    def connect_read_only(name: str, **options: Any) -> sqlite3.Connection:
        opened: sqlite3.Connection = connect(name.replace("mode=rwc", "mode=ro"), **options)
        return opened

    monkeypatch.setattr(sqlite3, "connect", connect_read_only)  # permissions do not stop root, this does
    with pytest.raises(StoreError, match=r"readonly database.*TRACER_HOOKS_STORE=off"):
        filled.save(make_run("new"))


@pytest.mark.parametrize(
    "look", [lambda path: RunStore(path, read_only=True).list(), lambda path: PromptStore(path, read_only=True).teams()]
)
def test_looking_into_a_store_that_is_not_there_makes_none(tmp_path: Path, look: Callable[[Path], object]) -> None:
    with pytest.raises(StoreError, match=r"there is no run store at .* run a hooked team"):
        look(tmp_path / ".tracer_hooks" / "runs.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_or_was_cut_off(filled: RunStore) -> None:
    path = filled.path
    path.write_bytes(path.read_bytes()[:5000] + b"\xff" * 20000)
    with pytest.raises(StoreError):
        RunStore(path).get("run-1")
    path.write_bytes(b"not a database, " * 500)
    for use in (lambda: RunStore(path).save(make_run()), lambda: RunStore(path, read_only=True).list()):
        with pytest.raises(StoreError, match=r"no run store\. Run: mv .*\.damaged'"):
            use()
    assert path.read_bytes().startswith(b"not a database")


def test_a_damaged_record_names_the_run_and_leaves_the_others_readable(filled: RunStore) -> None:
    filled.save(make_run("run-2"))
    alter(filled, "update runs set trajectory = ? where run_id = 'run-1'", b"zgarbage")
    with pytest.raises(StoreError, match=r"run 'run-1' in the run store is damaged.*delete"):
        filled.get("run-1")
    assert len(filled.list()) == 2
    assert filled.get("run-2") == make_run("run-2")


@pytest.mark.parametrize(
    "damage",
    [
        "started_us = 'soon'",
        "outcome = 'perhaps'",
        "team = CAST(x'ff41fe' AS TEXT), outcome = 'x'",
        "prompts = '{'",
        "steps = -1",
    ],
)
def test_a_damaged_row_is_left_out_of_the_list_and_said_once(
    damage: str, filled: RunStore, caplog: pytest.LogCaptureFixture
) -> None:
    filled.save(make_run("run-2"))
    alter(filled, f"update runs set {damage} where run_id = 'run-1'")
    for _ in range(2):
        assert [run.run_id for run in filled.list()] == ["run-2"]
    (said,) = caplog.messages
    assert said.startswith("tracer-hooks leaves a run out of the list: run 'run-1' in the run store is damaged")
    assert len(said) < 1_000


def test_a_text_that_is_no_unicode_is_read_with_signs_in_its_place(filled: RunStore) -> None:
    alter(filled, "update runs set team = CAST(x'ff41fe' AS TEXT)")
    assert [run.team for run in filled.list()] == ["\ufffdA\ufffd"]


def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "theirs.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("create table orders (n integer)")
    with pytest.raises(StoreError, match=r"another program \('orders'\)"):
        RunStore(path).save(make_run())
    with sqlite3.connect(path) as connection:
        assert connection.execute("select name from sqlite_master").fetchall() == [("orders",)]


@pytest.mark.parametrize("version", [9, 99])
def test_a_newer_store_asks_for_an_upgrade(filled: RunStore, version: int) -> None:
    alter(filled, "update schema_version set version = ?", version)
    with pytest.raises(StoreError, match="pip install --upgrade tracer-hooks"):
        RunStore(filled.path).list()


def test_an_older_store_is_migrated_once_and_refused_unchanged_without_a_migration(
    filled: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    present = _tables.STORE_VERSION
    monkeypatch.setattr(_tables, "STORE_VERSION", present + 1)
    with pytest.raises(StoreError, match=f"unknown version {present}"):
        RunStore(filled.path).list()
    monkeypatch.setitem(_tables.MIGRATIONS, present, ("alter table runs add column note text",))  # fails done twice
    for _ in range(2):
        assert RunStore(filled.path).get("run-1") == make_run()


def test_a_lock_held_too_long(filled: RunStore) -> None:
    path = filled.path
    waiting = RunStore(path, busy_timeout_s=0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"locked.*Another process is writing"):
            waiting.save(make_run("new"))
        with pytest.raises(StoreError, match=r"cannot write: .*locked"):
            waiting.probe()
        assert waiting.wipe() is False
    waiting.probe()
    assert [run.run_id for run in waiting.list()] == ["run-1"]
    waiting.save(make_run("new"))
    assert waiting.get("new") == make_run("new")
    assert waiting.wipe() is True


def test_a_full_disk_is_said_to_be_full(filled: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect

    def connect_to_a_full_disk(name: str, **options: Any) -> sqlite3.Connection:
        opened: sqlite3.Connection = connect(name, **options)
        opened.execute("PRAGMA max_page_count = 1").close()  # no fewer than there are
        return opened

    monkeypatch.setattr(sqlite3, "connect", connect_to_a_full_disk)
    long = "".join(f"{number:x}" for number in range(100_000))
    with pytest.raises(StoreError, match=r"database or disk is full.* Free some disk space"):
        filled.save(make_run("new", task=long))
    assert [run.run_id for run in filled.list()] == ["run-1"]
