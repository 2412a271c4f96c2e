"""Where a team stands in code: only what loads again by its name is named, and lines only where they are certain."""

from __future__ import annotations

import functools
import importlib
import sys
import timeit
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.cli._options import load_object
from tracer_hooks.frameworks.plain import PLACES
from tracer_hooks.runtime import TeamCode
from tracer_hooks.schema import AgentSpec, Step, StepKind, ToolCall, Trajectory
from tracer_hooks.store import RunStore, TeamOrigin

CODE = '''
import functools, re, tracer_hooks

TOLD = """
    You write to readers.
"""


def check(result):
    return False


class Judge:
    def check(self, result):
        return False


judge = Judge()


@functools.cache
@tracer_hooks.tool
def stock(title):
    return "17"


def team(task):
    return task


def build_team(size=1, prompts=None):
    return lambda task: task


def unused():
    agents = [Assistant("writer", system_message=TOLD), graph.add_node("planner", team), Agent(role="Old Hand")]
    graph.add_edge("planner", "writer")
    Agent(name="twin")
    Agent(name="twin")


def other():
    def inner(task):
        return task
    return inner


def decorated(function):
    return lambda task: function(task)


@decorated
def hidden(task):
    return task


hooked = tracer_hooks.hook(team, check=check, store="off")
partial = functools.partial(team)
local = tracer_hooks.hook(other(), store="off")


def make():
    @tracer_hooks.agent(name="clerk")
    def one(task):
        return stock(task)

    @tracer_hooks.agent
    def twin(task):
        return one(task)

    @tracer_hooks.agent(name="twin")
    def other_twin(task):
        return twin(task)

    return other_twin
'''


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    (tmp_path / "desk.py").write_text(CODE)
    PLACES.clear()  # of other tests' files
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield importlib.import_module("desk")
    sys.modules.pop("desk", None)


def test_names_are_those_that_load_again(code: ModuleType) -> None:
    found = TeamCode.of(code.build_team, code.check)
    assert (found.built_by, found.checked_by, found.module) == ("desk:build_team", "desk:check", "desk")
    assert TeamCode.of(code.partial, None, "desk").built_by == "desk:partial", "an object has the name it was given"
    assert TeamCode.of(code.team, None).built_by == "desk:team", "what hooking made of it stands under another name"
    code.local("x")
    run = tracer_hooks.last_run(code.local)
    assert run is not None
    assert run.code.built_by == "desk:local", "a function of no name of its own has the one that the hooked one got"
    for loaded in (found.built_by, found.checked_by):
        assert load_object(loaded, option="--team") is getattr(code, loaded.partition(":")[2])


@pytest.mark.parametrize(
    "made",
    [
        lambda code: lambda task: task,
        lambda code: code.other(),
        lambda code: code.hidden.__closure__[0].cell_contents,  # its name is another function's now
        lambda code: functools.partial(code.team),
        lambda code: code.judge.check,
        lambda code: object(),
        lambda code: len,
    ],
)
def test_what_is_not_found_again_has_no_name(code: ModuleType, made: Any) -> None:
    assert TeamCode.of(made(code), made(code), "desk").built_by == ""
    assert TeamCode.of(code.team, made(code), "desk").checked_by == ""


def test_a_module_that_no_command_finds_by_its_name_is_named_by_its_file(
    code: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path.parent)
    assert TeamCode.of(code.team, None).built_by == f"{tmp_path.name}/desk.py:team"
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert TeamCode.of(code.team, None).built_by == f"{tmp_path / 'desk.py'}:team"
    code.__file__ = None
    assert TeamCode.of(code.team, None).built_by == ""


def run_of(*agents: AgentSpec) -> Trajectory:
    calls = (ToolCall(name="stock", arguments={}), ToolCall(name="unheard of", arguments={}))
    step = Step(index=0, agent="writer", kind=StepKind.TOOL_CALL, tool_calls=calls)
    return Trajectory(run_id="r", agents=agents, steps=(step,))


def test_places_are_lines_where_something_is_named_once(code: ModuleType) -> None:
    agents = [AgentSpec(name="writer", instructions="You write to readers.", tools=("stock",))]
    agents += [AgentSpec(name=name, instructions="No such text") for name in ("planner", "Old Hand", "twin", "nobody")]
    source = TeamCode.of(code.build_team, None).source(run_of(*agents))
    assert source is not None
    lines = CODE.splitlines()
    shown = {what: lines[int(place.removeprefix("desk.py:")) - 1].strip() for what, place in source.places.items()}
    agents_line = next(line.strip() for line in lines if "Assistant" in line)
    assert shown == {
        "agent writer": agents_line,
        "agent planner": agents_line,
        "agent Old Hand": agents_line,
        "tool stock": "@functools.cache",
        "prompt writer": 'TOLD = """',
    }


def test_marked_functions_have_their_own_places_whichever_module_they_are_from(code: ModuleType) -> None:
    run = tracer_hooks.run(code.make, "x", diagnose="off", store="off")
    source = TeamCode(module=__name__).source(run.trajectory)
    assert source is not None
    lines = CODE.splitlines()
    shown = {what: lines[int(place.removeprefix("desk.py:")) - 1].strip() for what, place in source.places.items()}
    assert shown == {"agent clerk": '@tracer_hooks.agent(name="clerk")', "tool stock": "@functools.cache"}


@pytest.mark.parametrize("text", ["def (", "\0", "x = '\\d'\n" + "(" * 3000])
def test_code_that_cannot_be_read_has_no_places(code: ModuleType, tmp_path: Path, text: str) -> None:
    (tmp_path / "broken.py").write_text(text)
    run = Trajectory(run_id="r", agents=(AgentSpec(name="writer", instructions="You write to readers."),))
    code.__file__ = str(tmp_path / "broken.py")
    assert TeamCode(module="desk").source(run) is None
    code.__file__ = str(tmp_path / "none.py")
    assert TeamCode(module="desk").source(run) is None
    assert TeamCode(module="no.such.module").source(run) is None


def test_it_is_kept_with_every_attempt(code: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "runs.sqlite"
    options: dict[str, Any] = {"check": code.check, "store": file, "diagnose": "off"}
    run = tracer_hooks.run(code.build_team, "x", retries=1, **options)
    with RunStore(file) as store:
        kept = [store.get(attempt.trajectory.run_id).source for attempt in run.attempts]
    assert kept == [TeamOrigin(built_by="desk:build_team", checked_by="desk:check")] * 2
    tracer_hooks.hook(code.build_team, **options)(2)("x")
    with RunStore(file) as store:
        newest = store.get(store.list(limit=1)[0].run_id).source
    assert newest == TeamOrigin(checked_by="desk:check"), "a factory that was given something is no name alone"
    page = run.report(tmp_path / "run.html").read_text()
    assert "MODULE:build_team" not in page


def test_it_costs_next_to_nothing(code: ModuleType) -> None:
    found, run = TeamCode.of(code.build_team, code.check), run_of(AgentSpec(name="writer"), AgentSpec(name="planner"))
    found.source(run)
    assert min(timeit.repeat(lambda: found.source(run), number=200, repeat=5)) / 200 < 100e-6
    assert min(timeit.repeat(lambda: TeamCode.of(code.build_team, code.check), number=200, repeat=5)) / 200 < 100e-6
