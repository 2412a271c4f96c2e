"""Tapes in the store."""

from __future__ import annotations

from typing import Any

import pytest

from tracer_hooks.errors import StoreError
from tracer_hooks.store import RunStore

from ._runs import alter, make_run

TAPE: dict[str, Any] = {
    "run_id": "run-1",
    "messages": [{"role": "user", "content": "größe ✓ " * 500}],
    "model_calls": [{"agent": "solver", "step": 0, "messages": [0], "content": "\ud800", "latency_s": 0.25}],
}


def test_a_tape_comes_back_as_it_was_saved(store: RunStore) -> None:
    store.save(make_run(tape=TAPE))
    store.save(make_run("without"))
    assert store.get("run-1").tape == TAPE
    assert store.get("run-1", with_tape=False) == make_run()
    assert store.get("without").tape is None
    assert store.attempts("session-1")[0].tape == TAPE
    assert {run.run_id: run.has_tape for run in store.list()} == {"run-1": True, "without": False}


def test_a_later_save_without_a_tape_keeps_it(store: RunStore) -> None:
    store.save(make_run(tape=TAPE))
    store.save(make_run(text="later"))
    found = store.get("run-1")
    assert found.trajectory.steps[0].content == "later"
    assert found.tape == TAPE


def test_a_damaged_tape_names_the_run_and_leaves_the_rest_readable(store: RunStore) -> None:
    store.save(make_run(tape=TAPE))
    alter(store, "update runs set tape = ?", b"zgarbage")
    with pytest.raises(StoreError, match=r"run 'run-1' in the run store is damaged"):
        store.get("run-1")
    assert store.get("run-1", with_tape=False) == make_run()
    assert store.list()[0].has_tape
