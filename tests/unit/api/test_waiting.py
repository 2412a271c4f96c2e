"""Nobody waits for a store or a diagnosis that hangs: neither a call nor, for long, the end of the process."""

from __future__ import annotations

import logging
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

import tracer_hooks
from tracer_hooks import _background
from tracer_hooks._background import TaskQueue, in_daemon_thread
from tracer_hooks.runtime import _store_writer
from tracer_hooks.store import PackedRun, RunStore, Writing

TEAM = """
import os, sys, time
import tracer_hooks

@tracer_hooks.agent
def solo(task):
    return "It is 41."

class Hanging:
    name = "hanging"
    def attribute(self, trajectory, *, reference=None):
        while True:
            time.sleep(3600)
    def attribute_many(self, trajectories):
        return [self.attribute(one) for one in trajectories]
"""
BACKGROUND = """
@tracer_hooks.hook(expected="42", attributor=Hanging(), store=sys.argv[1], diagnose="background")
def solve(task):
    return solo(task)

solve("a"); solve("b")
print("done", flush=True)
"""
BESIDE_ANOTHER = """
good = tracer_hooks.hook(lambda task: solo(task), store=sys.argv[1], diagnose="background")
good("c")
"""
CANCELLED = """
import asyncio

@tracer_hooks.hook(expected="42", attributor=Hanging(), store=sys.argv[1], retries=1, diagnose="inline")
async def solve(task):
    return solo(task)

async def main():
    try:
        await asyncio.wait_for(solve("a"), 0.5)
    except asyncio.TimeoutError:
        print("done", flush=True)

asyncio.run(main())
"""
DIAGNOSED = """
import asyncio

@tracer_hooks.hook(expected="42", attributor=Hanging(), store=sys.argv[1])
async def solve(task):
    return solo(task)

async def main():
    await solve("a")
    try:
        await asyncio.wait_for(tracer_hooks.last_run(solve).diagnosed(), 0.5)
    except asyncio.TimeoutError:
        print("done", flush=True)

asyncio.run(main())
"""
MANY = """
good = tracer_hooks.hook(lambda task: solo(task), store=sys.argv[1])
for number in range(int(sys.argv[2])):
    good(f"{sys.argv[3]} {number}")
print("done", flush=True)
"""
EIGHT_WITH_MANY = f"""
import sqlalchemy.dialects.sqlite, tracer_hooks.store

tracer_hooks.hook(lambda task: solo(task), store="off")("what is imported now need not be imported eight times")
children = []
for writer in range(8):
    child = os.fork()
    if child == 0:
        sys.argv[3] = f"writer {{writer}}"
        break
    children.append(child)
else:
    sys.exit(any([os.waitpid(child, 0)[1] for child in children]))
{MANY}
"""


def started(program: str, folder: Path, *arguments: str, seconds: str = "8") -> subprocess.Popen[str]:
    file = folder / "program.py"
    if not file.exists():
        file.write_text(TEAM + program, encoding="utf-8")
    command = ["env", f"TRACER_HOOKS_EXIT_SECONDS={seconds}", sys.executable, str(file), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls wait for a lock as long as they do, and longer than elsewhere for all else."""
    monkeypatch.setattr(_store_writer, "LOCK_S", 0.04)
    monkeypatch.setattr(_store_writer, "LONGEST_S", 60.0)


def tasks_in(path: Path) -> set[str]:
    with RunStore(path, read_only=True) as store:
        return {run.task for run in store.list(limit=1000)}


def test_a_diagnosis_that_hangs(tmp_path: Path) -> None:
    cases = [
        (BACKGROUND, "did not wait any longer for 2 diagnoses in the background", {"a", "b"}),
        (BACKGROUND + BESIDE_ANOTHER, "did not wait any longer for 2 diagnoses", {"a", "b", "c"}),
        (CANCELLED, "did not wait any longer for 1 diagnosis", {"a"}),
        (DIAGNOSED, "did not wait any longer for 1 diagnosis", {"a"}),
    ]
    folders = [tmp_path / str(number) for number in range(len(cases))]
    processes = []  # all at once: each of them waits for seconds
    for (program, _, _), folder in zip(cases, folders, strict=True):
        folder.mkdir()
        processes.append(started(program, folder, str(folder / "runs.sqlite")))
    for process, (program, said, stored), folder in zip(processes, cases, folders, strict=True):
        output, errors = process.communicate(timeout=100)  # it would wait for ever
        assert (output, process.returncode) == ("done\n", 0), errors
        assert errors.count("tracer-hooks did not wait") == 1, program
        assert said in errors
        assert "Traceback" not in errors
        assert tasks_in(folder / "runs.sqlite") == stored


# --- a store ---------------------------------------------------------------------------------------------------------
@pytest.mark.usefixtures("hasty")
def test_a_locked_store_keeps_no_call_waiting_and_loses_nothing(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    hooked = tracer_hooks.hook(lambda task: task, store=path)
    hooked("before")
    assert tracer_hooks.flush(60)
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        cpu = time.thread_time()
        for number in range(20):
            hooked(str(number))
        assert time.thread_time() - cpu < 2
        assert len(tasks_in(path)) == 1
    assert tracer_hooks.flush(60)
    assert tasks_in(path) == {"before", *map(str, range(20))}
    assert caplog.messages == []


@pytest.mark.usefixtures("hasty")
def test_a_call_waits_for_a_lock_once_and_not_for_long(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float | None] = []

    class Watched(threading.Condition):
        def wait(self, timeout: float | None = None) -> bool:
            if threading.current_thread() is threading.main_thread():
                waits.append(timeout)
            return super().wait(timeout)

    hooked = tracer_hooks.hook(lambda task: task, store=path)
    hooked("before")
    tracer_hooks.flush()
    writer = _store_writer.writer_for(path)
    locked = threading.Event()
    release = threading.Event()

    def hold() -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as holder:
            holder.execute("BEGIN EXCLUSIVE")
            locked.set()
            release.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    locked.wait(60)
    hooked("late")
    assert writer.is_failing
    writer._changed = Watched(writer._changed._lock)  # type: ignore[attr-defined]
    monkeypatch.setattr(writer, "_locking_since", None)
    hooked("later")
    assert waits == []
    release.set()
    thread.join()


def test_an_idle_store_is_closed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_background, "_IDLE_S", 0.05)
    rested = threading.Event()
    rest = RunStore.close_idle

    def noted(self: RunStore) -> None:
        rest(self)
        rested.set()

    monkeypatch.setattr(RunStore, "close_idle", noted)
    hooked = tracer_hooks.hook(lambda task: task, store=path)
    hooked("a")
    assert rested.wait(60)
    hooked("b")
    assert tasks_in(path) == {"a", "b"}


def test_after_a_flush_the_file_alone_holds_all_runs(path: Path, tmp_path: Path) -> None:
    hooked = tracer_hooks.hook(lambda task: task, store=path)
    for task in "ab":
        hooked(task)
    assert tracer_hooks.flush()
    shutil.copy(path, tmp_path / "copy.sqlite")
    assert tasks_in(tmp_path / "copy.sqlite") == {"a", "b"}
    path.rename(tmp_path / "moved.sqlite")
    hooked("c")
    assert tasks_in(tmp_path / "moved.sqlite") == {"a", "b"}
    assert tasks_in(path) == {"c"}


def test_a_failing_store_is_left_alone_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.write_text("in the way")
    opened: list[int] = []
    writing = RunStore.writing
    monkeypatch.setattr(RunStore, "writing", lambda self, *args: (opened.append(1), writing(self, *args))[1])  # type: ignore[func-returns-value]
    hooked = tracer_hooks.hook(lambda task: task, store=folder / "runs.sqlite")
    for number in range(10):
        hooked(str(number))
    assert len(opened) == 1
    assert [message.partition(": ")[0] for message in caplog.messages] == [
        "tracer-hooks does not use the run store at present"
    ]
    assert not tracer_hooks.flush(10)
    folder.unlink()
    assert tracer_hooks.flush(60)
    assert tasks_in(folder / "runs.sqlite") == set(map(str, range(10)))
    assert caplog.messages[1].endswith("10 runs had waited")
    assert len(caplog.messages) == 2


def test_what_is_too_much_to_keep_in_memory_is_lost_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.write_text("in the way")
    monkeypatch.setattr(_store_writer, "_MOST_CALLS", 4)
    hooked = tracer_hooks.hook(lambda task: task, store=folder / "runs.sqlite")
    for number in range(10):
        hooked(str(number))
    folder.unlink()
    tracer_hooks.flush(60)
    assert tasks_in(folder / "runs.sqlite") == {"6", "7", "8", "9"}
    assert caplog.messages[-1].endswith("4 runs had waited; 6 runs that had been too many to wait were lost")


def test_flush_returns_after_the_log_says_that_runs_are_stored_again(tmp_path: Path) -> None:
    said: list[str] = []

    class SlowHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            time.sleep(0.2)
            said.append(record.getMessage())

    handler = SlowHandler()
    folder = tmp_path / "folder"
    folder.write_text("in the way")
    hooked = tracer_hooks.hook(lambda task: task, store=folder / "runs.sqlite")
    hooked("a")
    folder.unlink()
    logging.getLogger("tracer_hooks").addHandler(handler)
    try:
        assert tracer_hooks.flush(60)
        assert [message.rpartition(": ")[2] for message in said] == ["1 run had waited"]
    finally:
        logging.getLogger("tracer_hooks").removeHandler(handler)


def test_a_run_that_cannot_be_written_does_not_hold_up_others(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRACER_HOOKS_STRICT")
    save = Writing.save

    def choosy(self: Writing, run: PackedRun) -> None:
        if run.values["task"] == "odd":
            raise ValueError("no such value")
        save(self, run)

    monkeypatch.setattr(Writing, "save", choosy)
    hooked = tracer_hooks.hook(lambda task: task, store=path)
    for task in ("a", "odd", "b"):
        hooked(task)
    assert tracer_hooks.flush()
    assert tasks_in(path) == {"a", "b"}
    assert "does not store a run: it cannot be written (ValueError: no such value)" in caplog.messages[0]


async def test_what_a_daemon_raises_reaches_whoever_awaits_it() -> None:
    def work() -> None:
        raise KeyError("total")

    with pytest.raises(KeyError, match="total"):
        await in_daemon_thread(work, "test")


def test_a_locked_store_holds_up_the_end_of_a_process_once(path: Path, tmp_path: Path) -> None:
    tracer_hooks.hook(lambda task: task, store=path)("before")
    assert tracer_hooks.flush(60)
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        process = started(MANY, tmp_path, str(path), "30", "task", seconds="2")
        assert process.stdout is not None
        assert process.stdout.readline() == "done\n"
        began = time.monotonic()
        _, errors = process.communicate(timeout=100)
    assert time.monotonic() - began < 60  # 30 runs that wait for 5 s each take longer
    assert errors.count("tracer-hooks lost 30 runs that could not be stored") == 1


def test_writers_in_eight_processes_lose_nothing(path: Path, tmp_path: Path) -> None:
    process = started(EIGHT_WITH_MANY, tmp_path, str(path), "12", "nobody", seconds="60")
    output, errors = process.communicate(timeout=200)
    assert (output.count("done"), errors, process.returncode) == (8, "", 0)
    assert tasks_in(path) == {f"writer {writer} {number}" for writer in range(8) for number in range(12)}


# --- the parts -------------------------------------------------------------------------------------------------------
def test_a_queue_drops_what_is_too_much_and_counts_it(caplog: pytest.LogCaptureFixture) -> None:
    queue, go, done = TaskQueue("queue", lambda number: f"{number} things", max_items=2), threading.Event(), []
    begun = threading.Event()
    queue.submit(lambda: (begun.set(), go.wait(60)))  # type: ignore[func-returns-value]
    assert begun.wait(60)
    taken = [queue.submit(lambda: done.append("work"), lambda: done.append("instead")) for _ in range(3)]
    assert taken == [True, True, False]
    assert done == ["instead"]
    assert not queue.drain(time.monotonic() + 0.01)
    queue.give_up()
    assert caplog.messages == ["tracer-hooks did not wait any longer for 4 things"]
    assert done == ["instead"] * 3
    queue.give_up()
    assert len(caplog.messages) == 1
    go.set()


def test_work_that_raises_does_not_end_a_queue() -> None:
    queue, done = TaskQueue("queue", str), []

    def leave() -> None:
        raise SystemExit(3)

    queue.submit(leave)
    queue.submit(lambda: done.append(1))
    assert queue.drain(time.monotonic() + 60)
    assert done == [1]
