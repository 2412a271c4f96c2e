"""Hooked functions and teams in forked processes and process pools; each test runs in a child process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

_TEAM = """
import os, sys, threading
os.environ["TRACER_HOOKS_STORE"] = sys.argv[1]
import tracer_hooks

@tracer_hooks.agent
def solo(task):
    return "It is 41."

@tracer_hooks.hook(check=lambda result: "42" in result, retries=1)
def solve(task):
    return solo(task)

def use(task):
    answer = solve(task)
    run = tracer_hooks.last_run(solve).wait(20)
    return answer, len(run.attempts), len(run.trajectory.steps), run.attribution is not None

EXPECTED = ("It is 41.", 2, 1, True)
"""

_POOL = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

if __name__ == "__main__":
    assert use("here") == EXPECTED
    context = multiprocessing.get_context(sys.argv[2])
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(use, map(str, range(6)))) == [EXPECTED] * 6
    assert use("here again") == EXPECTED
    print("done")
"""

_FORK = """
assert use("first") == EXPECTED  # a fork in the midst of a first import is Python's own trouble
stop = threading.Event()

def keep_on():
    while not stop.is_set():
        use("beside")

threads = [threading.Thread(target=keep_on) for _ in range(3)]
for thread in threads:
    thread.start()
for at in range(10):  # some of these meet a thread that holds a lock of ours
    child = os.fork()
    if child == 0:
        os._exit(0 if use(f"child {at}") == EXPECTED else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
stop.set()
for thread in threads:
    thread.join()
print("done")
"""

_FORK_INSIDE = """
seen = []

@tracer_hooks.hook(check=lambda result: True)
def outer(task):
    child = os.fork()
    if child == 0:
        os._exit(0 if use("inside") == EXPECTED else 1)
    seen.append(os.waitpid(child, 0)[1])
    return solo(task)

assert outer("x") == "It is 41."
assert seen == [0], seen
run = tracer_hooks.last_run(outer)
assert [step.agent for step in run.trajectory.steps] == ["solo"], run.trajectory.steps
print("done")
"""

_HOOK_IN_CHILD = """
assert use("here") == EXPECTED
child = os.fork()
if child == 0:
    tracer_hooks.unhook(solve)
    assert solve("x") == "It is 41."
    try:
        tracer_hooks.last_run(solve)
    except tracer_hooks.TracerHooksError:  # it is not hooked
        os._exit(0)
    os._exit(1)
assert os.waitpid(child, 0)[1] == 0
assert use("the parent's hook is its own") == EXPECTED
print("done")
"""

_FORK_WHILE_LOGGING = """
import time
assert use("first") == EXPECTED
from tracer_hooks._background import no_fork
import logging
inside = threading.Event()

def log_inside():
    with no_fork:  # SQLAlchemy logs while we hold it
        inside.set()
        time.sleep(0.5)
        logging._acquireLock()
        logging._releaseLock()

thread = threading.Thread(target=log_inside)
thread.start()
inside.wait()
began = time.monotonic()
child = os.fork()
if child == 0:
    os._exit(0 if use("in the child") == EXPECTED else 1)
assert time.monotonic() - began < 4
assert os.waitpid(child, 0)[1] == 0
thread.join()
print("done")
"""

_FORK_WITH_A_LOCK_OF_THE_USERS = """
import time
assert use("first") == EXPECTED
from tracer_hooks._background import no_fork
from tracer_hooks.store import RunStore
theirs, inside = threading.Lock(), threading.Event()

def wait_inside():
    with no_fork:
        inside.set()
        time.sleep(0.5)
        with theirs:
            pass

os.register_at_fork(before=theirs.acquire, after_in_parent=theirs.release, after_in_child=theirs.release)
thread = threading.Thread(target=wait_inside)
thread.start()
inside.wait()
child = os.fork()
if child == 0:  # the team works; its run is not stored
    answer = solve("in the child")
    run = tracer_hooks.last_run(solve).wait(20)
    try:
        RunStore(sys.argv[1]).list()
    except tracer_hooks.TracerHooksError as error:
        os._exit(0 if answer == "It is 41." and "forked" in str(error) and run.attribution else 1)
    os._exit(2)
assert os.waitpid(child, 0)[1] == 0
thread.join()
assert use("and the parent's is") == EXPECTED
stored = len(RunStore(sys.argv[1]).list())
assert stored == 4, stored
print("done")
"""


def run_program(program: str, folder: Path, *arguments: str) -> None:
    file = folder / "program.py"
    file.write_text(_TEAM + program, encoding="utf-8")
    store = folder / "runs.sqlite"
    done = subprocess.run(
        [sys.executable, str(file), str(store), *arguments], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout.strip() == "done", done.stderr[-3000:]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_pool_of_processes(method: str, tmp_path: Path) -> None:
    run_program(_POOL, tmp_path, method)


def test_forks_while_threads_run_hooked_teams(tmp_path: Path) -> None:
    run_program(_FORK, tmp_path)


def test_a_fork_does_not_wait_for_a_thread_that_waits_for_loggings_lock(tmp_path: Path) -> None:
    run_program(_FORK_WHILE_LOGGING, tmp_path)


def test_a_fork_that_holds_what_another_thread_waits_for_ends(tmp_path: Path) -> None:
    run_program(_FORK_WITH_A_LOCK_OF_THE_USERS, tmp_path)


def test_a_fork_inside_a_run(tmp_path: Path) -> None:
    run_program(_FORK_INSIDE, tmp_path)


def test_a_child_may_unhook_what_the_parent_hooked(tmp_path: Path) -> None:
    run_program(_HOOK_IN_CHILD, tmp_path)
