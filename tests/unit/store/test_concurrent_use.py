"""Several threads and processes share one file, and counts of repairs are added up."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from tracer_hooks.config import ServerUrl, StorePlace
from tracer_hooks.store import RunStore

from ._runs import make_attribution, make_run


def test_processes_that_all_create_and_fill_the_store(place: StorePlace) -> None:
    path = str(place)  # without a password, and none is needed
    script = str(Path(__file__).with_name("_runs.py"))
    workers = [subprocess.Popen([sys.executable, script, path, f"worker{n}", "15"]) for n in range(3)]
    assert [worker.wait(timeout=90) for worker in workers] == [0, 0, 0]
    with RunStore(path) as store:
        assert len(store.list(limit=1000)) == 45
        assert store.get("worker2-14") == make_run("worker2-14", text="x" * 5000)


@pytest.mark.parametrize("stays_open", [False, True], ids=["opened for each use", "kept open"])
def test_threads_that_share_one_store_from_its_first_use(place: StorePlace, stays_open: bool) -> None:
    together = threading.Barrier(6)

    def work(number: int) -> None:
        together.wait()
        for attempt in range(5):
            store.save(make_run(f"t{number}-{attempt}"))
            store.set_attribution(f"t{number}-{attempt}", make_attribution())
            assert store.list(limit=1)

    with RunStore(place, stays_open=stays_open, busy_timeout_s=60) as store, ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
        assert [run.agent for run in store.list(limit=100)] == ["solver"] * 30


def test_a_reader_sees_the_last_state_while_another_connection_writes(place: StorePlace) -> None:
    store = RunStore(place)
    store.save(make_run("first"))
    reader = RunStore(place, busy_timeout_s=0.01, read_only=True)
    with store._database.write("hold the lock") as connection:
        connection.execute(sa.text("DELETE FROM runs"))
        assert [run.run_id for run in reader.list()] == ["first"]
    assert store.list() == ()
    if isinstance(place, ServerUrl):
        return
    with closing(sqlite3.connect(place)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
