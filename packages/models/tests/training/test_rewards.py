import math

import pytest

from tracer_hooks.schema import ErrorMode
from tracer_hooks_models.teaching import JudgeAnswer
from tracer_hooks_models.training.data import Gold
from tracer_hooks_models.training.rewards import RewardOptions, SetPoints, reward, set_reward, step_kernel, step_reward

M1, M2, M3 = ErrorMode.FM_1_1, ErrorMode.FM_2_2, ErrorMode.FM_3_3
GOLD = Gold(agent="Coder", step=4, pairs=(("Coder", M1),))


def said(agent, step, *pairs):
    return JudgeAnswer(agent=agent, step=step, pairs=pairs)


@pytest.mark.parametrize(("offset", "expected"), [(0, 1.0), (1, 0.607), (-1, 0.607), (2, 0.135), (3, 0.011)])
def test_a_step_counts_by_its_distance(offset, expected):
    assert step_kernel(offset) == pytest.approx(expected, abs=5e-4)
    assert step_kernel(2, sigma=2.0) == pytest.approx(math.exp(-0.5)), "a wider kernel forgives more"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, 0.0),  # the format gate
        (said("Coder", 4), 1.0),
        (said("Coder", 5), 0.5 * math.exp(-0.5) + 0.5),
        (said("Planner", 4), 0.5),
        (said("Planner", 6), 0.5 * math.exp(-2)),
        (said(None, None), 0.0),  # the judge found no fault
    ],
)
def test_step_and_agent_count_half_each(answer, expected):
    assert step_reward(answer, GOLD) == pytest.approx(expected)
    assert step_reward(said("Planner", 4), GOLD, share=0.8) == pytest.approx(0.8)
    assert step_reward(said("Coder", 99), GOLD, share=0.8) == pytest.approx(0.2)


def test_a_label_without_a_step_is_rewarded_by_its_pairs_and_one_with_a_step_by_the_step():
    label = Gold(agent="A", step=None, pairs=(("A", M1), ("B", M2)))
    answer = said("A", 3, ("A", M1), ("B", M2))
    assert reward(answer, label) == pytest.approx(1.0)
    assert reward(answer, label, RewardOptions(kind="step")) == 1.0  # the agent alone
    assert reward(said("Coder", 5, ("Coder", M2)), GOLD) == pytest.approx(0.5 * math.exp(-0.5) + 0.5)
    assert reward(said("Coder", 5, ("Coder", M2)), GOLD, RewardOptions(kind="set")) == pytest.approx(0.4 / 1.1)
    assert reward(None, label) == -1.0


@pytest.mark.parametrize(
    ("named", "gold", "expected"),
    [
        ([("A", M1)], [("A", M1)], 1.1 / 1.1),
        ([("A", M2)], [("A", M1)], (0.3 + 0.1) / 1.1),  # the right agent only
        ([("B", M1)], [("A", M1)], (0.1 + 0.1) / 1.1),  # the right mode only
        ([("B", M2)], [("A", M1)], (-0.2 + 0.1) / 1.1),  # a false positive
        ([], [("A", M1)], 0.1 / 1.1),
        ([("A", M1), ("B", M2)], [("A", M1)], (1.0 - 0.2 + 0.1) / 1.1),
        ([("A", M1)], [("A", M1), ("B", M2)], (1.0 + 0.1) / 2.1),
        # named twice: a false positive, a repeated agent and a repeated mode
        ([("A", M1), ("A", M1)], [("A", M1)], (1.0 - 0.2 - 0.3 - 0.15 + 0.1) / 1.1),
        # three where one is right: one beyond twice as many
        ([("A", M1), ("B", M2), ("C", M3)], [("A", M1)], (1.0 - 0.4 - 0.1 + 0.1) / 1.1),
        ([("A", M2)], [("A", None)], 1.0),  # the label says nothing of the mode
    ],
)
def test_a_set_is_rewarded_by_hand_counted_points(named, gold, expected):
    assert set_reward(named, gold) == pytest.approx(expected)
    assert set_reward(named[::-1], gold) == pytest.approx(expected)
    assert set_reward([("A", M2)], [("A", M1)], SetPoints(agent=0.5, readable=0.0)) == pytest.approx(0.5)
    assert set_reward(None, [("A", M1)], SetPoints(malformed=-2.0)) == -2.0


@pytest.mark.parametrize(
    "gold",
    [
        [("A", M1), ("A", M2)],  # an agent twice
        [("A", M1), ("B", M1)],  # a mode twice
        [("A", M1), ("A", M2), ("B", M1), ("B", M2)],
    ],
)
def test_a_perfect_answer_gets_one_also_where_the_label_repeats_an_agent_or_a_mode(gold):
    assert set_reward(gold, gold) == pytest.approx(1.0)
    assert set_reward(list(reversed(gold)), gold) == pytest.approx(1.0)


def test_nothing_is_better_than_the_perfect_answer():
    gold = [("A", M1), ("B", M2)]
    pairs = [(agent, mode) for agent in "ABC" for mode in (M1, M2, M3)]
    answers = [[one] for one in pairs] + [[one, other] for one in pairs for other in pairs]
    answers += [[*gold, one] for one in pairs]
    best = max(answers, key=lambda answer: set_reward(answer, gold))
    assert sorted(best) == sorted(gold)
    assert set_reward(best, gold) == pytest.approx(1.0)
