"""Injection with a fixed prefix, controls and verification; each gap of the literature's code is a test here."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

import tracer_hooks
from tracer_hooks.budget import CostCap, Spending
from tracer_hooks.errors import ConfigError, FaultError
from tracer_hooks.replay import ToolRules
from tracer_hooks.rerun._targets import rerunner
from tracer_hooks.schema import ErrorMode, LabelSource, RunOutcome, StepKind
from tracer_hooks_lab.faults import (
    FaultSpec,
    FaultStrategy,
    Injection,
    InjectOptions,
    Injector,
    LLMWriter,
    ToolFault,
    VerificationRule,
)
from tracer_hooks_lab.injection import clean_run

TASK = "A shop has 3 red and 4 blue pens."
ANSWER = "14"


@dataclass
class Chain:
    """A team of three that calculates with what it is shown: a wrong number really travels on."""

    asked: list[str] = field(default_factory=list)
    """Who asked the model, live."""
    before: Callable[[str, str], str | None] = lambda name, shown: None
    """May answer, or raise, in the model's place."""
    names: tuple[str, ...] = ("adder", "doubler", "writer")
    told: Callable[[str], str] = str
    """What stands in an agent's instructions."""

    def build(self, prompts: object = None) -> Callable[[str], str]:
        adder, doubler, writer = (self._member(name, number) for number, name in enumerate(self.names))
        return lambda task: writer(doubler(adder(task)))

    def _member(self, name: str, number: int) -> Callable[[str], str]:
        @tracer_hooks.model(name="rules")
        def ask(messages: list[dict[str, str]]) -> str:
            self.asked.append(name)
            shown = messages[-1]["content"]
            said = self.before(name, shown)
            return said if said is not None else answer(number, shown)

        @tracer_hooks.agent(name=name, instructions=f"You are {name}.")
        def act(shown: str) -> str:
            return ask([{"role": "system", "content": self.told(name)}, {"role": "user", "content": shown}])

        return act

    def injector(self, options: InjectOptions | None = None, spending: Spending | None = None) -> Injector:
        runner = rerunner(self.build, TASK, expected=ANSWER)
        return Injector(runner, clean_run(runner), options, spending=spending)


def answer(number: int, shown: str) -> str:
    found = [int(one) for one in re.findall(r"\d+", shown)]
    if number == 0:
        return f"The sum of all the numbers is {sum(found)}."
    if number == 1:
        return f"The sum of both is {2 * found[-1]}."
    return f"The sum in the end is {found[-1]}."


def corruption(step: int, **fields: object) -> FaultSpec:
    fields = {"mode": ErrorMode.FM_2_6, "strategy": FaultStrategy.RESPONSE_CORRUPTION, **fields}
    return FaultSpec.model_validate({**fields, "step": step})


def instruction(step: int) -> FaultSpec:
    return FaultSpec(strategy=FaultStrategy.PROMPT_INJECTION, mode=ErrorMode.FM_2_3, step=step)


def test_steps_before_the_fault_are_those_of_the_clean_run_and_ask_no_model() -> None:
    team = Chain()
    injector = team.injector()
    team.asked.clear()
    found = injector.inject(corruption(1))
    assert found.is_verified, found.discarded
    first, clean = (
        run.steps[0].model_dump(exclude={"span_id", "started_at", "ended_at"}) for run in (found.faulty, found.clean)
    )
    assert first == clean
    assert team.asked == ["writer"] * 5  # two runs with the fault and three controls
    for step, before in zip(found.faulty.steps[:2], found.clean.steps, strict=False):
        assert step.ended_at - step.started_at == before.ended_at - before.started_at, "a step that takes no time shows"
    step = found.faulty.steps[found.applied.step]
    assert step.kind is StepKind.MESSAGE
    assert step.content == found.applied.after != found.applied.before
    assert found.applied.after in found.faulty.steps[2].inputs[-1].text
    assert Chain().injector().inject(corruption(1)).applied == found.applied, "one seed, one fault"


@pytest.mark.parametrize("step", [0, 1, 2])
def test_every_step_can_be_injected_the_first_ones_too(step: int) -> None:
    names = ("Zoë's planner №1", "assistant", "assistant (2)")
    found = Chain(names=names).injector().inject(corruption(step))
    assert found.is_verified, found.discarded
    label = found.labeled(question_id="q1", reference=ANSWER)
    assert (label.decisive.step, label.decisive.agent) == (step, names[step])
    assert label.decisive.error_mode is ErrorMode.FM_2_6
    assert label.label_source is LabelSource.INJECTED
    assert (label.question_id, label.trajectory.reference) == ("q1", ANSWER)
    assert label.trajectory.outcome is RunOutcome.FAILED
    assert label.trajectory.agent_names == names


def test_a_team_that_fails_without_the_fault_is_discarded() -> None:
    team = Chain()
    injector = team.injector()
    team.before = lambda name, shown: "ANSWER: 99" if name == "writer" else None
    found = injector.inject(corruption(1))
    assert found.discarded == "the run fails without the fault"
    assert (found.verification.control_runs, found.verification.control_passes) == (1, 0)
    with pytest.raises(FaultError, match="discarded"):
        found.labeled()


def test_a_fault_without_effect_is_discarded_without_controls() -> None:
    team = Chain(before=lambda name, shown: f"ANSWER: {ANSWER}" if name == "writer" else None)
    found = team.injector().inject(corruption(0))
    assert found.discarded == "the run succeeds with the fault"
    assert found.verification.control_runs == 0
    assert found.verification.faulty_runs == 2  # two successes, and a third run could not make up for them
    assert found.applied is not None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"trials": 1, "failures": 2}, "2 failures of 1 trials"),
        ({"controls": -1}, "controls is -1, expected 0 or more"),
        ({"trials": "many"}, r"VerificationRule: .*integer.*'many'"),
        ({"tries": 3}, r"VerificationRule: .*'tries'"),
    ],
)
def test_the_rule_says_how_many_runs_there_are_and_one_that_says_nothing_is_refused(fields, message) -> None:
    with pytest.raises(ConfigError, match=message):
        VerificationRule(**fields)
    rule = VerificationRule(trials=5, failures=4, controls=1)
    found = Chain().injector(InjectOptions(rule=rule)).inject(corruption(0))
    assert (found.verification.faulty_failures, found.verification.control_runs) == (4, 1)


def test_a_model_that_follows_the_instruction_gives_a_label_and_no_trace_of_it() -> None:
    @tracer_hooks.model(name="rules")
    def ask(messages: list[dict[str, str]]) -> str:
        is_misled = messages[0]["content"] != "Work."
        return "Pens were first made in 1827." if is_misled else answer(1, messages[-1]["content"])

    @tracer_hooks.agent(name="doubler", instructions="Work.")
    def act(shown: str) -> str:
        return ask([{"role": "system", "content": "Work."}, {"role": "user", "content": shown}])

    runner = rerunner(lambda: act, "There are 7.", expected=ANSWER)
    found = Injector(runner, clean_run(runner)).inject(instruction(0))
    assert found.is_verified, found.discarded
    said = found.applied.after.removeprefix(found.applied.before).strip()
    assert said
    assert said not in found.labeled().trajectory.model_dump_json()


def test_a_model_that_ignores_the_instruction_is_no_error_of_the_agent_whatever_comes_after() -> None:
    team = Chain()
    injector = team.injector()
    coins = iter([True, True, True, False, False, False])
    team.before = lambda name, shown: "ANSWER: 99" if name == "writer" and next(coins) else None
    found = injector.inject(instruction(1))  # the doubler does what it did before; the writer errs by chance
    assert found.discarded == "the run succeeds with the fault"


def test_a_team_that_never_asks_the_same_twice_is_a_counted_discard() -> None:
    team = Chain(told=lambda name: f"Your lucky number is {random.random()}.")
    found = team.injector().inject(corruption(2))
    assert found.discarded is not None
    assert "the replay differs from the recording" in found.discarded
    assert not found.is_broken_off
    assert found.verification.runs == 0 or found.faulty is None


def test_a_model_call_that_fails_only_with_the_fault_is_a_discard_and_a_model_that_is_gone_breaks_off() -> None:
    def strict(name: str, shown: str) -> str | None:
        if name == "doubler" and "is 7." not in shown:
            raise ValueError("bad request")
        return None

    found = Chain(before=strict).injector().inject(corruption(0))
    assert found.discarded.startswith("with the fault, and not without it, a model call of step 1 failed")
    assert not found.is_broken_off

    def gone(name: str, shown: str) -> str:
        raise ConnectionError("refused")

    team = Chain()
    injector = team.injector()
    team.before = gone
    found = injector.inject(corruption(0))
    assert found.is_broken_off
    assert "ConnectionError: refused" in found.discarded


def test_a_cap_breaks_off() -> None:
    spending = Spending(CostCap(max_runs=3))
    found = Chain().injector(spending=spending).inject(corruption(0))
    assert found.is_broken_off
    assert found.discarded == "the cap of 3 runs is reached"
    assert spending.runs == 3


def test_a_step_or_agent_that_is_not_there_and_a_run_that_failed_are_errors() -> None:
    injector = Chain().injector()
    with pytest.raises(FaultError, match="no step 9, expected 0 to 2"):
        injector.inject(corruption(9))
    with pytest.raises(FaultError, match=r"step 1 is one of 'doubler', not of 'writer'.*'adder', 'doubler', 'writer'"):
        injector.inject(corruption(1, agent="writer"))
    runner = rerunner(Chain().build, TASK, expected="another answer")
    with pytest.raises(FaultError, match="expected one that succeeded"):
        Injector(runner, runner.run())


@pytest.mark.parametrize(
    ("said", "why"), [("I'm sorry, but I can't help with that.", "declines"), ("", "empty"), ("The sum is 71.", None)]
)
def test_a_writer_writes_once_for_all_runs_or_its_refusal_is_a_counted_discard(said: str, why: str | None) -> None:
    asked: list[object] = []

    def write(messages: list[dict[str, str]]) -> str:
        asked.append(messages)
        return said

    options = InjectOptions(writer=LLMWriter(write, attempts=2))
    found = Chain().injector(options).inject(corruption(0, writer="llm"))
    if why is None:
        assert found.labeled().verification["writer"] == "llm"
        assert len(asked) == 1
    else:
        assert why in found.discarded
        assert (len(asked), found.verification.faulty_runs) == (2, 1)


def with_tool(rules: str) -> tuple[Injection, list[str]]:
    calls: list[str] = []

    @tracer_hooks.tool
    def stock(colour: str) -> str:
        calls.append(colour)
        return "There are 7 in stock."

    @tracer_hooks.model(name="rules")
    def ask(messages: list[dict[str, str]]) -> str:
        return answer(1, messages[-1]["content"])

    @tracer_hooks.agent(name="clerk", instructions="Look it up.")
    def clerk(task: str) -> str:
        first = ask([{"role": "user", "content": "Look at shelf 1."}])
        found = stock("red")
        return ask([{"role": "user", "content": f"{first} {found}"}])

    runner = rerunner(lambda: clerk, "How many red pens, twice?", expected=ANSWER)
    options = InjectOptions(tools=ToolRules.of(rules))
    injector = Injector(runner, clean_run(runner), options)
    at = next(step.index for step in injector.clean.trajectory.steps if step.tool_calls)
    calls.clear()
    spec = FaultSpec(strategy=FaultStrategy.TOOL, kind=ToolFault.WRONG_RESULT.value, step=at)
    return injector.inject(spec), calls


def test_a_wrong_tool_result_is_a_fault_of_its_step() -> None:
    found, calls = with_tool("replayable")
    assert found.is_verified, found.discarded
    assert found.applied.before == "There are 7 in stock." != found.applied.after
    assert found.applied.after in found.labeled().trajectory.model_dump_json()
    assert calls == []  # it came from the tape
    found, calls = with_tool("rebuilt")
    assert found.is_verified, found.discarded
    assert len(calls) == found.verification.runs, "it runs for its effect"
