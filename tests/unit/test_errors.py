"""One tree, as its docstring draws it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from tracer_hooks import errors
from tracer_hooks._lazy import require
from tracer_hooks.errors import ConfigError, MissingExtraError, OutputParseError, TracerHooksError, install_line

TREE = {name: value for name, value in vars(errors).items() if inspect.isclass(value)}


def test_the_docstring_draws_the_tree() -> None:
    drawn: list[tuple[int, str]] = [
        (len(match[1]), match[2]) for match in re.finditer(r"^    ([│├└─ ]*)(\w+Error)", errors.__doc__ or "", re.M)
    ]
    assert {name for _, name in drawn} == set(TREE)
    assert [name for name, value in TREE.items() if not (issubclass(value, TracerHooksError) and value.__doc__)] == []
    parents: list[tuple[int, str]] = []
    for depth, name in drawn:
        while parents and parents[-1][0] >= depth:
            parents.pop()
        if parents:
            assert TREE[parents[-1][1]] in TREE[name].__bases__, name
        parents.append((depth, name))


def test_errors_are_what_python_programmers_expect() -> None:
    assert issubclass(ConfigError, ValueError)
    assert issubclass(MissingExtraError, ImportError)
    assert OutputParseError("no JSON", raw="Well, ...").raw == "Well, ..."


def test_a_missing_extra_gives_the_install_line() -> None:
    with pytest.raises(MissingExtraError) as caught:
        require("tracer_hooks_no_such_module", extra="ray", feature="diagnosing on a Ray cluster")
    assert caught.value.requirement == "tracer-hooks[ray]"
    checkout = Path(__file__).parents[2]
    assert str(caught.value).endswith(f"Run: pip install -e '{checkout}[ray]'")
    assert install_line("train") == f"pip install -e '{checkout}/packages/models[train]'"
    assert caught.value.feature in str(caught.value)
