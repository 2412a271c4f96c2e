"""``tracer_hooks.inject``: what it is given, and what it fills in."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import tracer_hooks
from tracer_hooks.budget import CostCap
from tracer_hooks.errors import AdapterError, CheckError, ConfigError, FaultError
from tracer_hooks.replay import Trial
from tracer_hooks.schema import ErrorMode
from tracer_hooks_lab.faults import FaultSpec, FaultStrategy
from tracer_hooks_lab.injection import inject

TASK = "A shop has 3 red and 4 blue pens."


@tracer_hooks.model(name="rules")
def ask(messages: list[dict[str, str]]) -> str:
    found = [int(one) for one in re.findall(r"\d+", messages[-1]["content"])]
    if messages[0]["content"] == "adder":
        return f"The sum of all the numbers is {sum(found)}."
    return f"The sum of both is {2 * found[-1]}."


def member(name: str) -> Callable[[str], str]:
    @tracer_hooks.agent(name=name, instructions=name)
    def act(shown: str) -> str:
        return ask([{"role": "system", "content": name}, {"role": "user", "content": shown}])

    return act


def build_team(prompts: object = None) -> Callable[[str], str]:
    adder, doubler = member("adder"), member("doubler")
    return lambda task: doubler(adder(task))


@pytest.mark.parametrize(
    "fault",
    [
        "FM-2.6",
        ErrorMode.FM_2_6,
        {"mode": "FM-2.6", "seed": 3},
        FaultSpec(mode=ErrorMode.FM_2_6, strategy=FaultStrategy.RESPONSE_CORRUPTION),
    ],
)
def test_a_fault_is_a_mode_its_fields_or_a_spec(fault: object) -> None:
    found = inject(build_team, TASK, fault, expected="14")  # type: ignore[arg-type]
    assert found.is_verified, found.discarded
    assert found.spec.mode is ErrorMode.FM_2_6
    assert found.spec.agent in ("adder", "doubler")
    assert found.spec.step is not None


@pytest.mark.parametrize(("agent", "step"), [("adder", 0), ("doubler", 1)])
def test_an_agent_gets_a_step_of_its_own_and_a_step_its_agent(agent: str, step: int) -> None:
    by_agent = inject(build_team, TASK, {"mode": "FM-2.6", "agent": agent}, expected="14")
    by_step = inject(build_team, TASK, {"mode": "FM-2.6", "step": step}, expected="14")
    assert (by_agent.spec.step, by_step.spec.agent) == (step, agent)


def test_what_is_not_there_is_named_with_what_is() -> None:
    with pytest.raises(
        FaultError, match=r"no step of the run is one of 'critic'; .*'adder' \(at 0\), 'doubler' \(at 1"
    ):
        inject(build_team, TASK, {"mode": "FM-2.6", "agent": "critic"}, expected="14")
    with pytest.raises(FaultError, match=r"no step 5, expected 0 to 1"):
        inject(build_team, TASK, {"mode": "FM-2.6", "step": 5}, expected="14")
    with pytest.raises(FaultError, match="step 1 is one of 'doubler', not of 'adder'"):
        inject(build_team, TASK, {"mode": "FM-2.6", "agent": "adder", "step": 1}, expected="14")
    with pytest.raises(FaultError, match=r"unknown error mode 'FM-9\.9', expected one of FM-1\.1"):
        inject(build_team, TASK, "FM-9.9", expected="14")
    with pytest.raises(FaultError, match="no step of the run can carry a fault by tool"):
        inject(build_team, TASK, {"strategy": "tool"}, expected="14")


def test_options_that_cannot_be_used_are_refused_before_any_run() -> None:
    seen: list[Trial] = []
    with pytest.raises(ConfigError, match="nothing says whether a run succeeded"):
        inject(build_team, TASK, "FM-2.6", on_trial=seen.append)
    with pytest.raises(ConfigError, match="unknown option 'chekc'"):
        inject(build_team, TASK, "FM-2.6", chekc=None)  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match="4 failures of 3 trials"):
        inject(build_team, TASK, "FM-2.6", expected="14", rule={"failures": 4})
    with pytest.raises(ConfigError, match="clean_runs is 0"):
        inject(build_team, TASK, "FM-2.6", expected="14", clean_runs=0)
    with pytest.raises(FaultError, match=r"no mutator can make a reply err by FM-2\.1: .*Run with: --writer llm"):
        inject(build_team, TASK, "FM-2.1", expected="14", on_trial=seen.append)
    with pytest.raises(FaultError, match="expected writer=LLMWriter"):
        inject(build_team, TASK, {"mode": "FM-2.6", "writer": "llm"}, expected="14")
    assert seen == []


def test_the_check_of_a_hooked_team_counts() -> None:
    hooked = tracer_hooks.hook(build_team, check=lambda result: "14" in result.text, store="off")
    assert inject(hooked, TASK, "FM-2.6").is_verified


def test_a_clean_run_that_the_check_cannot_judge_is_one_try() -> None:
    asked = []

    def check(result: tracer_hooks.RunResult) -> bool:
        asked.append(result.text)
        if len(asked) == 1:
            raise TimeoutError("the judge sleeps")
        return "14" in result.text

    assert inject(build_team, TASK, "FM-2.6", check=check).verification.control_passes > 0

    def never(result: tracer_hooks.RunResult) -> bool:
        raise TimeoutError("the judge sleeps")

    with pytest.raises(CheckError, match="the check raised TimeoutError: the judge sleeps"):
        inject(build_team, TASK, "FM-2.6", check=never)


def test_what_is_no_team_and_what_cannot_be_built_is_an_error() -> None:
    with pytest.raises(AdapterError):
        inject(lambda: 42, TASK, "FM-2.6", expected="14")
    with pytest.raises(AdapterError):
        inject(object(), TASK, "FM-2.6", expected="14")


def test_the_cap_counts_the_clean_runs() -> None:
    found = inject(build_team, TASK, "FM-2.6", expected="14", cap=CostCap(max_runs=2))
    assert found.is_broken_off
    with pytest.raises(FaultError, match="cap of 1 runs is reached before a run succeeded"):
        inject(build_team, TASK, "FM-2.6", expected="15", cap=CostCap(max_runs=1))
