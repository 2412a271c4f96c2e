"""Attributes that are computed once, also where processes are forked meanwhile."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tracer_hooks
from tracer_hooks._lazy import cached_property


class Counted:
    def __init__(self) -> None:
        self.computed = 0

    @cached_property
    def value(self) -> object:
        """What it is."""
        self.computed += 1
        return object()


def test_it_is_computed_once() -> None:
    one = Counted()
    assert one.value is one.value
    assert one.computed == 1
    assert isinstance(Counted.value, cached_property)
    assert Counted.value.__doc__ == "What it is."
    bare: cached_property[int] = cached_property(lambda self: 1)
    with pytest.raises(TypeError, match="no name"):
        bare.__get__(object())


def test_threads_that_meet_get_the_same() -> None:
    both = threading.Barrier(2)

    class Slow:
        @cached_property
        def value(self) -> object:
            both.wait(10)
            return object()

    one = Slow()
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: one.value, range(2))
    assert first is second


_PROGRAM = """
import os, threading
from tracer_hooks._lazy import cached_property

class Slow:
    @cached_property
    def value(self):
        inside.set()
        leave.wait(60)
        return 1

inside, leave = threading.Event(), threading.Event()
thread = threading.Thread(target=lambda: Slow().value)
thread.start()
inside.wait(60)
child = os.fork()
if child == 0:
    leave.set()
    os._exit(Slow().value)
status = os.waitpid(child, 0)[1]
leave.set()
thread.join()
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_that_is_forked_while_a_thread_computes_can_compute() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout.strip() == "1", done.stderr


def test_nothing_of_ours_uses_the_one_with_a_lock() -> None:
    ours = [path for path in Path(tracer_hooks.__file__).parent.rglob("*.py") if path.name != "_lazy.py"]
    used = re.compile(r"functools(?:\.| import )cached_property")
    assert [path for path in ours if used.search(path.read_text(encoding="utf-8"))] == []
