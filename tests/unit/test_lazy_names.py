"""Names that packages load at the first use, and attributes that are computed once."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import pytest

import tracer_hooks
from tracer_hooks._lazy import cached_property

ROOT = Path(tracer_hooks.__file__).parent
LAZY = sorted(path for path in ROOT.rglob("__init__.py") if "__all__ = lazy_names(" in path.read_text(encoding="utf-8"))


def package(path: Path) -> str:
    return ".".join(("tracer_hooks", *path.parent.relative_to(ROOT).parts))


def test_there_are_lazy_packages() -> None:
    assert {"tracer_hooks", "tracer_hooks.runtime", "tracer_hooks.diagnosis"} < set(map(package, LAZY))


@pytest.mark.parametrize("path", LAZY, ids=package)
def test_type_checkers_see_each_name_once_where_it_is_loaded_from(path: Path) -> None:
    source = ast.parse(path.read_text(encoding="utf-8"))
    (checked,) = [node for node in source.body if isinstance(node, ast.If)]
    assert all(isinstance(node, ast.ImportFrom) for node in checked.body)
    seen = [
        (node.module, alias.name, alias.asname)
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    module = import_module(package(path))
    names = [name for _, name, _ in seen]
    assert sorted({*names, *(["__version__"] if package(path) == "tracer_hooks" else [])}) == module.__all__
    assert len(names) == len(set(names))
    assert dir(module) == module.__all__
    for home, name, asname in seen:
        assert name == asname
        assert getattr(module, name) is getattr(import_module(str(home)), name)


def test_a_name_is_loaded_once_and_an_unknown_one_is_an_attribute_error() -> None:
    code = (
        "import sys, tracer_hooks.repair as repair\n"
        "assert 'tracer_hooks.repair._repair' not in sys.modules\n"
        "first = repair.leaks\n"
        "assert vars(repair)['leaks'] is first\n"
        "assert not hasattr(repair, 'nothing')\n"
        "try:\n"
        "    from tracer_hooks.repair import nothing\n"
        "except ImportError as error:\n"
        "    print(error.name, 'nothing' in str(error))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["tracer_hooks.repair", "True"]


def test_a_home_that_cannot_be_loaded_says_why_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "lazy_package_of_a_test"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "from tracer_hooks._lazy import lazy_names\n"
        "if TYPE_CHECKING:\n"
        "    from lazy_package_of_a_test._broken import one as one\n"
        "__all__ = lazy_names(__name__)\n"
    )
    (folder / "_broken.py").write_text("raise RuntimeError('broken')\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = import_module(folder.name)
    assert module.__all__ == ["one"]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="broken"):
            _ = module.one
    sys.modules.pop(folder.name)


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
