import math
from collections.abc import Callable

import pytest

from tracer_hooks.evaluation import baselines
from tracer_hooks.evaluation._scores import STEP_METRICS, Guess
from tracer_hooks.schema import Step, ToolCall, Trajectory

from .._known import known
from ._runs import case, labeled, run

TEAM = run("Human", "Planner", "Computer_terminal", "Coder", "Computer_terminal", "Coder", "Computer_terminal")


def named(guess: Guess | None) -> tuple[str, int | None]:
    assert guess is not None
    return guess.agent, guess.step


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (baselines.first_speaker, ("Planner", 1)),
        (baselines.last_step, ("Computer_terminal", 6)),
        (baselines.step_one, ("Planner", 1)),
        (baselines.busiest_speaker, ("Coder", 3)),
    ],
)
def test_positions(rule: Callable[[Trajectory], Guess | None], expected: tuple[str, int]) -> None:
    assert named(rule(TEAM)) == expected
    assert sorted(known(rule(TEAM)).ranking) == list(range(7)), "every step once"
    assert named(rule(run("A"))) == ("A", 0)
    assert rule(run()) is None


@pytest.mark.parametrize(
    ("speakers", "step"),
    [
        (("A", "B", "T: exitcode: 1 (execution failed)", "C"), 1),
        (("A", "B", "T: exitcode: 0 (execution succeeded)", "C"), 1),
        (("A", "B", "C", "D", "T: Traceback (most recent call last):"), 3),
        (("A: execution failed", "B", "C", "T: exitcode: 2"), 2),  # nothing stands before the first step
        (("A: execution failed", "B", "C"), 1),
        (("A",), 0),
    ],
)
def test_the_message_before_the_first_error_marker_else_step_one(speakers: tuple[str, ...], step: int) -> None:
    guess = known(baselines.before_error_marker(run(*speakers)))
    assert guess.step == step


def test_an_agent_whose_own_tool_failed_is_before_the_marker_itself() -> None:
    failed = ToolCall(name="python", result="exitcode: 1")
    steps = (Step(index=0, agent="A"), Step(index=1, agent="B"), Step(index=2, agent="C", tool_calls=(failed,)))
    assert named(baselines.before_error_marker(Trajectory(run_id="r", steps=steps))) == ("C", 2)
    assert baselines.before_error_marker(run()) is None


def test_chance_is_the_average_over_all_answers() -> None:
    one = case(labeled(run("A", "B", "A", "C"), "a", 2))
    found = baselines.random_step(one)
    assert found["step"] == found["joint"] == 1 / 4
    assert found["agent"] == 1 / 3
    assert found["hit_3"] == 3 / 4
    assert found["hit_5"] == 1  # as there are but four
    assert found["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert (found["within_1"], found["within_3"]) == (3 / 4, 1)
    assert set(found) <= set(STEP_METRICS)
    other = baselines.random_step(case(labeled(run("A", "B"), "B", 0)))  # the label blames another than the speaker
    assert (other["agent"], other["step"], other["joint"]) == (1 / 2, 1 / 2, 0)
    assert baselines.random_step(case(labeled(run("A", "B"), "Ghost", 0)))["agent"] == 0


def test_priors_learn_from_other_questions_alone() -> None:
    runs = [
        case(labeled(run("A", "B", "C", run_id="1"), "B", 1, question="q1")),
        case(labeled(run("A", "B", "C", run_id="2"), "B", 1, question="q1")),
        case(labeled(run("A", "B", "C", run_id="3"), "C", 2, question="q2")),
    ]
    assert [named(guess) for guess in baselines.position_prior(runs)] == [("C", 2), ("C", 2), ("B", 1)]
    assert [named(guess) for guess in baselines.agent_prior(runs)] == [("C", 2), ("C", 2), ("B", 1)]


def test_priors_on_runs_without_a_known_position_or_agent_and_with_other_spellings_of_it() -> None:
    four = case(labeled(run("A", "B", "C", "D"), "D", 3, question="q1"))
    two = case(labeled(run("X", "Y"), "Y", 1, question="q2"))
    assert named(baselines.position_prior([four, two])[1]) == ("X", 0)  # position 3 is not there: the earliest
    assert named(baselines.agent_prior([four, two])[1]) == ("X", 0)
    spelt = case(labeled(run("O", "WebSurfer"), "Websurfer", 1, question="q1"))
    other = case(labeled(run("O", "O", "Web Surfer"), "O", 1, question="q2"))
    assert named(baselines.agent_prior([spelt, other])[1]) == ("Web Surfer", 2)


def test_the_best_constant_is_chosen_on_the_runs_themselves() -> None:
    runs = [case(labeled(run(*"ABCDE"), "A", step, question=str(step))) for step in (3, 1, 3, 1, 0)]
    assert {named(guess) for guess in baselines.best_constant_step(runs)} == {("B", 1)}  # 1 and 3 are equal
    short = [*runs, case(labeled(run("A"), "A", 0))]
    assert named(baselines.best_constant_step(short)[-1]) == ("A", 0)


def test_every_row_is_scored_and_priors_keep_to_their_group() -> None:
    one = [case(labeled(run("A", "B", "C"), "C", 2, question=f"a{k}"), group="one") for k in range(3)]
    two = [case(labeled(run("A", "B", "C"), "A", 0, question=f"b{k}"), group="two") for k in range(3)]
    rows = {row.name: row for row in baselines.step_baselines([*one, *two])}
    assert rows["position prior"].scores["step"].tolist() == [1] * 6
    assert rows["best constant step, chosen on these runs"].scores["step"].tolist() == [1] * 6
    assert rows["random, exact expectation"].guesses is None
    assert {row.reads for row in rows.values()} == {"nothing", "error markers"}
    assert all(math.isnan(row.scores["mode"][0]) for row in rows.values())
