"""A file that is kept open between uses: it is the one that the path leads to, and no fork takes it along."""

import contextlib
import multiprocessing
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tracer_hooks.errors import StoreError
from tracer_hooks.store import RunStore

from ._runs import make_run

FORKS = "fork" in multiprocessing.get_all_start_methods()


@pytest.fixture
def kept(file: Path) -> Iterator[RunStore]:
    """A store that stays open and holds the run ``a``."""
    with RunStore(file, stays_open=True, busy_timeout_s=30) as kept:
        kept.save(make_run("a"))
        yield kept


def open_files(path: Path) -> list[str]:
    """What this process has open of a store: the file and those beside it."""
    links = Path("/proc/self/fd")
    if not links.is_dir():
        pytest.skip("only Linux says which files are open")
    found = []
    for link in links.iterdir():
        with contextlib.suppress(OSError):  # the one that was open to list them
            found.append(os.readlink(link))
    return [name for name in found if name.startswith(str(path))]


def test_the_file_stays_open_between_uses_and_is_closed_by_close_idle(kept: RunStore) -> None:
    plain = RunStore(kept.path)
    assert open_files(kept.path)
    kept.close_idle()
    assert not open_files(kept.path)
    plain.save(make_run("b"))
    assert not open_files(kept.path)
    kept.save(make_run("c"))
    kept.close()
    assert not open_files(kept.path)
    assert {run.run_id for run in plain.list()} == {"a", "b", "c"}


def test_others_read_and_write_while_it_is_open(kept: RunStore) -> None:
    RunStore(kept.path, busy_timeout_s=0.1).save(make_run("b"))
    assert {run.run_id for run in kept.list()} == {"a", "b"}
    kept.delete("a")
    assert RunStore(kept.path).wipe()


@pytest.mark.parametrize("others", [[], ["other"]], ids=["deleted", "replaced"])
def test_a_file_that_the_user_takes_away_is_not_written_to_any_longer(kept: RunStore, others: list[str]) -> None:
    for each in kept.path.parent.iterdir():
        each.unlink()
    for other in others:
        RunStore(kept.path).save(make_run(other))
    kept.save(make_run("b"))
    assert {run.run_id for run in RunStore(kept.path).list()} == {"b", *others}


def test_after_an_error_the_file_is_opened_anew(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunStore(file, stays_open=True, busy_timeout_s=0.05) as kept:
        kept.save(make_run("a"))
        with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="locked"):
                kept.save(make_run("b"))
        connect = Mock(side_effect=sqlite3.connect)
        monkeypatch.setattr(sqlite3, "connect", connect)
        kept.save(make_run("c"))
        kept.save(make_run("d"))
        assert connect.call_count == 1
        assert {run.run_id for run in kept.list()} == {"a", "c", "d"}


def test_a_wait_for_a_lock_is_no_longer_for_the_next_use_than_for_the_first(kept: RunStore) -> None:
    # SQLite itself waits in the midst of what no fork may cut in two, so a use begins with short waits.
    with contextlib.closing(sqlite3.connect(kept.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        saving = threading.Thread(target=kept.save, args=(make_run("b"),))
        saving.start()
        time.sleep(0.2)
        began = time.monotonic()
        kept.close_idle()  # takes what a fork takes
        assert time.monotonic() - began < 5
        other.execute("ROLLBACK")
        saving.join(30)
    assert {run.run_id for run in kept.list()} == {"a", "b"}


def in_child(store: RunStore, path: Path, told: Any) -> None:
    inherited = open_files(path)
    store.save(make_run("of the child"))
    told.put(inherited)


@pytest.mark.skipif(not FORKS, reason="this system does not fork")
def test_a_fork_does_not_take_the_open_file_along(kept: RunStore) -> None:
    forking: Any = multiprocessing.get_context("fork")
    told = forking.Queue()
    child = forking.Process(target=in_child, args=(kept, kept.path, told))
    child.start()
    assert told.get(timeout=30) == []
    child.join(30)
    assert child.exitcode == 0
    kept.save(make_run("b"))
    assert {run.run_id for run in kept.list()} == {"a", "b", "of the child"}
