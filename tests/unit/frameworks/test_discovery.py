"""Adapters are found by entry point, and one that is broken hides no other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from types import SimpleNamespace
from typing import Any

import pytest
from typing_extensions import get_protocol_members

from tracer_hooks.errors import AdapterNotFoundError, MissingExtraError
from tracer_hooks.frameworks import Adapter, _discovery, adapter_for, find_adapters, get_adapter


class Good:
    name = "good"
    capabilities: frozenset[Any] = frozenset()

    def recognises(self, team: object) -> bool:
        return isinstance(team, dict)


# Written down one by one: from Python 3.12 on, isinstance() does not see what __getattr__ hands out.
for _member in get_protocol_members(Adapter) - vars(Good).keys():
    setattr(Good, _member, lambda *args: None)


class Undecided(Good):
    name = "undecided"

    def recognises(self, team: object) -> bool:
        raise TypeError("cannot look at this")


class Broken:
    def __init__(self) -> None:
        raise OSError("cannot start")


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    points = [
        EntryPoint("good", f"{__name__}:Good", _discovery.GROUP),
        EntryPoint("broken", f"{__name__}:Broken", _discovery.GROUP),
        EntryPoint("absent", "no_such_module:Adapter", _discovery.GROUP),
        EntryPoint("a_undecided", f"{__name__}:Undecided", _discovery.GROUP),
        EntryPoint("wrong", f"{__name__}:SimpleNamespace", _discovery.GROUP),
    ]
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or SimpleNamespace(**globals()))
    monkeypatch.setattr(_discovery, "entry_points", lambda group: points)
    find_adapters.cache_clear()
    yield
    find_adapters.cache_clear()


def test_each_entry_point_is_found_or_says_why_not() -> None:
    found = {adapter.name: adapter.problem for adapter in find_adapters()}
    assert list(found) == ["a_undecided", "absent", "broken", "good", "wrong"]
    assert found["good"] is None
    assert "cannot start" in str(found["broken"])
    assert "no_such_module" in str(found["absent"])
    assert "is not an Adapter" in str(found["wrong"])


@pytest.mark.parametrize(("name", "words"), [("broken", "cannot start"), ("unheard", "'good'")])
def test_an_adapter_that_cannot_be_had_is_an_error_that_helps(name: str, words: str) -> None:
    with pytest.raises(AdapterNotFoundError, match=words) as raised:
        get_adapter(name)
    assert "tracer-hooks doctor" in str(raised.value)


def test_the_adapter_that_recognises_the_team_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STRICT", "0")
    assert adapter_for({}).name == "good"


def test_an_unknown_object_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STRICT", "0")
    with pytest.raises(AdapterNotFoundError, match=r"builtins\.int"):
        adapter_for(7)


def test_a_known_framework_without_its_adapter_gives_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STRICT", "0")
    crew = type("Crew", (), {"__module__": "crewai.crew"})()
    with pytest.raises(MissingExtraError, match=r"pip install -e '.*/adapters/crewai'"):
        adapter_for(crew)


def test_finding_adapters_imports_no_framework() -> None:
    code = (
        "import sys, tracer_hooks.testing\n"
        "from tracer_hooks.frameworks import find_adapters, adapter_for\n"
        "find_adapters()\n"
        "try: adapter_for(object())\n"
        "except Exception: pass\n"
        "heavy = {'autogen_core', 'autogen_agentchat', 'crewai', 'langgraph', 'langchain_core', 'torch', 'pytest'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
