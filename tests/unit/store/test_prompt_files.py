"""Prompts in files that may not be changed, and with several users at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tracer_hooks.errors import StoreError
from tracer_hooks.store import PromptState, PromptStore, PromptVersion

from ._prompts import TEAM, accepted, outcome, prompt_store, proposed

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
