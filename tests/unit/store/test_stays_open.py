"""A file that is kept open between uses: it is the one that the path leads to, and no fork takes it along."""

import multiprocessing
import os
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.errors import StoreError
from tracer_hooks.store import RunStore

from ._runs import make_run

FORKS = "fork" in multiprocessing.get_all_start_methods()


def open_files(path: Path) -> list[str]:
    """What this process has open of a store: the file and those beside it."""
    links = Path("/proc/self/fd")
    if not links.is_dir():
        pytest.skip("only Linux says which files are open")
    found = []
    for link in links.iterdir():
        try:
            found.append(os.readlink(link))
        except OSError:  # the one that was open to list them
            continue
    return [name for name in found if name.startswith(str(path))]


def test_the_file_stays_open_between_uses_and_is_closed_by_close_idle(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    kept, plain = RunStore(path, stays_open=True), RunStore(path)
    kept.save(make_run("a"))
    assert open_files(path)
    kept.close_idle()
    assert not open_files(path)
    plain.save(make_run("b"))
    assert not open_files(path)
    kept.save(make_run("c"))
    kept.close()
    assert not open_files(path)
    assert {run.run_id for run in plain.list()} == {"a", "b", "c"}


def test_others_read_and_write_while_it_is_open(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with RunStore(path, stays_open=True) as kept:
        kept.save(make_run("a"))
        RunStore(path, busy_timeout_s=0.1).save(make_run("b"))
        assert {run.run_id for run in kept.list()} == {"a", "b"}
        kept.delete("a")
        assert RunStore(path).wipe()


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_file_that_the_user_takes_away_is_not_written_to_any_longer(tmp_path: Path, how: str) -> None:
    path = tmp_path / "runs.sqlite"
    with RunStore(path, stays_open=True) as kept:
        kept.save(make_run("a"))
        for each in tmp_path.iterdir():
            each.unlink()
        if how == "replaced":
            RunStore(path).save(make_run("other"))
        kept.save(make_run("b"))
        assert {run.run_id for run in RunStore(path).list()} == {"b"} | ({"other"} if how == "replaced" else set())


def test_after_an_error_the_file_is_opened_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.sqlite"
    opened: list[int] = []
    connect = sqlite3.connect
    with RunStore(path, stays_open=True, busy_timeout_s=0.05) as kept:
        kept.save(make_run("a"))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked"):
            kept.save(make_run("b"))
        other.execute("ROLLBACK")
        other.close()

        def counted(*args: Any, **kwargs: Any) -> sqlite3.Connection:
            opened.append(1)
            return connect(*args, **kwargs)

        monkeypatch.setattr(sqlite3, "connect", counted)
        kept.save(make_run("c"))
        kept.save(make_run("d"))
        assert len(opened) == 1
        assert {run.run_id for run in kept.list()} == {"a", "c", "d"}


def test_a_wait_for_a_lock_is_no_longer_for_the_next_use_than_for_the_first(tmp_path: Path) -> None:
    # SQLite itself waits in the midst of what no fork may cut in two, so a use begins with short waits.
    path = tmp_path / "runs.sqlite"
    with RunStore(path, stays_open=True, busy_timeout_s=30) as kept:
        kept.save(make_run("a"))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        saving = threading.Thread(target=kept.save, args=(make_run("b"),))
        saving.start()
        time.sleep(0.2)
        began = time.monotonic()
        kept.close_idle()  # takes what a fork takes
        assert time.monotonic() - began < 5
        other.execute("ROLLBACK")
        saving.join(30)
        other.close()
        assert {run.run_id for run in kept.list()} == {"a", "b"}


def in_child(store: RunStore, path: Path, told: Any) -> None:
    inherited = open_files(path)
    store.save(make_run("of the child"))
    told.put(inherited)


@pytest.mark.skipif(not FORKS, reason="this system does not fork")
def test_a_fork_does_not_take_the_open_file_along(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    forking: Any = multiprocessing.get_context("fork")
    with RunStore(path, stays_open=True) as kept:
        kept.save(make_run("a"))
        told = forking.Queue()
        child = forking.Process(target=in_child, args=(kept, path, told))
        child.start()
        assert told.get(timeout=30) == []
        child.join(30)
        assert child.exitcode == 0
        kept.save(make_run("b"))
        assert {run.run_id for run in kept.list()} == {"a", "b", "of the child"}


def test_threads_that_write_at_once(tmp_path: Path) -> None:
    with RunStore(tmp_path / "runs.sqlite", stays_open=True, busy_timeout_s=30) as kept:

        def save(number: int) -> None:
            for turn in range(5):
                kept.save(make_run(f"{number}-{turn}"))

        threads = [threading.Thread(target=save, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(kept.list()) == 20
