import itertools
import re

import pytest

from tracer_hooks_lab.suites import get_suite
from tracer_hooks_lab.suites._logic import SYLLOGISMS, holds, possible_worlds

FORMS = ("All {} are {}", "No {} are {}", "Some {} are {}", "Some {} are not {}")


def test_easy_word_sums_have_two_operations_on_small_whole_numbers() -> None:
    for task in get_suite("word_sums").tasks(100, seed=6):
        numbers = [int(number) for number in re.findall(r"\d+", task.text)]
        assert 2 <= len(numbers) <= 3
        assert max(numbers) <= 20
        assert "%" not in task.text
        quantities = task.data["quantities"]
        assert isinstance(quantities, list)
        assert len(quantities) == 2
        assert quantities[0] == numbers[0] * numbers[1]
        assert str(quantities[-1]) == task.reference


def test_word_sums_can_be_worked_out_from_their_text() -> None:
    for task in get_suite("word_sums").tasks(200, seed=7, difficulty="hard"):
        value = 0.0
        for sentence in task.text.split("\n")[0].split(". ")[:-1]:
            value = worked_out(sentence, value)
        assert str(round(value, 9)).removesuffix(".0") == task.reference, task.text


def worked_out(sentence: str, value: float) -> float:
    """A reading of one sentence that shares nothing with the generator."""
    numbers = [int(number) for number in re.findall(r"\d+", sentence)]
    if "%" in sentence:
        sign = 1 if "tax" in sentence or "longer" in sentence else -1
        return value + sign * value * numbers[0] / 100
    if not numbers:
        return value * 2
    amount = numbers[0] * numbers[1] if len(numbers) == 2 else numbers[0]
    loses = re.search(r"are sold|buy |voucher|spent|bought|rotten|children get", sentence)
    return value - amount if loses else value + amount


def test_syllogisms_agree_with_trying_every_world() -> None:
    kinds = range(1, 8)
    every = [
        [frozenset(kind for kind in world if kind >> place & 1) for place in range(3)]
        for size in range(1, 8)
        for world in itertools.combinations(kinds, size)
    ]
    every = [groups for groups in every if all(groups)]
    for forms in itertools.product(FORMS, repeat=2):
        for first, second in itertools.product(((0, 1), (1, 0)), ((1, 2), (2, 1))):
            premises = [(forms[0], *first), (forms[1], *second)]
            true_worlds = [world for world in every if all(holds(premise, world) for premise in premises)]
            few = possible_worlds(premises, 3)
            assert bool(few) is bool(true_worlds)
            for form, pair in itertools.product(FORMS, ((0, 2), (2, 0))):
                conclusion = (form, *pair)
                assert all(holds(conclusion, one) for one in few) is all(holds(conclusion, one) for one in true_worlds)


@pytest.mark.parametrize("difficulty", ["easy", "medium", "hard"])
def test_half_of_the_syllogisms_are_true(difficulty: str) -> None:
    problems = [SYLLOGISMS.draw(seed, difficulty) for seed in range(80)]  # type: ignore[arg-type]
    answers = [problem.reference for problem in problems if problem is not None]
    assert len(answers) == 80
    assert 25 <= answers.count("Yes") <= 55


def test_arithmetic_agrees_with_python() -> None:
    pytest.importorskip("reasoning_gym")
    checked = 0
    for task in get_suite("arithmetic").tasks(160, seed=8, difficulty="medium"):
        found = re.match(r"Calculate (.*)", task.text)
        if found:
            checked += 1
            assert abs(eval(found[1]) - float(task.reference or "nan")) < 1e-6, task
    assert checked >= 70


def test_words_to_sort_and_spell_have_exact_answers() -> None:
    pytest.importorskip("reasoning_gym")
    for task in get_suite("logic").tasks(120, seed=8, difficulty="medium"):
        question, reference = task.text.split("\n")[0], task.reference or ""
        if task.data["generator"] == "word_sorting":
            words = question.split(": ")[1].split(", ")
            assert reference.split(", ") == sorted(words, reverse="descending" in question)
        elif task.data["generator"] == "number_sorting":
            numbers = [float(number) for number in question.split(": ")[1].split(", ")]
            assert [float(one) for one in reference.split(", ")] == sorted(numbers, reverse="descending" in question)
        elif task.data["generator"] == "letter_counting":
            letter, text = re.findall(r'"([^"]*)"', question)
            assert reference == str(text.lower().count(letter))
