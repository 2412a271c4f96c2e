"""What can be hooked, and how: factories, teams, functions of every nature."""

from __future__ import annotations

import functools
import gc
import inspect
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.errors import AdapterError, AdapterNotFoundError
from tracer_hooks.frameworks import EntryKind, PatchSet, RunHost, wrap_entry
from tracer_hooks.schema import RunOutcome

from ._framework import BenchAdapter, BenchTeam, run_of
from ._spans import Recording


def right(told: str, task: str) -> str:
    return "It is 42."


# --- functions that run a team ---------------------------------------------------------------------------------------
def test_bare_decorator_keeps_name_and_result() -> None:
    @tracer_hooks.hook
    def solve(task: str) -> str:
        """Solve it."""
        return f"{task}!"

    assert solve("x") == "x!"
    assert (solve.__name__, solve.__doc__) == ("solve", "Solve it.")
    assert (run_of(solve).task, run_of(solve).outcome) == ("x", RunOutcome.SUCCEEDED)


def test_generator_function_stays_one_with_what_it_is_sent_and_returns() -> None:
    @tracer_hooks.hook(expected="a b")
    def solve(task: str) -> Iterator[str]:
        heard = yield "a "
        with pytest.raises(KeyError):
            yield f"b{heard or ''}"  # type: ignore[redundant-expr]
        return "returned"  # type: ignore[return-value]

    assert inspect.isgeneratorfunction(solve)
    stream: Any = solve("x")
    assert next(stream) == "a "
    assert stream.send("") == "b"
    with pytest.raises(StopIteration) as stop:
        stream.throw(KeyError("thrown"))
    assert stop.value.value == "returned"
    assert run_of(solve).outcome is RunOutcome.SUCCEEDED


def test_partial_callable_object_and_bound_method() -> None:
    class Solver:
        def __call__(self, task: str) -> str:
            return task

        def method(self, task: str) -> str:
            return task

    def two(prefix: str, task: str) -> str:
        return prefix + task

    for target in (functools.partial(two, "p"), Solver(), Solver().method):
        hooked = tracer_hooks.hook(target)
        assert hooked("x").endswith("x")
        assert run_of(hooked).outcome is RunOutcome.SUCCEEDED
        assert run_of(hooked).task == "x"


@pytest.mark.parametrize("builtin", [max, "{}".format])
def test_a_builtin_without_a_signature_is_a_function_of_its_task(builtin: Any) -> None:
    hooked = tracer_hooks.hook(builtin)
    assert hooked("abc") == builtin("abc")
    assert (run_of(hooked).task, run_of(hooked).outcome) == ("abc", RunOutcome.SUCCEEDED)


def test_a_method_decorated_in_its_class_takes_its_task_after_self() -> None:
    class Office:
        @tracer_hooks.hook(expected="42")
        def solve(self, task: str) -> str:
            return "42"

        @tracer_hooks.hook
        def nothing(self) -> str:
            return "done"

    office = Office()
    office.solve("x")
    assert run_of(office.solve).task == "x"
    assert office.nothing() == "done"
    assert run_of(office.nothing).outcome is RunOutcome.SUCCEEDED


def test_task_by_keyword_in_any_order() -> None:
    @tracer_hooks.hook
    def solve(task: str, style: str = "short") -> str:
        return task

    solve(style="long", task="x")
    assert run_of(solve).task == "x"


def test_arguments_that_do_not_fit_raise_as_without_us_and_are_no_run() -> None:
    @tracer_hooks.hook(retries=3)
    def solve(task: str) -> str:
        return task

    with pytest.raises(TypeError, match="solve\\(\\) missing 1 required positional argument: 'task'"):
        solve()  # type: ignore[call-arg]
    assert tracer_hooks.last_run(solve) is None


# --- factories -------------------------------------------------------------------------------------------------------
def test_factory_without_prompts_and_with_more_arguments(bench: BenchAdapter) -> None:
    built: list[str] = []

    @tracer_hooks.hook(expected="42")
    def build_team(told: str = "default", *, more: int = 0) -> BenchTeam:
        built.append(told)
        return BenchTeam(right, told, more=more)

    team = build_team("mine", more=3)
    assert (team.told, team.more) == ("mine", {"more": 3})
    assert built == ["mine"]
    team.run("x")
    assert run_of(team).outcome is RunOutcome.SUCCEEDED
    assert build_team().told == "default"


def test_factory_that_builds_a_function() -> None:
    @tracer_hooks.hook(expected="42")
    def with_prompts(prompts: Any = None) -> Any:
        return lambda task: "42"

    @tracer_hooks.hook(expected="42")
    def without_prompts() -> Any:
        return lambda task: "41"

    good, bad = with_prompts(), without_prompts()
    assert (good("x"), bad("x")) == ("42", "41")
    assert (run_of(good).outcome, run_of(bad).outcome) == (RunOutcome.SUCCEEDED, RunOutcome.FAILED)


async def test_async_factories(bench: BenchAdapter) -> None:
    @tracer_hooks.hook(expected="42")
    async def with_prompts(prompts: Any = None) -> BenchTeam:
        return BenchTeam(right)

    @tracer_hooks.hook(expected="42")
    async def without_prompts(told: str = "x") -> BenchTeam:
        return BenchTeam(right, told)

    for team in (await with_prompts(), await without_prompts("y"), await without_prompts("z")):
        await team.arun("x")
        assert run_of(team).outcome is RunOutcome.SUCCEEDED


def test_a_function_without_parameters_may_run_a_team_or_build_one(bench: BenchAdapter) -> None:
    seen = Recording()

    @tracer_hooks.hook(expected="42", tracer_provider=seen.provider)
    def main() -> str:
        return "It is 42."

    @tracer_hooks.hook(expected="42", tracer_provider=seen.provider)
    def build() -> BenchTeam:
        return BenchTeam(right)

    assert main() == "It is 42."
    assert run_of(main).outcome is RunOutcome.SUCCEEDED
    teams = [build(), build()]
    assert all(type(team) is BenchTeam for team in teams)
    assert not seen.named("invoke_workflow build")
    teams[1].run("x")
    assert run_of(teams[1]).outcome is RunOutcome.SUCCEEDED
    assert tracer_hooks.last_run(teams[0]) is None
    with pytest.raises(AdapterError, match=r"is a factory, expected the team"):
        tracer_hooks.last_run(build)


def test_the_result_of_an_uninstalled_framework_does_not_fail_the_function(
    bench: BenchAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    output = type("CrewOutput", (), {"__module__": "crewai.crews.crew_output", "raw": "It is 42."})()

    @tracer_hooks.hook(expected="42")
    def main() -> Any:
        return output

    assert main() is output
    assert run_of(main).outcome is RunOutcome.SUCCEEDED


# --- teams -----------------------------------------------------------------------------------------------------------
def test_ready_team_is_itself_and_unhook_restores_it(bench: BenchAdapter) -> None:
    team = BenchTeam(right)
    before = dict(vars(team))
    assert tracer_hooks.hook(team, expected="42") is team
    assert vars(team) != before
    assert inspect.signature(team.run) == inspect.signature(BenchTeam(right).run)
    assert inspect.iscoroutinefunction(team.arun)
    team.run("x")
    assert run_of(team).outcome is RunOutcome.SUCCEEDED
    tracer_hooks.unhook(team)
    assert vars(team) == before
    with pytest.raises(AdapterError, match="is not hooked"):
        tracer_hooks.last_run(team)
    tracer_hooks.unhook(team)


def test_a_team_that_can_be_called_is_a_team_and_no_function(bench: BenchAdapter) -> None:
    class CallableTeam(BenchTeam):
        def __call__(self, task: str) -> str:
            raise AssertionError("not called")

    team = tracer_hooks.hook(CallableTeam(right), expected="42")
    assert isinstance(team, CallableTeam)
    team.run("x")
    assert run_of(team).outcome is RunOutcome.SUCCEEDED


def test_a_factory_that_gives_the_same_team_again_hooks_it_once(bench: BenchAdapter) -> None:
    team = BenchTeam(right)

    @tracer_hooks.hook(expected="42")
    def build_team(prompts: Mapping[str, str] | None = None) -> BenchTeam:
        return team

    assert build_team() is team
    entry = vars(team)["run"]
    assert build_team() is team
    assert vars(team)["run"] is entry
    team.run("x")
    assert run_of(team).outcome is RunOutcome.SUCCEEDED


def test_a_team_whose_class_alone_is_patched_is_hooked_until_it_is_unhooked(
    bench: BenchAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hook(team: BenchTeam, host: RunHost) -> PatchSet:
        original = functools.partial(BenchTeam.run, team)
        entry = wrap_entry(team, "run", EntryKind.CALL, host, original=original, task_of=lambda args, kwargs: args[0])
        patches = PatchSet()
        patches.patch(BenchTeam, "run", lambda self, task: entry(task) if self is team else plain_run(self, task))
        return patches

    plain_run = BenchTeam.run
    monkeypatch.setattr(bench, "hook", hook)
    team, other = BenchTeam(right), BenchTeam(right)
    before = dict(vars(team))
    tracer_hooks.hook(team, expected="42")
    gc.collect()
    assert team.run("x") == other.run("x") == {"answer": "It is 42."}
    assert run_of(team).outcome is RunOutcome.SUCCEEDED
    tracer_hooks.unhook(team)
    assert (vars(team), BenchTeam.run) == (before, plain_run)


def test_hooking_twice_changes_nothing_and_names_what_is_not_used(
    bench: BenchAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    team = tracer_hooks.hook(BenchTeam(right), expected="42", retries=0)
    entry = vars(team)["run"]
    assert tracer_hooks.hook(team, expected="42", retries=0) is tracer_hooks.hook(team) is team
    assert caplog.messages == []
    for _ in range(2):
        assert tracer_hooks.hook(team, expected="0", retries=0, store="off") is team
    assert tracer_hooks.run(team, "x", expected="0", store="off").outcome is RunOutcome.SUCCEEDED
    assert vars(team)["run"] is entry

    function = tracer_hooks.hook(lambda task: "42")
    factory = tracer_hooks.hook(lambda prompts=None: team)
    for hooked in (function, factory):
        assert tracer_hooks.hook(hooked) is tracer_hooks.hook(hooked, retries=2) is hooked
    assert [line.partition(" for ")[0] for line in caplog.messages] == [
        "tracer-hooks does not use expected=, store=",
        "tracer-hooks does not use retries=",
        "tracer-hooks does not use retries=",
    ]


def test_unhooked_functions_are_called_without_us_and_can_be_hooked_again() -> None:
    function = tracer_hooks.hook(lambda task: "42")
    tracer_hooks.unhook(function)
    assert function("x") == "42"
    with pytest.raises(AdapterError):
        tracer_hooks.last_run(function)
    again = tracer_hooks.hook(function, expected="42")
    again("x")
    assert run_of(again).outcome is RunOutcome.SUCCEEDED


def test_teams_of_an_unhooked_factory_are_not_hooked(bench: BenchAdapter) -> None:
    build = tracer_hooks.hook(lambda prompts=None: BenchTeam(right))
    tracer_hooks.unhook(build)
    with pytest.raises(AdapterError):
        tracer_hooks.last_run(build())


@pytest.mark.parametrize("target", [None, 3, "text", object(), BenchTeam, int])
def test_what_is_no_team_is_refused(target: Any) -> None:
    with pytest.raises(AdapterNotFoundError, match="expected"):
        tracer_hooks.hook(target)


# --- run and arun ----------------------------------------------------------------------------------------------------
def generator(task: str) -> Iterator[str]:
    yield "It is 42."


async def async_generator(task: str) -> AsyncIterator[str]:
    yield "It is 42."


async def coroutine(task: str) -> str:
    return "It is 42."


def plain(task: str) -> str:
    return "It is 42."


def no_task() -> str:
    return "It is 42."


def builds() -> Any:
    return plain


async def builds_async(prompts: Any = None) -> Any:
    return coroutine


TARGETS = [
    generator,
    async_generator,
    coroutine,
    plain,
    no_task,
    builds,
    builds_async,
    functools.partial(plain),
    lambda task: coroutine(task),
    lambda task: async_generator(task),
]


def test_asynchronous_functions_stay_what_they_are() -> None:
    assert inspect.iscoroutinefunction(tracer_hooks.hook(coroutine))
    assert inspect.isasyncgenfunction(tracer_hooks.hook(async_generator))


@pytest.mark.parametrize("target", TARGETS)
def test_run_takes_every_kind_of_target(target: Any) -> None:
    run = tracer_hooks.run(target, "What?", expected="42")
    assert run.outcome is RunOutcome.SUCCEEDED
    assert run.trajectory.final_output == "It is 42."


@pytest.mark.parametrize("target", TARGETS)
async def test_arun_takes_every_kind_of_target(target: Any) -> None:
    run = await tracer_hooks.arun(target, "What?", expected="42")
    assert run.outcome is RunOutcome.SUCCEEDED
    assert run.trajectory.final_output == "It is 42."


async def test_exceptions_of_the_team_are_in_the_run() -> None:
    error = ValueError("broken")

    def broken(task: str) -> str:
        raise error

    for run in (tracer_hooks.run(broken, "x"), await tracer_hooks.arun(broken, "x")):
        assert run.error is error
        assert (run.outcome, run.outcome_reason) == (RunOutcome.FAILED, "ValueError: broken")
