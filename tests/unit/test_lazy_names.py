"""Packages that load their names at the first use, and what holds for each of them."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tracer_hooks
from tracer_hooks._lazy import lazy_names

ROOT = Path(tracer_hooks.__file__).parent
LAZY = sorted(path for path in ROOT.rglob("__init__.py") if "\nlazy_names(" in path.read_text(encoding="utf-8"))


def package(path: Path) -> str:
    return ".".join(("tracer_hooks", *path.parent.relative_to(ROOT).parts))


def test_there_are_lazy_packages() -> None:
    assert {"tracer_hooks", "tracer_hooks.runtime", "tracer_hooks.attribution"} < set(map(package, LAZY))


@pytest.mark.parametrize("path", LAZY, ids=package)
def test_type_checkers_see_the_names_where_they_are_loaded_from(path: Path) -> None:
    source = ast.parse(path.read_text(encoding="utf-8"))
    (checked,) = [node for node in source.body if isinstance(node, ast.If)]
    calls = [node.value for node in source.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    (call,) = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "lazy_names"]
    homes = ast.literal_eval(call.args[1])
    seen = {
        (node.module.removeprefix(package(path)), alias.name)
        for node in checked.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    assert seen == {(home, name) for home, names in homes.items() for name in names}
    module = import_module(package(path))
    assert {name for _, name in seen} == set(module.__all__) - {"__version__"}
    assert dir(module) == sorted(module.__all__)


def test_a_name_is_loaded_once_and_an_unknown_one_is_an_attribute_error() -> None:
    code = (
        "import sys, tracer_hooks.repairs as repairs\n"
        "assert 'tracer_hooks.repairs._leaks' not in sys.modules\n"
        "first = repairs.leaks\n"
        "assert vars(repairs)['leaks'] is first\n"
        "assert not hasattr(repairs, 'nothing')\n"
        "try:\n"
        "    from tracer_hooks.repairs import nothing\n"
        "except ImportError as error:\n"
        "    print(error.name, 'nothing' in str(error))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["tracer_hooks.repairs", "True"]


def test_a_home_that_cannot_be_loaded_says_why_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "lazy_package_of_a_test"
    folder.mkdir()
    (folder / "__init__.py").write_text("__all__ = ['one']\n")
    (folder / "_broken.py").write_text("raise RuntimeError('broken')\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = import_module(folder.name)
    lazy_names(folder.name, {"._broken": ("one",)})
    for _ in range(2):
        with pytest.raises(RuntimeError, match="broken"):
            _ = module.one
    sys.modules.pop(folder.name)
