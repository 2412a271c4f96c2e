"""Prompts in files of older versions, in files that may not be changed, and with several users at once."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tracer_hooks.errors import StoreError
from tracer_hooks.store import PromptState, PromptStore, PromptVersion, RunStore

from ._older import PROMPT_TABLES, older
from ._prompts import TEAM, accepted, outcome, prompt_store, proposed


def shape(path: Path) -> dict[str, object]:
    """Columns and indexes of the tables of prompts."""
    with sqlite3.connect(path) as connection:
        return {
            table: (
                [row[1:] for row in connection.execute(f"PRAGMA table_info({table})")],
                sorted(
                    (row[2:4], [each[2] for each in connection.execute(f"PRAGMA index_info({row[1]})")])
                    for row in connection.execute(f"PRAGMA index_list({table})")
                ),
            )
            for table in PROMPT_TABLES
        }


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_file_of_an_older_version_is_migrated_to_the_tables_of_a_new_one(tmp_path: Path, version: int) -> None:
    path = older(tmp_path, version)
    new = accepted(prompt_store(tmp_path))
    for _ in range(2):
        store = PromptStore(path)
        assert store.current(TEAM) == (store.versions() or (None,))[0]
        store.close()
    assert shape(path) == shape(prompt_store(tmp_path).path)
    made = accepted(PromptStore(path))
    assert (made.number, made.texts) == (new.number, new.texts)
    assert RunStore(path).get("old-1").trajectory.steps[0].content == "six"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_file_of_an_older_version_that_may_not_be_changed_has_no_prompts(tmp_path: Path, version: int) -> None:
    path = older(tmp_path, version)
    before = path.read_bytes()
    store = PromptStore(path, read_only=True)
    assert (store.current(TEAM), store.versions(), store.events(TEAM), store.teams()) == (None, (), (), ())
    assert store.outcomes(TEAM, 1) == ()
    with pytest.raises(StoreError, match="no prompts are stored"):
        store.get(TEAM, 1)
    assert path.read_bytes() == before


CHANGES: list[Callable[[PromptStore], object]] = [
    lambda store: proposed(store, "new"),
    lambda store: store.start_trial(TEAM, 2),
    lambda store: store.accept(TEAM, 2),
    lambda store: store.roll_back(TEAM, 1, reason=""),
    lambda store: store.pin(TEAM, 1),
    lambda store: store.unpin(TEAM, 1),
    lambda store: store.count(TEAM, 1, outcome()),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_read_only_store_reads_and_refuses_every_change(
    tmp_path: Path, change: Callable[[PromptStore], object]
) -> None:
    writer = prompt_store(tmp_path)
    versions = (accepted(writer, "a"), proposed(writer, "b"))
    store = PromptStore(writer.path, read_only=True)
    with pytest.raises(StoreError, match="opened read-only"):
        change(store)
    assert store.versions() == versions
    assert store.current(TEAM) == versions[0]


def test_looking_for_prompts_where_there_is_no_file_makes_none(tmp_path: Path) -> None:
    store = PromptStore(tmp_path / ".tracer_hooks" / "runs.sqlite", read_only=True)
    with pytest.raises(StoreError, match="there is no run store"):
        store.current(TEAM)
    assert list(tmp_path.iterdir()) == []


def test_threads_that_propose_and_count_at_once(tmp_path: Path) -> None:
    store = prompt_store(tmp_path)
    together = threading.Barrier(6)

    def work(number: int) -> list[bool]:
        together.wait()
        mine = proposed(store, f"text {number}")
        assert mine.texts == {"solver": f"text {number}"}
        assert proposed(store, f"text {number}").number == mine.number  # others may have counted for it meanwhile
        return [store.count(TEAM, 1, outcome(f"run {each}", score=1)) for each in range(5)]

    with ThreadPoolExecutor(6) as pool:
        counted = [said for work_of in pool.map(work, range(6)) for said in work_of]
    assert sorted(version.number for version in store.versions()) == [1, 2, 3, 4, 5, 6]
    assert counted.count(True) == 5
    assert store.get(TEAM, 1).trial.new_runs == 5


def test_of_threads_that_decide_at_once_one_is_heard(tmp_path: Path) -> None:
    store = prompt_store(tmp_path)
    for text in "abcd":
        store.start_trial(TEAM, proposed(store, text).number)
    together = threading.Barrier(4)

    def work(number: int) -> PromptVersion | None:
        together.wait()
        try:
            return store.accept(TEAM, number)
        except StoreError:
            return None

    with ThreadPoolExecutor(4) as pool:
        (heard,) = [version for version in pool.map(work, range(1, 5)) if version]
    assert store.current(TEAM) == heard
    states = [version.state for version in store.versions()]
    assert (states.count(PromptState.ACCEPTED), states.count(PromptState.ON_TRIAL)) == (1, 3)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_forked_processes_use_the_store_that_their_parent_had_open(tmp_path: Path) -> None:
    store = prompt_store(tmp_path)
    accepted(store)
    fork = multiprocessing.get_context("fork")

    def work(number: int) -> None:
        proposed(store, f"text {number}")
        for each in range(5):
            store.count(TEAM, 1, outcome(f"{number}-{each}", score=1))

    children = [fork.Process(target=work, args=(number,)) for number in range(3)]
    for child in children:
        child.start()
    proposed(store, "the parent's")
    for child in children:
        child.join(timeout=60)
    assert [child.exitcode for child in children] == [0, 0, 0]
    assert [version.number for version in store.versions()] == [1, 2, 3, 4, 5]
    assert store.get(TEAM, 1).trial.new_runs == 15
