"""Counts of repairs in the store, and files of versions that had none."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy.exc import IntegrityError

from tracer_hooks.errors import StoreError
from tracer_hooks.store import RunStore

from ._older import older
from ._runs import make_run
from .test_tapes import version_1

ROW = ("feedback_in_task", 0, 4, "FM-3.2", 3, 1)
WRITER = """
import sys
from tracer_hooks.store import RunStore
with RunStore(sys.argv[1], busy_timeout_s=60) as store:
    for _ in range(40):
        store.add_repair_counts("team", [("resample", 1, 3, "", 1, 1), ("from_scratch", 0, 4, "", 2, 1)])
"""


def test_counts_are_added_up_by_kind_and_team(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    assert store.repair_counts("a") == ()
    store.add_repair_counts("a", [ROW, ("from_scratch", 0, 4, "", 2, 0), ROW])
    store.add_repair_counts("a", [("feedback_in_task", 0, 4, "", 1, 1)])
    store.add_repair_counts("b", [ROW])
    store.add_repair_counts("b", [])
    assert store.repair_counts("a") == (
        ("feedback_in_task", 0, 4, "", 1, 1),
        ("feedback_in_task", 0, 4, "FM-3.2", 6, 2),
        ("from_scratch", 0, 4, "", 2, 0),
    )
    assert RunStore(store.path).repair_counts("b") == (ROW,)


def test_processes_that_add_at_once_lose_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "runs.sqlite")
    workers = [subprocess.Popen([sys.executable, "-c", WRITER, path]) for _ in range(2)]
    assert [worker.wait(timeout=90) for worker in workers] == [0, 0]
    found = RunStore(path).repair_counts("team")
    assert found == (("from_scratch", 0, 4, "", 160, 80), ("resample", 1, 3, "", 80, 80))


def test_threads_that_add_at_once_lose_nothing(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite", busy_timeout_s=60)
    together = threading.Barrier(4)

    def work(_: int) -> None:
        together.wait()
        for _ in range(10):
            store.add_repair_counts("team", [ROW])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert store.repair_counts("team") == ((*ROW[:4], 120, 40),)


def test_of_rows_that_cannot_all_be_added_none_is(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    with pytest.raises(StoreError, match="cannot save which repairs helped") as caught:
        store.add_repair_counts("team", [ROW, (None, 0, 4, "", 1, 0)])  # type: ignore[list-item]
    assert isinstance(caught.value.__cause__, IntegrityError)
    assert store.repair_counts("team") == ()


def test_a_file_of_version_1_is_migrated_and_keeps_its_runs(tmp_path: Path) -> None:
    path = version_1(tmp_path / "runs.sqlite")
    for times in (1, 2):
        store = RunStore(path)
        store.add_repair_counts("team", [ROW])
        assert store.repair_counts("team") == ((*ROW[:4], 3 * times, times),)
        assert store.get("old-1").trajectory.steps[0].content == "six"


def test_a_file_of_version_2_is_migrated_to_the_tables_of_a_new_one(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "new.sqlite")
    store.save(make_run())
    store.close()
    old = older(tmp_path, 2)
    migrated = RunStore(old)
    migrated.add_repair_counts("team", [ROW])
    assert migrated.repair_counts("team") == (ROW,)
    assert migrated.get("old-1") == make_run("old-1")
    assert _columns(old) == _columns(store.path)


def test_a_file_of_version_1_that_may_not_be_changed_has_no_counts(tmp_path: Path) -> None:
    path = version_1(tmp_path / "runs.sqlite")
    store = RunStore(path, read_only=True)
    assert store.repair_counts("team") == ()
    with pytest.raises(StoreError, match="opened read-only"):
        store.add_repair_counts("team", [ROW])
    assert _columns(path) == []


def _columns(path: Path) -> list[tuple[str, str, int, int]]:
    with sqlite3.connect(path) as connection:
        rows = connection.execute("PRAGMA table_info(repair_counts)").fetchall()
    return [(name, kind, needed, key) for _, name, kind, needed, _, key in rows]
