"""Plans are balanced over agents, positions, modes and strategies, and hold only faults that fit."""

from collections import Counter, defaultdict
from typing import Any

import pytest

from tracer_hooks.errors import FaultError
from tracer_hooks.schema import ErrorMode, Step, StepInput, StepKind, Trajectory
from tracer_hooks_lab.faults import (
    FaultSpec,
    FaultStrategy,
    PlannedFault,
    context_of_step,
    corrupt,
    mutators_of,
    place_fault,
    plan_faults,
)

from ._runs import CODING, PIPELINE, RUNS, called, recorded

SHAPES = {
    "line": "abc",
    "loop": "abababc",
    "talkative": "aaaab",
    "star": "sasbscs",
    "tools": "pTsTsc",  # T: the next agent calls a tool
}


def synthetic(team: str, number: int) -> Trajectory:
    """A run of one shape, with numbers of its own in every reply."""
    shape, steps = SHAPES[team], list[Step]()
    for place, letter in enumerate(shape):
        value = 10 * number + place + 3
        if letter == "T":
            steps.append(called(place, shape[place + 1], "look", {"row": value}, f"The row holds {value + 40} units."))
            continue
        text = (
            f"I checked what {place + 2} rows of {value} units give before. After that I compared them with 17 others, "
            f"and with the {2 * value - 2} from before. "
            f"So it comes to {value * 2} units in all.\nANSWER: {value * 2}"
        )
        earlier = [step for step in steps if step.content]
        inputs = tuple(StepInput(source=step.agent, step=step.index, text=step.content) for step in earlier)
        steps.append(Step(index=place, agent=letter, content=text, inputs=inputs))
    return recorded(f"{team}-{number}", f"Rows of 17 units must be counted, number {number}.", steps, team=team)


def runs(count: int) -> list[Trajectory]:
    return [synthetic(team, number) for number in range(count) for team in SHAPES]


@pytest.fixture(scope="module")
def plan() -> list[PlannedFault]:
    return plan_faults(runs(60), seed=5)


def test_agents_and_positions_tell_nothing_beyond_the_shape_of_the_team(plan: list[PlannedFault]) -> None:
    assert len(plan) == 60 * len(SHAPES), "every run gets its fault"
    places: dict[str, Counter[tuple[str | None, int | None]]] = defaultdict(Counter)
    for run, spec in plan:
        places[run.team][spec.agent, spec.step] += 1
    for team, count in places.items():
        acting = [step.agent for step in synthetic(team, 0).steps]
        agents = list(dict.fromkeys(acting))
        for agent in agents:
            by_agent = sum(n for (name, _), n in count.items() if name == agent)
            assert abs(by_agent - 60 / len(agents)) <= 1
            for step in (place for place, name in enumerate(acting) if name == agent):
                expected = 60 / len(agents) / acting.count(agent)
                assert abs(count[agent, step] - expected) <= 1.5
        assert sum(n for (_, step), n in count.items() if step == 0) > 0


def test_modes_strategies_and_kinds_are_balanced(plan: list[PlannedFault]) -> None:
    strategies = Counter(spec.strategy for _, spec in plan)
    everywhere = [strategies[s] for s in (FaultStrategy.RESPONSE_CORRUPTION, FaultStrategy.PROMPT_INJECTION)]
    assert max(everywhere) - min(everywhere) <= 2
    assert 0.6 < strategies[FaultStrategy.CHANNEL] / everywhere[0] < 1.1  # impossible for those who hear nobody
    # At the ten steps that call a tool a fault is sometimes the tool's and sometimes the agent's.
    at_calls = Counter(spec.strategy for run, spec in plan if run.steps[spec.step or 0].tool_calls)
    assert 2 <= at_calls[FaultStrategy.TOOL] <= 7
    assert strategies[FaultStrategy.TOOL] == at_calls[FaultStrategy.TOOL] < sum(at_calls.values()) == 10
    instructed = Counter(spec.mode for _, spec in plan if spec.strategy is FaultStrategy.PROMPT_INJECTION)
    assert set(instructed) == set(ErrorMode)
    assert max(instructed.values()) - min(instructed.values()) <= 1
    # Some modes show in a call or in code alone, and some in nothing but new text.
    changed = Counter(spec.mode for _, spec in plan if spec.strategy is FaultStrategy.RESPONSE_CORRUPTION)
    in_text = set(ErrorMode) - {mode for mode in ErrorMode if not mutators_of(mode)} - {"FM-1.3", "FM-2.2"}
    assert in_text <= set(changed) <= {mode for mode in ErrorMode if mutators_of(mode)}
    counts = [changed[mode] for mode in in_text]
    assert max(counts) - min(counts) <= 2
    channels = Counter(spec.kind for _, spec in plan if spec.strategy is FaultStrategy.CHANNEL)
    assert len(channels) == 4
    assert max(channels.values()) - min(channels.values()) <= 3


def test_every_planned_corruption_changes_the_recorded_reply(plan: list[PlannedFault]) -> None:
    planned = [(run, spec) for run, spec in plan if spec.strategy is FaultStrategy.RESPONSE_CORRUPTION]
    for run, spec in planned:
        assert spec.step is not None
        assert spec.mode is not None
        assert spec.kind is not None
        assert run.steps[spec.step].agent == spec.agent
        assert corrupt(context_of_step(run, spec.step), spec.mode, kind=spec.kind, seed=spec.seed) is not None


def test_tool_and_channel_faults_go_only_where_there_is_something_to_lose(plan: list[PlannedFault]) -> None:
    for run, spec in plan:
        assert spec.step is not None
        if spec.strategy is FaultStrategy.TOOL:
            assert run.steps[spec.step].tool_calls
        if spec.strategy is FaultStrategy.CHANNEL:
            assert any(given.source != spec.agent for given in run.steps[spec.step].inputs)


def test_a_mapping_says_which_mutators_a_mode_may_use() -> None:
    modes = {ErrorMode.FM_2_6: ("other_conclusion",), ErrorMode.FM_3_3: ("wrong_working", "wrong_recount")}
    strategies = [FaultStrategy.RESPONSE_CORRUPTION]
    kinds = {spec.kind for _, spec in plan_faults(runs(20), modes=modes, strategies=strategies, per_trajectory=2)}
    assert kinds
    assert kinds <= {"other_conclusion", "wrong_working", "wrong_recount"}


def test_several_faults_of_one_run_are_at_steps_of_their_own() -> None:
    plan = plan_faults([PIPELINE], per_trajectory=4, strategies=[FaultStrategy.PROMPT_INJECTION])
    assert {spec.step for _, spec in plan} == {0, 1, 2, 3}
    assert len({spec.fault_id for _, spec in plan_faults([PIPELINE], per_trajectory=12)}) == 12
    some = runs(4)
    assert plan_faults(some, seed=1) == plan_faults(some, seed=1) != plan_faults(some, seed=2)


def test_a_step_that_cannot_carry_the_fault_gives_way_to_one_that_can() -> None:
    plan = plan_faults([PIPELINE] * 20, strategies=[FaultStrategy.TOOL])
    assert {spec.step for _, spec in plan} == {1}
    plan = plan_faults(
        [CODING] * 20, modes=[ErrorMode.FM_2_2], strategies=[FaultStrategy.RESPONSE_CORRUPTION], per_trajectory=1
    )
    assert {spec.step for _, spec in plan} == {1}  # the only one with code
    failed = Step(index=0, agent="a", kind=StepKind.ERROR, error="HTTP 500")
    run = recorded("r", "Say hello.", [failed, Step(index=1, agent="a", content="Hello there, all of you.")])
    assert {spec.step for _, spec in plan_faults([run] * 8)} == {1}, "a step without a reply is passed over"
    assert plan_faults([recorded("r", "x", [failed])]) == []


def test_modes_without_mutators_are_left_to_prompts_and_writers() -> None:
    modes = [mode for mode in ErrorMode if not mutators_of(mode)]
    assert plan_faults(RUNS, modes=modes, strategies=[FaultStrategy.RESPONSE_CORRUPTION]) == []
    prompted = plan_faults(RUNS, modes=modes)
    assert {spec.strategy for _, spec in prompted if spec.mode is not None} == {FaultStrategy.PROMPT_INJECTION}
    written = plan_faults(RUNS * 3, modes=modes, strategies=[FaultStrategy.RESPONSE_CORRUPTION], writer="llm")
    assert {spec.mode for _, spec in written} == set(modes)
    assert all(spec.writer == "llm" and spec.kind is None for _, spec in written)


@pytest.mark.parametrize(
    ("run", "spec", "message"),
    [
        (recorded("empty", "Do nothing.", []), FaultSpec(strategy=FaultStrategy.TOOL), "'empty' has no steps"),
        (PIPELINE, FaultSpec(strategy=FaultStrategy.TOOL, step=0), "step 0 is not one that can carry"),
        (
            PIPELINE,
            FaultSpec(strategy=FaultStrategy.RESPONSE_CORRUPTION, mode=ErrorMode.FM_3_2, step=0),
            "step 0 is not one that can carry .* of FM-3.2. Take one of the modes FM-1.1, ",
        ),
    ],
)
def test_a_run_that_can_carry_no_such_fault_is_refused(run: Trajectory, spec: FaultSpec, message: str) -> None:
    with pytest.raises(FaultError, match=message):
        place_fault(run, spec)
    placed = place_fault(PIPELINE, FaultSpec(strategy=FaultStrategy.TOOL, kind="error", step=1))
    assert placed.agent == PIPELINE.steps[1].agent
    nothing: tuple[dict[str, Any], ...] = ({"per_trajectory": 0}, {"modes": []}, {"strategies": []})
    for options in nothing:
        with pytest.raises(FaultError, match="at least one mode and one strategy"):
            plan_faults(RUNS, **options)
