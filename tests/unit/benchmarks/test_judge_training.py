"""The figures of a trained judge, and which runs count, are what the page says."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`_judge_parts`, `_judge_answers` and `_judge_report`."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return {name: importlib.import_module(f"_judge_{name}") for name in ("parts", "answers", "report")}


def a_choice(modules: Any, **changed: Any) -> Any:
    values: dict[str, Any] = {
        "run": "1",
        "question": 1,
        "team": "trio",
        "steps": (4, 0, 2),
        "weights": (0.5, 0.25, 0.25),
        "agents": ("Solver", "Critic", "Closer"),
        "right": (False, True, False),
    }
    return modules["parts"].Choice(**{**values, **changed})


def an_answer(modules: Any, order: tuple[int, ...], letter: int | None, shares: tuple[float, ...]) -> Any:
    logprobs = tuple(math.log(share) for share in shares)
    return modules["answers"].Answer(order=order, letter=letter, logprobs=logprobs)


def always_a(modules: Any) -> list[Any]:
    """The replies of a model that likes the letter A, whatever stands there."""
    orders = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
    return [an_answer(modules, order, 0, (0.8, 0.1, 0.1)) for order in orders]


def test_a_run_counts_where_some_of_three_are_right_and_others_wrong(modules: Any) -> None:
    kind_of = modules["parts"].kind_of
    assert kind_of((True, False, False)) == kind_of((True, True, False)) == "a choice"
    assert kind_of((True, True, True)) == "all three right"
    assert kind_of((False, False, False)) == "none of the three right"
    assert kind_of((True, False)) == "fewer than three candidates"


def test_a_liking_for_a_letter_cancels_out_over_the_orders(modules: Any) -> None:
    report, replies = modules["report"], always_a(modules)
    assert report.beliefs_of(replies) == pytest.approx([sum(map(math.log, (0.8, 0.1, 0.1))) / 3] * 3)
    assert report.one_reply(a_choice(modules), replies) == pytest.approx(1 / 3)


def test_the_letter_behind_a_step_is_found_in_every_order(modules: Any) -> None:
    replies = [
        an_answer(modules, order, order.index(1), tuple(0.8 if place == 1 else 0.1 for place in order))
        for order in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
    ]
    report, choice = modules["report"], a_choice(modules)
    assert report.three_orders(choice, replies)
    assert report.one_reply(choice, replies) == 1.0
    assert report.surprise(choice, replies) == pytest.approx(-math.log(0.8))
    assert report.three_orders(a_choice(modules, right=(True, False, True)), replies) is False


def test_the_weight_of_structural_decides_where_the_model_does_not(modules: Any) -> None:
    report, replies = modules["report"], always_a(modules)
    assert report.three_orders(a_choice(modules, weights=(0.1, 0.8, 0.1)), replies, weighed=True)
    assert not report.three_orders(a_choice(modules, weights=(0.8, 0.1, 0.1)), replies, weighed=True)


def test_a_reply_that_cannot_be_read_is_wrong_and_not_valid(modules: Any) -> None:
    report = modules["report"]
    replies = [an_answer(modules, (1, 0, 2), letter, (0.4, 0.3, 0.3)) for letter in (0, None)]
    assert report.valid_share(replies) == 0.5
    assert not report._is_steady([an_answer(modules, (1, 0, 2), None, (0.4, 0.3, 0.3))] * 3)
    assert report.one_reply(a_choice(modules), replies) == 0.5


def test_answers_without_reading_are_learnt_from_what_was_trained_on(modules: Any) -> None:
    trained = [a_choice(modules, run=str(k)) for k in range(4)]
    blind = modules["report"].blind_answers(trained)
    other = a_choice(modules, agents=("Closer", "Solver", "Critic"), right=(True, False, True))
    report = modules["report"]
    assert blind[report.FIRST](other) == 1.0
    assert blind[report.RANK](other) == 0.0  # the second by weight was right
    assert blind[report.PLACE](other) == 0.0  # step 0, the earliest, was right; here that is the second by weight
    assert blind[report.NAME](other) == 1.0  # Critic
    assert blind[report.LETTER](other) == pytest.approx(2 / 3)


def test_a_name_that_was_never_seen_counts_as_the_mean(modules: Any) -> None:
    shares = modules["report"].name_shares([a_choice(modules)])
    assert shares[""] == pytest.approx(1 / 3)
    assert shares["Critic"] == pytest.approx((1 + 2 / 3) / 3)
    assert shares["Solver"] == pytest.approx((0 + 2 / 3) / 3)


def test_the_report_counts_only_runs_that_every_model_answered(modules: Any) -> None:
    report, parts = modules["report"], modules["parts"]
    runs = [a_choice(modules, run=str(k), question=k) for k in range(3)]
    choices = {"sft": runs, "grpo": [], parts.OTHER_QUESTIONS: runs, parts.OTHER_TEAM: []}
    answers = {
        report.ZERO_SHOT: {one.run: always_a(modules) for one in runs},
        report.GRPO: {one.run: always_a(modules) for one in runs[:2]},
    }
    text = report.report(choices, answers, {name: {"kinds": {"a choice": len(one)}} for name, one in choices.items()})
    assert f"**{parts.OTHER_QUESTIONS}**: 2 runs of 2 questions (2 trio)" in text
    assert f"{report.GRPO} minus {report.ZERO_SHOT} | +0.0 (+0.0 to +0.0)" in text


def test_what_two_prompts_share_is_read_once(modules: Any) -> None:
    shared = modules["answers"]._shared
    assert shared([1, 2, 3], [1, 2, 4]) == 2
    assert shared([], [1]) == 0
    assert shared([1, 2, 3], [1, 2]) == 2


def test_the_guess_is_what_all_usual_replies_have_in_common(modules: Any) -> None:
    common_guess = modules["answers"].common_guess
    usual = [[1, 2, 7, 3], [1, 2, 8, 3]]
    assert common_guess(usual, []) == [1, 2]
    assert common_guess(usual, [1, 2]) == []
    assert common_guess(usual, [1, 2, 8]) == [3]
    assert common_guess(usual, [5]) == []
    assert common_guess(usual, [1, 2, 8, 3]) == []
