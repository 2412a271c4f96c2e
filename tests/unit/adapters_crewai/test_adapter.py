"""What the adapter says of a team, how it finds tasks, and how it changes instructions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from crewai.flow import Flow, start
from pydantic import BaseModel

from tracer_hooks.errors import MissingExtraError, UnsupportedVersionError
from tracer_hooks.frameworks import TeamCall, _discovery
from tracer_hooks.testing._observing import observed
from tracer_hooks_crewai import CrewAIAdapter, _adapter

from ._crews import ADAPTER, Lookup, Scripted, agent, crew, final, task, team


def test_it_recognises_crews_flows_and_agents_only() -> None:
    class MyFlow(Flow[Any]):
        @start()
        def go(self) -> None: ...

    llm = Scripted.of(any="x")
    assert ADAPTER.recognises(team(llm, "ann"))
    assert ADAPTER.recognises(MyFlow())
    assert ADAPTER.recognises(agent("ann", llm))
    assert not ADAPTER.recognises(task(None))
    assert not ADAPTER.recognises(object())
    assert not ADAPTER.recognises(llm)


def test_the_executor_of_an_agent_is_no_team_although_it_is_a_flow() -> None:
    executor = pytest.importorskip("crewai.agents.agent_executor").AgentExecutor  # elsewhere before 1.15.30
    assert issubclass(executor, Flow)
    assert not ADAPTER.recognises(executor.__new__(executor))


@pytest.fixture
def _forget_version() -> Iterator[None]:
    _discovery.supported_version.cache_clear()
    yield
    _discovery.supported_version.cache_clear()


@pytest.mark.usefixtures("_forget_version")
def test_version_outside_the_range_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ADAPTER.framework_version().startswith("1.")
    _discovery.supported_version.cache_clear()
    for found in ("1.15.2", "2.0.0", "0.9"):
        monkeypatch.setattr(_discovery, "version", lambda _, found=found: found)
        with pytest.raises(UnsupportedVersionError, match=r">=1\.15\.3,<2.*pip install"):
            ADAPTER.framework_version()

    def missing(_: str) -> str:
        raise _discovery.PackageNotFoundError  # type: ignore[attr-defined]

    monkeypatch.setattr(_discovery, "version", missing)
    with pytest.raises(MissingExtraError, match=r"tracer-hooks\[crewai\]"):
        ADAPTER.framework_version()


def test_roster_names_agents_as_they_were_written() -> None:
    llm = Scripted.of(any=final("done"))
    writer = agent(" {topic} writer ", llm, tools=[Lookup().tool], backstory="You write about {topic}.")
    built = crew([writer], [task(writer, "Write about {topic}.")], name="press")
    for _ in range(2):
        info = ADAPTER.describe(built)
        assert info.name == "press"
        assert [(spec.name, spec.instructions, spec.tools) for spec in info.agents] == [
            ("{topic} writer", "You write about {topic}.", ("lookup",))
        ]
        with observed(built, adapter=ADAPTER) as seen:
            built.kickoff(inputs={"topic": "numbers"})
        assert seen.trajectory.steps[0].agent == "{topic} writer"
        assert seen.trajectory.task == "numbers"


def test_manager_is_in_the_roster() -> None:
    llm = Scripted.of(any="x")
    built = crew([agent("ann", llm)], manager_agent=agent("boss", llm), process="hierarchical", tasks=[task(None)])
    assert [spec.name for spec in ADAPTER.describe(built).agents] == ["ann", "boss"]


@pytest.mark.parametrize("inputs", [None, {"task": "x"}])
def test_written_instructions_hold_through_kickoffs_and_are_undone(inputs: dict[str, str] | None) -> None:
    llm = Scripted.of(any=final("done"))
    ann = agent("ann", llm, backstory="Old.")
    built = crew([ann], [task(ann, "Do it.")])
    built.kickoff(inputs={"task": "before"})  # from here on CrewAI reverts the public field alone at each kickoff
    before = (ann.backstory, ann._original_backstory)
    patches = ADAPTER.write_instructions(built, {"ann": "New.", "nobody": "?"})
    assert patches is not None
    for _ in range(2):
        llm.seen.clear()
        built.kickoff(inputs=inputs)
        assert "New." in llm.seen[0][0]["content"]
        assert "Old." not in llm.seen[0][0]["content"]
    assert ADAPTER.describe(built).agents[0].instructions == "New."
    patches.undo()
    assert (ann.backstory, ann._original_backstory) == before
    llm.seen.clear()
    built.kickoff(inputs=inputs)
    assert "Old." in llm.seen[0][0]["content"]


def test_instructions_of_nobody_cannot_be_written() -> None:
    assert ADAPTER.write_instructions(team(Scripted.of(any="x"), "ann"), {"bob": "New."}) is None


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ({"task": "why?", "other": "x"}, "why?"),
        ({"question": "why?", "other": "x"}, "why?"),
        ({"anything": "why?"}, "why?"),
        ({"a": "one", "b": "two"}, "Compare one and two."),
        ({}, "Compare {a} and {b}."),
    ],
)
def test_task_of_a_run(inputs: dict[str, str], expected: str) -> None:
    llm = Scripted.of(any=final("done"))
    ann = agent("ann", llm)
    built = crew([ann], [task(ann, "Compare {a} and {b}.")])
    for _ in range(2):  # the second time CrewAI has filled in its public fields
        with observed(built, adapter=ADAPTER) as seen:
            if inputs and set(inputs) != {"a", "b"}:
                built.tasks[0].description = built.tasks[0]._original_description = "Plain."
            if inputs:
                built.kickoff(inputs)
                assert seen.trajectory.task == expected
            else:
                call = TeamCall(team=built, method="kickoff")
                assert _adapter.to_run_result("x").text == "x"  # type: ignore[attr-defined]
                assert call.task == ""


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("Do {task}.", {"task": "t"}),
        ("{topic} and {question}", {"question": "t", "topic": "t"}),
        ("{anything}", {"anything": "t"}),
        ("{one} {two}", {"task": "t"}),
        ("nothing", {"task": "t"}),
    ],
)
def test_text_task_goes_into_the_placeholders(template: str, expected: dict[str, str]) -> None:
    llm = Scripted.of(any=final("done"))
    ann = agent("ann", llm)
    built = crew([ann], [task(ann, template)])
    call = ADAPTER.entry(built, "t")
    assert (call.method, dict(call.kwargs), call.task) == ("kickoff", {"inputs": expected}, "t")


def test_text_task_runs_twice() -> None:
    llm = Scripted.of(any=final("done"))
    ann = agent("ann", llm)
    built = crew([ann], [task(ann, "Look into {topic}.")])
    for text in ("one", "two"):
        llm.seen.clear()
        assert ADAPTER.entry(built, text).on(built).raw == "done"
        assert f"Look into {text}." in str(llm.seen[0])


def test_text_task_of_flows_and_agents() -> None:
    class State(BaseModel):
        question: str = ""

    class Asks(Flow[State]):
        @start()
        def go(self) -> str:
            return self.state.question

    flow = Asks()
    assert ADAPTER.entry(flow, "why?").on(flow) == "why?"
    solo = agent("solo", Scripted.of(any="because"))
    assert ADAPTER.entry(solo, "why?").on(solo).raw == "because"


async def test_reset_gives_back_spent_retries_and_uses() -> None:
    class No(Exception):
        pass

    lookup = Lookup()
    llm = Scripted.of(any=[No(), No(), final("one"), No(), No(), final("two")])
    ann = agent("ann", llm, tools=[lookup.tool])
    built = crew([ann], [task(ann, "Do it.")])
    await asyncio.to_thread(built.kickoff)
    lookup.tool.current_usage_count = 3
    await ADAPTER.reset(built)
    assert lookup.tool.current_usage_count == 0
    assert built.tasks[0].output is None
    assert (await asyncio.to_thread(built.kickoff)).raw == "two"


def test_missing_hook_point_disables_that_one_only(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    import crewai.hooks

    from tracer_hooks import _guard

    monkeypatch.setattr(_guard, "_warned", set())
    monkeypatch.delattr(crewai.hooks, "register_hook")
    built = team(Scripted.of(ann=final("done")), "ann")
    with observed(built, adapter=CrewAIAdapter()) as seen:
        assert built.kickoff(inputs={"task": "x"}).raw == "done"
    assert seen.trajectory.steps[0].content == "done"
    assert "cannot observe tool hooks" in caplog.text
