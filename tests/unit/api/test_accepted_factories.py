"""``hook(prompts="accepted")`` on a factory that takes the prompts itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.runtime._prompt_watch import team_prompts
from tracer_hooks.store import PromptTally

from ._accepting import NEW, OWN, accept, live
from ._office import ended_run


@pytest.mark.parametrize("given", [None, {"solver": "Solve it my way."}], ids=["none", "the user's"])
def test_a_factory_with_prompts(path: Path, given: Mapping[str, str] | None) -> None:
    asked: list[str] = []

    @tracer_hooks.hook(prompts="accepted", store=path, expected="42", retries=1, repair="plain")
    def build(prompts: Mapping[str, str] | None = None) -> Callable[[str], str]:
        @tracer_hooks.model
        def ask(messages: list[dict[str, str]]) -> str:
            asked.append(messages[0]["content"])
            return "It is 41."

        @tracer_hooks.agent(name="solver")
        def act(task: str) -> str:
            own = tracer_hooks.instructions("solver", (prompts or {}).get("solver", OWN))
            return ask([{"role": "system", "content": own}, {"role": "user", "content": task}])

        def solve(task: str) -> str:
            return act(task)

        return solve

    accept(path)
    solve = build(given) if given is not None else build()
    solve("x")
    assert asked == ([NEW, NEW] if given is None else ["Solve it my way."] * 2)
    assert live(path).new_runs == (1 if given is None else 0)


def closures(path: Path, seen: list[Mapping[str, str] | None], *, heeds: bool = True, **options: Any) -> Any:
    """A factory of a team whose agents hold their instructions themselves, and ask no model."""

    @tracer_hooks.hook(prompts="accepted", store=path, expected="42", **options)
    def build(prompts: Mapping[str, str] | None = None) -> Callable[[str], str]:
        seen.append(prompts)
        text = (prompts or {}).get("solver", OWN) if heeds else OWN

        @tracer_hooks.agent(name="solver", instructions=text)
        def solver(task: str) -> str:
            return "42" if text == NEW else "41"

        def solve(task: str) -> str:
            return solver(task)

        return solve

    return build


def test_agents_that_hold_their_instructions_are_built_with_them(path: Path) -> None:
    seen: list[Mapping[str, str] | None] = []
    solve = closures(path, seen)()
    assert solve("x") == "41"
    accept(path)
    team_prompts.cache_clear()
    assert [solve("x"), solve("y")] == ["42", "42"]
    assert seen == [None, {"solver": NEW}, {"solver": NEW}]
    assert ended_run(solve).trajectory.instructions_of("solver") == NEW
    assert ended_run(solve).prompts is not None
    assert live(path) == PromptTally(new_runs=2, new_passes=2, new_score=2.0)


def test_a_replay_is_built_with_the_prompts_of_its_run(path: Path) -> None:
    seen: list[Mapping[str, str] | None] = []
    accept(path, "You are the solver. Hurry.")
    build = closures(path, seen)
    solve = build()
    assert solve("x") == "41"
    run = ended_run(solve)
    told = {"solver": "You are the solver. Hurry."}
    assert seen == [None, told]
    tracer_hooks.resume(run, step=0)
    assert seen == [None, told, told]
    tracer_hooks.resume(run.trajectory.run_id, step=0, build_team=build, expected="42", store=path)
    assert seen == [None, told, told, told]


def test_a_factory_that_heeds_no_prompts_is_told_and_not_counted(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    accept(path)
    solve = closures(path, [], heeds=False)()
    assert solve("x") == "41"
    assert ended_run(solve).prompts is None
    assert live(path) == PromptTally()
    (said,) = [one.getMessage() for one in caplog.records if "does not get the new text" in one.getMessage()]
    assert "'solver'" in said


def test_a_factory_that_cannot_build_again_is_left_as_it_is(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    built: list[int] = []

    @tracer_hooks.hook(prompts="accepted", store=path, expected="42")
    def build(prompts: Mapping[str, str] | None = None) -> Callable[[str], str]:
        if prompts:
            raise RuntimeError("no second team")
        built.append(1)

        @tracer_hooks.agent(name="solver", instructions=OWN)
        def solver(task: str) -> str:
            return "41"

        def solve(task: str) -> str:
            return solver(task)

        return solve

    accept(path)
    assert build()("x") == "41"
    assert built == [1]
    assert live(path) == PromptTally()
    assert any("no second team" in one.getMessage() for one in caplog.records)
