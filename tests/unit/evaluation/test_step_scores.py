import math

import pytest

from tracer_hooks.evaluation._scores import (
    STEP_METRICS,
    Answer,
    Guess,
    guess_of,
    ranked_steps,
    score_guess,
    score_guesses,
)

from ._runs import M11, M12, abstention, answer, case, labeled, run

RUN = run("A", "B", "A", "B", "A", "B")


def scores(gold: int, *ranking: int, agent: str = "B") -> dict[str, float]:
    return score_guess(case(labeled(RUN, "B", gold)), Guess(agent=agent, ranking=ranking))


@pytest.mark.parametrize("distance", range(7))
@pytest.mark.parametrize("gold", [0, 6], ids=["first", "last"])
def test_distances_at_both_ends(gold: int, distance: int) -> None:
    long = case(labeled(run(*"ABCDEFG"), "A", gold))
    found = score_guess(long, Guess(agent="A", ranking=(abs(gold - distance),)))
    assert found["step"] == (distance == 0)
    assert [found[f"within_{most}"] for most in (1, 3, 5)] == [distance <= most for most in (1, 3, 5)]


@pytest.mark.parametrize(
    ("ranking", "hits", "reciprocal"),
    [
        ((3, 1, 2), (1, 1, 1), 1.0),
        ((1, 3, 2), (0, 1, 1), 1 / 2),
        ((1, 2, 3), (0, 1, 1), 1 / 3),
        ((1, 2, 0, 3), (0, 0, 1), 1 / 4),
        ((0, 1, 2, 4, 3), (0, 0, 1), 1 / 5),
        ((0, 1, 2, 4, 5, 3), (0, 0, 0), 1 / 6),
        ((0,), (0, 0, 0), 0.0),
    ],
)
def test_hits_and_ranks(ranking: tuple[int, ...], hits: tuple[int, int, int], reciprocal: float) -> None:
    found = scores(3, *ranking)
    assert (found["hit_1"], found["hit_3"], found["hit_5"]) == hits
    assert found["mrr"] == pytest.approx(reciprocal)


def test_joint_needs_the_agent_of_the_label_which_may_not_be_the_speaker() -> None:
    found = scores(2, 2, agent="A")  # the label blames B for a step of A
    assert (found["agent"], found["step"], found["joint"]) == (0, 1, 0)
    assert scores(3, 3)["joint"] == 1
    assert scores(3, 3, agent="b ")["joint"] == 1


def test_an_abstention_is_wrong_everywhere_and_left_out_where_answered() -> None:
    found = score_guess(case(labeled(RUN, "B", 1, mode=M11)), None)
    assert set(found) == set(STEP_METRICS)
    left_out = {name for name, value in found.items() if math.isnan(value)}
    assert left_out == {"agent_answered", "step_answered", "joint_answered", "any_faulty_step"}
    assert all(value == 0 for name, value in found.items() if name not in left_out)


def test_modes_and_any_of_several_faulty_steps_count_where_they_are_labelled() -> None:
    right = Guess(agent="B", ranking=(1,), mode=M11)
    found = [score_guess(case(labeled(RUN, "B", 1, mode=mode)), right)["mode"] for mode in (M11, M12, None)]
    assert found[:2] == [1, 0]
    assert math.isnan(found[2])
    several = case(labeled(RUN, "B", 1, faulty_steps=[1, 4]))
    rankings = ((4,), (3, 4))
    assert [score_guess(several, Guess(agent="A", ranking=r))["any_faulty_step"] for r in rankings] == [1, 0]


def test_a_label_outside_the_run_cannot_be_hit() -> None:
    outside = case(labeled(RUN, "B", 6))
    assert outside.gold_step is None
    found = score_guess(outside, Guess(agent="B", ranking=(5, 4)))
    assert (found["agent"], found["step"], found["mrr"], found["within_5"]) == (1, 0, 0, 0)


def test_candidates_are_ranked_by_score_and_the_earlier_goes_first_when_equal() -> None:
    said = answer("A", 4, ("B", 5, 0.1), ("B", 3, 0.2), ("A", 2, 0.1), ("A", 4, 0.9), confidence=0.3)
    assert ranked_steps(said) == (4, 3, 2, 5)


def test_what_an_abstention_lists_is_no_answer() -> None:
    candidates = answer("A", 4).candidates
    assert guess_of(Answer(attribution=abstention(candidates=candidates), seconds=0)) is None
    assert guess_of(Answer(attribution=None, seconds=0, error="broken")) is None


def test_several_runs_give_one_array_a_figure() -> None:
    cases = [case(labeled(RUN, "B", 1)), case(labeled(RUN, "A", 0))]
    found = score_guesses(cases, [Guess(agent="B", ranking=(1,)), None])
    assert found["step"].tolist() == [1, 0]
    assert found["answered"].tolist() == [1, 0]
    assert found["step_answered"][0] == 1
    assert math.isnan(found["step_answered"][1])
