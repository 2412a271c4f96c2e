"""Counts of repairs in the store."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy.exc import IntegrityError

from tracer_hooks.errors import StoreError
from tracer_hooks.store import RunStore

ROW = ("feedback_in_task", 0, 4, "FM-3.2", 3, 1)
WRITER = """
import sys
from tracer_hooks.store import RunStore
with RunStore(sys.argv[1], busy_timeout_s=60) as store:
    for _ in range(40):
        store.add_repair_counts("team", [("resample", 1, 3, "", 1, 1), ("from_scratch", 0, 4, "", 2, 1)])
"""


def test_counts_are_added_up_by_kind_and_team(store: RunStore) -> None:
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


def test_of_rows_that_cannot_all_be_added_none_is(store: RunStore) -> None:
    with pytest.raises(StoreError, match="cannot save which repairs helped") as caught:
        store.add_repair_counts("team", [ROW, (None, 0, 4, "", 1, 0)])  # type: ignore[list-item]
    assert isinstance(caught.value.__cause__, IntegrityError)
    assert store.repair_counts("team") == ()
