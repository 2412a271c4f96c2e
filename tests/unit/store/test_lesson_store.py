"""Lessons in the run store: their states, several users at once, and files of older versions."""

from __future__ import annotations

import multiprocessing
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tracer_hooks.errors import StoreError
from tracer_hooks.store import LessonDraft, LessonOutcome, LessonState, LessonStore, RunStore

from ._older import LESSON_TABLES, older
from ._runs import make_run

TEAM = "autogen-maths-1234abcd"


def draft(text: str = "Do not forget the carry.", *, agent: str = "solver", runs: tuple[str, ...] = ()) -> LessonDraft:
    return LessonDraft(agent=agent, text=text, kind={"sums": 1.0}, runs=runs or (f"failed {agent} {text}",))


def outcome(run_id: str, *, given: bool = True, passed: bool = True, period: int = 1) -> LessonOutcome:
    now = datetime(2026, 3, 4, 12, tzinfo=UTC)
    return LessonOutcome(run_id=run_id, period=period, given=given, passed=passed, share=0.5, counted_at=now)


@pytest.fixture
def store(tmp_path: Path) -> LessonStore:
    return LessonStore(tmp_path / "runs.sqlite", busy_timeout_s=60)


def test_a_lesson_is_proposed_kept_tried_again_and_retired(store: LessonStore) -> None:
    lesson = store.propose(TEAM, draft())
    assert lesson is not None
    assert (lesson.number, lesson.state, lesson.period, lesson.is_living) == (1, LessonState.ON_TRIAL, 1, True)
    assert store.change(lesson, LessonState.KEPT, reason="it helps", evidence={"runs": 60})
    kept = store.get(TEAM, 1)
    assert (kept.state, kept.reason, kept.period, kept.evidence) == (LessonState.KEPT, "it helps", 2, {"runs": 60})
    assert store.change(kept, LessonState.ON_TRIAL, reason="doubtful", evidence={"last": 1})
    assert store.get(TEAM, 1).evidence == {"runs": 60, "last": 1}
    retired = store.retire(TEAM, 1, reason="no use")
    assert (retired.state, retired.reason, retired.period) == (LessonState.RETIRED, "no use", 4)
    assert store.lessons(TEAM, living_only=True) == ()
    assert store.lessons(TEAM) == store.lessons() == (retired,)
    with pytest.raises(StoreError, match="is retired already"):
        store.retire(TEAM, 1, reason="again")
    with pytest.raises(StoreError, match="cannot become 'kept'"):
        store.change(retired, LessonState.KEPT, reason="after all")


def test_a_change_of_what_was_changed_meanwhile_does_nothing(store: LessonStore) -> None:
    lesson = store.propose(TEAM, draft())
    assert lesson is not None
    store.retire(TEAM, 1, reason="by hand")
    assert not store.change(lesson, LessonState.KEPT, reason="it helps")
    assert store.get(TEAM, 1).reason == "by hand"


def test_a_run_counts_once(store: LessonStore) -> None:
    store.propose(TEAM, draft())
    assert store.count(TEAM, 1, outcome("a"))
    assert not store.count(TEAM, 1, outcome("a", given=False))
    assert store.count(TEAM, 1, outcome("b", given=False, passed=False))
    assert store.count(TEAM, 1, outcome("c", period=2))
    lesson = store.get(TEAM, 1)
    sums = (lesson.with_runs, lesson.with_passes, lesson.without_runs, lesson.without_passes)
    assert sums == (2, 2, 1, 0)
    assert store.outcomes(TEAM, 1, period=1) == (outcome("a"), outcome("b", given=False, passed=False))
    assert store.outcomes(TEAM, 1, last=1) == (outcome("c", period=2),)


def test_failed_runs_are_learnt_from_once_and_lessons_are_few(store: LessonStore) -> None:
    assert store.propose(TEAM, draft("One.", runs=("a", "b"))) is not None
    assert store.propose(TEAM, draft("Two.", runs=("b", "c"))) is None
    assert store.propose(TEAM, draft("One.", runs=("d",))) is None
    assert store.propose(TEAM, draft("One.", agent="checker", runs=("a",))) is not None
    assert store.learnt_from(TEAM) == {("solver", "a"), ("solver", "b"), ("checker", "a")}
    for at in range(4):
        assert store.propose(TEAM, draft(f"More {at}.")) is not None
    assert store.propose(TEAM, draft("Too much.")) is None
    store.retire(TEAM, 1, reason="no use")
    assert store.propose(TEAM, draft("Now there is room.")) is not None
    assert store.propose(TEAM, draft("Learnt before.", runs=("a",))) is None  # also from what was retired
    assert store.teams() == (TEAM,)


def test_what_does_not_exist_is_said(store: LessonStore) -> None:
    with pytest.raises(StoreError, match="no lessons are stored for the team"):
        store.get(TEAM, 1)
    store.propose(TEAM, draft())
    with pytest.raises(StoreError, match=r"no lesson 2 of .*, expected one of: 1"):
        store.count(TEAM, 2, outcome("a"))
    with pytest.raises(StoreError, match="last must be at least 1"):
        store.outcomes(TEAM, 1, last=0)
    with pytest.raises(StoreError, match="team is '', expected the team's fingerprint"):
        store.propose("", draft())


def test_a_damaged_lesson_is_said_and_can_be_retired(store: LessonStore) -> None:
    store.propose(TEAM, draft())
    with sqlite3.connect(store.path) as connection:
        connection.execute("update lessons set content = x'00'")
    connection.close()
    with pytest.raises(StoreError, match=r"(?s)is damaged in the store.*lessons retire 1"):
        store.get(TEAM, 1)
    with pytest.raises(StoreError, match="is damaged"):
        store.retire(TEAM, 1, reason="damaged")  # it is retired all the same
    assert store.lessons(TEAM, living_only=True) == ()


# --- several at once -------------------------------------------------------------------------------------------------
def test_threads_that_propose_and_count_at_once(store: LessonStore) -> None:
    runs = ("failed 1", "failed 2", "failed 3")

    def work(number: int) -> tuple[bool, int]:
        is_mine = store.propose(TEAM, draft(f"Lesson {number}.", runs=runs)) is not None
        return is_mine, sum(store.count(TEAM, 1, outcome(f"run {each}")) for each in range(10))

    with ThreadPoolExecutor(6) as pool:
        done = list(pool.map(work, range(6)))
    assert [mine for mine, _ in done].count(True) == 1
    assert sum(counted for _, counted in done) == 10
    assert store.get(TEAM, 1).with_runs == len(store.outcomes(TEAM, 1)) == 10


def _decide(path: Path, found: multiprocessing.Queue[tuple[int, bool]]) -> None:
    with LessonStore(path, busy_timeout_s=60) as store:
        seen = store.get(TEAM, 1)
        counted = sum(store.count(TEAM, 1, outcome(f"run {each}")) for each in range(20))
        found.put((counted, seen.period == 1 and store.change(seen, LessonState.KEPT, reason="it helps")))


def test_processes_that_count_and_decide_at_once(store: LessonStore) -> None:
    store.propose(TEAM, draft())
    context = multiprocessing.get_context("spawn")
    found: multiprocessing.Queue[tuple[int, bool]] = context.Queue()
    workers = [context.Process(target=_decide, args=(store.path, found)) for _ in range(3)]
    for worker in workers:
        worker.start()
    done = [found.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join(60)
    assert sum(counted for counted, _ in done) == 20
    assert [changed for _, changed in done].count(True) == 1
    lesson = store.get(TEAM, 1)
    assert (lesson.state, lesson.period, lesson.with_runs) == (LessonState.KEPT, 2, 20)


# --- files of older versions -----------------------------------------------------------------------------------------
def shape(path: Path) -> dict[str, object]:
    with sqlite3.connect(path) as connection:
        return {
            table: (
                [row[1:] for row in connection.execute(f"PRAGMA table_info({table})")],
                sorted(
                    (row[2:4], [each[2] for each in connection.execute(f"PRAGMA index_info({row[1]})")])
                    for row in connection.execute(f"PRAGMA index_list({table})")
                ),
            )
            for table in LESSON_TABLES
        }


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_a_file_of_an_older_version_is_migrated(tmp_path: Path, store: LessonStore, version: int) -> None:
    path = older(tmp_path, version)
    with LessonStore(path, read_only=True) as closed:
        assert (closed.lessons(), closed.teams(), closed.outcomes(TEAM, 1)) == ((), (), ())
        assert closed.learnt_from(TEAM) == frozenset()
        with pytest.raises(StoreError, match="no lessons are stored"):
            closed.get(TEAM, 1)
    with RunStore(path, read_only=True) as runs:
        assert runs.get("old-1").lessons == ()
    store.propose(TEAM, draft())
    older_one = LessonStore(path)
    assert older_one.propose(TEAM, draft()) is not None
    assert shape(path) == shape(store.path)
    with RunStore(path) as runs:
        runs.save(make_run("new-1"))
        assert {run.run_id for run in runs.list()} == {"new-1", "old-1"}
