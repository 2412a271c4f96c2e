"""Eight processes write prompts, outcomes and runs while one after the other is killed: a hundred kills in all."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.store import PromptArm, PromptPhase, PromptState, PromptStore, RunStore

WRITERS, KILLS = 8, 100
CURRENT = """
import sys
from tracer_hooks.store import PromptStore
for team in sys.argv[2:]:
    version = PromptStore(sys.argv[1]).current(team)
    print(version.number if version else None, version.texts["solver"] if version else None)
"""


@dataclass
class Journals:
    """What the writers were about to do, and what the store answered."""

    answered: list[dict[str, Any]] = field(default_factory=list)
    in_flight: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def read(cls, folder: Path) -> Journals:
        found = cls()
        for path in folder.glob("*.jsonl"):
            pending: dict[str, Any] | None = None
            for line in path.read_text().split("\n")[:-1]:
                entry = json.loads(line)
                if "answer" in entry:
                    found.answered.append(entry)
                pending = None if "answer" in entry else entry
            found.in_flight += [pending] if pending else []
        return found

    def done(self, what: str, *names: str) -> Counter[tuple[Any, ...]]:
        """What the store said it did."""
        return Counter(tuple(one[n] for n in names) for one in self.answered if one["what"] == what and one["answer"])

    def perhaps(self, what: str, *names: str) -> set[tuple[Any, ...]]:
        """What it may have done when the process was killed."""
        return {tuple(one[n] for n in names) for one in self.in_flight if one["what"] == what}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.timeout(300)
def test_killed_writers_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    path, folder = tmp_path / "runs.sqlite", tmp_path / "journals"
    folder.mkdir()
    script = Path(__file__).with_name("_prompt_writers.py")
    command = [sys.executable, str(script), str(path), str(folder), str(WRITERS), str(KILLS)]
    subprocess.run(command, check=True, timeout=280)
    assert [error.read_text() for error in folder.glob("*.error")] == []
    journals, store = Journals.read(folder), PromptStore(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    check_runs(journals, path)
    check_versions(journals, store)
    check_outcomes(journals, store)
    used = {team: check_history(journals, store, team) for team in store.teams()}
    said = subprocess.run([sys.executable, "-c", CURRENT, str(path), *used], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines() == [
        f"{number} {store.get(team, number).texts['solver'] if number else None}" for team, number in used.items()
    ]


def check_runs(journals: Journals, path: Path) -> None:
    stored = {run.run_id for run in RunStore(path).list(limit=1_000_000)}
    said = {run_id for (run_id,) in journals.done("run", "run_id")}
    assert len(said) > KILLS // 2
    assert said <= stored <= said | {run_id for (run_id,) in journals.perhaps("run", "run_id")}


def check_versions(journals: Journals, store: PromptStore) -> None:
    stored = {(one.team, one.texts["solver"]): one.number for one in store.versions()}
    assert len(stored) == len(store.versions()), "each writer proposes a text once, so no text is there twice"
    said = journals.done("proposed", "team", "text", "answer")
    assert len(said) > KILLS // 2
    assert all(stored[team, text] == number for team, text, number in said)
    proposed = {(team, text) for team, text, _ in said} | journals.perhaps("proposed", "team", "text")
    assert stored.keys() <= proposed
    for team in store.teams():
        numbers = [version.number for version in store.versions(team)]
        assert numbers == list(range(1, len(numbers) + 1))


def check_outcomes(journals: Journals, store: PromptStore) -> None:
    said = journals.done("count", "team", "number", "run_id")
    assert len(said) > KILLS // 2
    assert set(said.values()) == {1}, "no run was counted twice for a version"
    stored = []
    for version in store.versions():
        outcomes = store.outcomes(version.team, version.number)
        stored += [(version.team, version.number, one.run_id) for one in outcomes]
        for phase, tally in ((PromptPhase.TRIAL, version.trial), (PromptPhase.LIVE, version.live)):
            sums = [[one.passed for one in outcomes if (one.arm, one.phase) == (arm, phase)] for arm in PromptArm]
            (new, old) = ((len(passed), sum(passed), float(sum(passed))) for passed in sums)
            assert (tally.new_runs, tally.new_passes, tally.new_score) == new
            assert (tally.old_runs, tally.old_passes, tally.old_score) == old
    assert len(stored) == len(set(stored))
    assert set(said) <= set(stored) <= set(said) | journals.perhaps("count", "team", "number", "run_id")


def check_history(journals: Journals, store: PromptStore, team: str) -> int | None:
    """Follow the events by the rules of the store; gives the version that must be the current one."""
    parents = {version.number: version.parent for version in store.versions(team)}
    states: dict[int, PromptState] = {}
    head: int | None = None
    for event in store.events(team):
        number = event.number or 0
        before = states.get(number)
        states[number] = PromptState("on trial" if event.what == "put on trial" else event.what)
        if event.what == "accepted":
            assert (before, parents[number]) == (PromptState.ON_TRIAL, head)
            head = number
        elif event.what == "rolled back":
            assert before not in (None, PromptState.ROLLED_BACK)
            parent = parents[number]
            if number == head:
                head = parent if parent is not None and states[parent] is PromptState.ACCEPTED else None
    assert states == {version.number: version.state for version in store.versions(team)}
    happened = Counter((event.what, event.number) for event in store.events(team))
    for what in ("put on trial", "accepted", "rolled back"):
        said = {number for of, number in journals.done(what, "team", "number") if of == team}
        perhaps = {number for of, number in journals.perhaps(what, "team", "number") if of == team}
        there = {number for name, number in happened if name == what}
        assert said <= there <= said | perhaps, "exactly what was acknowledged, or in flight"
        assert all(happened[what, number] == 1 for number in there)
    current = store.current(team)
    assert (None if current is None else current.number) == head
    return head
