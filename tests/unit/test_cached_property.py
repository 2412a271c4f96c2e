"""Attributes that are computed once, also where processes are forked meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

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


def test_threads_that_meet_get_the_same() -> None:
    both = threading.Barrier(2)

    class Slow:
        @cached_property
        def value(self) -> object:
            both.wait(10)
            return object()

    one, found = Slow(), []
    threads = [threading.Thread(target=lambda: found.append(one.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len({id(value) for value in found}) == 1


def test_a_property_without_a_name_says_so() -> None:
    bare: cached_property[int] = cached_property(lambda self: 1)
    with pytest.raises(TypeError, match="no name"):
        bare.__get__(object())


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
    import tracer_hooks

    home = os.path.dirname(tracer_hooks.__file__)
    for folder, _, names in os.walk(home):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".py") and name != "_lazy.py":
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                assert "from functools import cached_property" not in text, path
                assert "functools.cached_property" not in text, path
