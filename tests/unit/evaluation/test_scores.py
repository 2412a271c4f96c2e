"""Scores of steps and of faults."""

from __future__ import annotations

import math

import pytest

from tracer_hooks.evaluation import baselines
from tracer_hooks.evaluation._cases import Case
from tracer_hooks.evaluation._report import LabelCounts, Resampling, macro_f1
from tracer_hooks.evaluation._scores import (
    STEP_METRICS,
    Answer,
    FaultGuess,
    FaultScores,
    Guess,
    fault_guess_of,
    guess_of,
    ranked_steps,
    score_faults,
    score_guess,
    score_guesses,
    within_run_auc,
)
from tracer_hooks.schema import AgentFault, Attribution, Candidate, ErrorMode

from .._known import known
from ._runs import M11, M12, M13, M23, abstention, answer, case, labeled, run

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
    assert guess_of(Answer(attribution=None, seconds=0)) is None


def test_several_runs_give_one_array_a_figure() -> None:
    cases = [case(labeled(RUN, "B", 1)), case(labeled(RUN, "A", 0))]
    found = score_guesses(cases, [Guess(agent="B", ranking=(1,)), None])
    assert found["step"].tolist() == [1, 0]
    assert found["answered"].tolist() == [1, 0]
    assert found["step_answered"][0] == 1
    assert math.isnan(found["step_answered"][1])


def aegis(*speakers: str, faults: list[tuple[str, ErrorMode | None]], question: str = "q") -> Case:
    return case(labeled(run(*speakers, task=question), faults=faults), dataset="aegis")


def said(*pairs: tuple[str, ErrorMode]) -> FaultGuess:
    return FaultGuess(
        agents=frozenset(agent for agent, _ in pairs),
        pairs=frozenset(pairs),
        modes=frozenset(mode for _, mode in pairs),
    )


def micro(scores: FaultScores, level: str, naming: str) -> float:
    right, named, gold = (values.sum() for values in scores.micro[level, naming])
    return float(2 * right / (named + gold))


def macro(scores: FaultScores, level: str, naming: str) -> float:
    found = known(macro_f1(known(scores.labels)[level, naming], Resampling(["q"], draws=0, seed=0), runs=1))
    return found.value


def test_micro_f1_by_hand() -> None:
    cases = [
        aegis("Solver", "Critic", faults=[("Solver", M11), ("Critic", M12)]),
        aegis("Solver", "Critic", faults=[("Solver", M13)]),
    ]
    scores = score_faults(cases, [said(("Solver", M11), ("Critic", M13)), said(("Critic", M13))])
    # pairs: one right of three named, three labelled; agents: two right of three; modes: M11 and M13 right of three
    assert micro(scores, "pair", "exact") == pytest.approx(2 * 1 / (3 + 3))
    assert micro(scores, "agent", "exact") == pytest.approx(2 * 2 / (3 + 3))
    assert micro(scores, "mode", "exact") == pytest.approx(2 * 2 / (3 + 3))
    assert scores.answered.tolist() == [1, 1]


def test_macro_f1_by_hand_leaves_out_what_is_never_labelled() -> None:
    cases = [aegis("A", "B", faults=[("A", M11)]), aegis("A", "B", faults=[("A", M12)])]
    scores = score_faults(cases, [said(("A", M11), ("B", M11)), said(("A", M11))])
    assert macro(scores, "agent", "exact") == 1.0  # A: right twice; B is never labelled and does not count
    assert micro(scores, "agent", "exact") == pytest.approx(2 * 2 / (3 + 2))  # here it does
    assert macro(scores, "mode", "exact") == pytest.approx((2 * 1 / (2 + 1) + 0) / 2)


def test_namings() -> None:
    cases = [aegis("Assistant1", "Psychologist", faults=[("assistant1", M11), ("psychologist4", M12)])]
    scores = score_faults(cases, [said(("Assistant1", M11), ("Psychologist", M12))])
    assert [micro(scores, "agent", naming) for naming in ("exact", "normalised", "roster")] == [0, 0.5, 1]
    assert [micro(scores, "pair", naming) for naming in ("exact", "normalised", "roster")] == [0, 0.5, 1]
    assert micro(scores, "mode", "exact") == 1


def test_an_agent_with_two_modes_is_one_agent_and_nobody_is_none() -> None:
    twice = score_faults([aegis("A", faults=[("A", M11), ("A", M12)])], [said(("A", M11), ("A", M12))])
    assert [values.tolist() for values in twice.micro["agent", "exact"]] == [[1], [1], [1]]
    assert [values.tolist() for values in twice.micro["pair", "exact"]] == [[2], [2], [2]]
    nobody = score_faults([aegis("A", faults=[]), aegis("A", faults=[("A", None)])], [FaultGuess(), FaultGuess()])
    assert [values.tolist() for values in nobody.micro["agent", "exact"]] == [[0, 0], [0, 0], [0, 1]]
    assert [values.tolist() for values in nobody.micro["pair", "exact"]] == [[0, 0], [0, 0], [0, 0]]
    assert nobody.answered.tolist() == [0, 0]
    assert macro_f1(LabelCounts.of([frozenset()], [frozenset()]), Resampling(["q"], draws=0, seed=0), runs=1) is None


@pytest.mark.parametrize(
    ("ranks", "faulty", "area"),
    [
        ({"a": (0.9,), "b": (0.1,)}, "a", 1.0),
        ({"a": (0.9,), "b": (0.1,)}, "b", 0.0),
        ({}, "a", 0.5),
        ({"a": (0.2,), "b": (0.2,)}, "a", 0.5),
        ({"a": (0.5, 0.1), "b": (0.5, 0.3)}, "b", 1.0),
        ({"c": (0.5,)}, "bc", 0.75),  # of two faulty ones one is above a, the other level with it
    ],
)
def test_areas_by_hand(ranks: dict[str, tuple[float, ...]], faulty: str, area: float) -> None:
    speakers = ["a", "b", "c"] if "c" in ranks else ["a", "b"]
    assert within_run_auc(ranks, frozenset(faulty), speakers) == area
    assert math.isnan(within_run_auc(ranks, frozenset(speakers), speakers)), "where all are faulty"
    assert math.isnan(within_run_auc(ranks, frozenset(), speakers)), "where none is"


def test_areas_leave_out_people_and_agents_that_never_speak() -> None:
    one = aegis("User", "A", "Psychologist", faults=[("psychologist4", M11), ("Ghost", M12)])
    ranks = {"user": (1.0,), "psychologist": (0.5,), "a": (0.2,)}
    assert score_faults([one], [FaultGuess(ranks=ranks)]).auc.tolist() == [1.0]


def guess(attribution: Attribution | None) -> FaultGuess:
    return fault_guess_of(Answer(attribution=attribution, seconds=0))


def test_what_an_attribution_blames() -> None:
    faults = (AgentFault(agent="A", error_mode=M11, score=0.4), AgentFault(agent="B", score=0.3))
    candidates = (Candidate(agent="B", step=1, score=0.5), Candidate(agent="B", step=3, score=0.2))
    found = guess(Attribution(run_id="r", agent="B", step=1, faults=faults, candidates=candidates))
    assert found.agents == {"A", "B"}
    assert found.pairs == {("A", M11)}
    assert found.modes == {M11}
    assert found.ranks["a"] == (0.4, 0.0)
    assert found.ranks["b"] == (0.3, pytest.approx(0.7))
    alone = guess(
        Attribution(run_id="r", agent="B", step=1, error_mode=M23)
    )  # the answer counts, as no fault is listed
    assert (alone.agents, alone.pairs) == (frozenset({"B"}), frozenset({("B", M23)}))


def test_an_abstention_blames_nobody_but_still_ranks() -> None:
    faults = (AgentFault(agent="A", error_mode=M11, score=0.2),)
    found = guess(abstention(faults=faults, candidates=(Candidate(agent="C", step=0, score=0.1),)))
    assert (found.agents, found.pairs, found.modes) == (frozenset(), frozenset(), frozenset())
    assert found.ranks == {"a": (0.2, 0.0), "c": (0.0, 0.1)}
    assert guess(None).ranks == {}


# --- rows that read nothing ---
def test_every_speaker_and_mode() -> None:
    found = baselines.every_agent_and_mode(aegis("User", "A", "B", "A", faults=[]))
    assert (found.agents, len(found.pairs), len(found.modes)) == ({"A", "B"}, 28, 14)


def test_chance_by_hand() -> None:
    cases = [aegis("A", "B", faults=[("A", M11)]), aegis("A", "B", "C", faults=[("A", M11), ("B", M12)])]
    scores = baselines.random_fault(cases)
    right, named, gold = scores.micro["pair", "exact"]
    assert right.tolist() == pytest.approx([1 / 28, 2 / 42])
    assert (named.tolist(), gold.tolist()) == ([1, 1], [1, 2])
    assert scores.micro["agent", "exact"][0].tolist() == pytest.approx([1 / 2, 2 / 3])
    assert scores.micro["mode", "exact"][0].tolist() == pytest.approx([1 / 14, 2 / 14])
    assert scores.auc.tolist() == [0.5, 0.5]
    assert scores.labels is None


def test_the_roster_prior_learns_from_other_questions_alone() -> None:
    cases = [aegis("Node0", "Node1", faults=[("Node0", M11)], question=f"q{k}") for k in range(30)]
    lonely = aegis("Node0", "Node1", faults=[("Node1", M12)], question="other")
    found = baselines.roster_prior([*cases, lonely])
    assert found[-1].pairs == {("Node0", M11)}  # its own label is not looked at
    assert found[0].pairs == {("Node0", M11)}
    assert found[0].ranks["node0"] > found[0].ranks["node1"]
    one = [aegis("Node0", "Node1", faults=[("Node0", M11)], question="one") for _ in range(25)]
    two = [aegis("Node0", "Node1", faults=[("Node1", M12)], question="two") for _ in range(25)]
    ranks = [guess.ranks for guess in baselines.roster_prior([*one, *two])]
    assert (ranks[0], ranks[-1]) == ({"node1": (1.0,)}, {"node0": (1.0,)}), "no label of the same question counts"


def test_the_roster_prior_tells_teams_apart_and_falls_back_to_the_architecture() -> None:
    two = [aegis("Node0", "Node1", faults=[("Node0", M11)], question=f"a{k}") for k in range(30)]
    three = [aegis("Node0", "Node1", "Node2", faults=[("Node2", M12)], question=f"b{k}") for k in range(30)]
    rare = aegis("Node0", "Node3", faults=[("Node3", M13)], question="c")
    found = baselines.roster_prior([*two, *three, rare])
    assert found[0].pairs == {("Node0", M11)}
    assert found[30].pairs == {("Node2", M12)}
    assert {agent for agent, _ in found[-1].pairs} <= {"Node0", "Node2"}


def test_the_roster_prior_takes_the_threshold_that_is_best() -> None:
    cases = [
        aegis("Node0", "Node1", faults=[("Node0", M11), *([("Node1", M12)] if k % 3 == 0 else [])], question=f"q{k}")
        for k in range(60)
    ]
    found = baselines.roster_prior(cases)
    # blaming Node1 too would be right once in three: F1 = 2*(60+20)/(120+80) = 0.8; without it 2*60/(60+80) = 0.857
    assert {one.pairs for one in found} == {frozenset({("Node0", M11)})}
