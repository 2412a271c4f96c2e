"""The rewriter: what the model is shown, and what is made of what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tracer_hooks.improvement import LLMRewriter, PromptCase, TriedPrompt, WrittenPrompt, most_characters
from tracer_hooks.schema import Usage

from ._runs import OWN, judged, task


class Model:
    """Answers in turn, and keeps what it was asked."""

    def __init__(self, *answers: str) -> None:
        self.asked: list[str] = []
        self._answers = answers

    def __call__(self, messages: Sequence[dict[str, str]]) -> dict[str, Any]:
        self.asked.append(messages[-1]["content"])
        text = self._answers[min(len(self.asked), len(self._answers)) - 1]
        return {"text": text, "usage": {"input_tokens": 10, "output_tokens": 2}}


def case(**more: Any) -> PromptCase:
    runs = more.pop("runs", tuple(judged(task(number)) for number in range(4)))
    own = more.pop("own", OWN["solver"])
    given = {"agent": "solver", "instructions": own, "own": own, "runs": runs, "others": ("planner",)}
    return PromptCase(**{**given, **more})


def written(*answers: str, **more: Any) -> tuple[WrittenPrompt, Model]:
    model = Model(*answers)
    return LLMRewriter(model).write(case(**more)), model


def test_a_sentence_is_added_and_the_rest_stays() -> None:
    found, _ = written("MISTAKE: it loses the carry.\nADD: Do not forget the carry.")
    assert found.text == "You are the solver. Add the numbers. Do not forget the carry. Write only the number."
    assert found.usage == Usage(input_tokens=10, output_tokens=2)


def test_the_model_is_shown_the_failures_with_evidence_and_feedback() -> None:
    _, model = written("ADD: Do not forget the carry.")
    shown = model.asked[0]
    assert "[2] Add the numbers." in shown
    assert "[3] Write only the number. (stays as it is)" in shown
    assert shown.count("Task: Anna has") == 4
    assert "planner said: add them" in shown
    assert "solver said: 29" in shown
    assert "Wrong: the sum is wrong" in shown
    assert "Result: it is not the sum" in shown
    assert "planner" in shown


def test_passed_runs_are_not_shown_and_do_not_count() -> None:
    runs = (judged(task(0)), judged(task(1)), judged(task(2), passed=True))
    found, model = written("ADD: x y z", runs=runs)
    assert found.text is None
    assert found.rejected == "2 failures are too few, expected 3"
    assert model.asked == []


def test_the_expected_answer_is_shown_to_nobody() -> None:
    runs = tuple(judged(task(number), reference="301 pens", said="299") for number in range(3))
    _, model = written("ADD: Do not forget the carry.", runs=runs)
    assert "301 pens" not in model.asked[0]


def test_a_sentence_that_tells_an_expected_answer_is_left_out() -> None:
    runs = tuple(judged(task(number), reference="four hundred", said="299") for number in range(3))
    found, _ = written("ADD: Say four hundred.\nADD: Do not forget the carry.", runs=runs)
    assert found.text is not None
    assert "four hundred" not in found.text
    assert "carry" in found.text


def test_where_all_is_about_single_tasks_the_model_is_asked_once_more() -> None:
    found, model = written("ADD: Add 100 and 200.", "ADD: Do not forget the carry.")
    assert found.text is not None
    assert "Your last answer could not be used: it speaks of single tasks only." in model.asked[1]
    assert found.usage == Usage(input_tokens=20, output_tokens=4)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("I'm sorry, but I cannot help with that.", "the model declined"),
        ("", "it holds no line of the asked forms"),
        ("?!?!", "it holds no line of the asked forms"),
        ("lorem ipsum " * 60, "it holds no line of the asked forms"),
        ("ADD: Add the numbers.", "it changes nothing"),
        # What a model of half a billion parameters once wrote.
        (
            "DROP n, for a sentence that does harm. CHANGE n: and a better sentence in the place of sentence [n] "
            '(added "one step" to the sentence)',
            "it repeats what it was asked",
        ),
        ("CHANGE 3: Explain at length.", "it changes nothing"),
        ("ADD: Add 100 and 200.", "it speaks of single tasks only"),
        ("ADD: " + "Mind the carry of every digit that you add " * 20, "characters then"),
    ],
)
def test_an_answer_that_cannot_be_used_is_refused_with_a_reason(answer: str, why: str) -> None:
    found, model = written(answer)
    assert found.text is None
    assert why in found.rejected
    assert len(model.asked) == 2


def test_what_was_tried_is_shown_and_not_proposed_again() -> None:
    before = "You are the solver. Add the numbers. Do not forget the carry. Write only the number."
    tried = (TriedPrompt(agent="solver", text=before, why="a score of 2 on its first tasks in all, and 3 before"),)
    found, model = written("ADD: Do not forget the carry.", "ADD: Write the numbers below each other.", tried=tried)
    assert "- Do not forget the carry. (a score of 2 on its first tasks in all, and 3 before)" in model.asked[0]
    assert "it was tried before" in model.asked[1]
    assert found.text is not None
    assert "below each other" in found.text


def test_instructions_do_not_pile_up_however_often_they_are_rewritten() -> None:
    text, own = OWN["solver"], OWN["solver"]
    for number in range(30):
        word = chr(ord("a") + number % 26) * 9
        found, model = written(f"ADD: Mind {word} and {word}{word} at every step.", instructions=text, own=own)
        text = found.text or text
    assert len(text) <= most_characters(own)
    assert "There is no room for more: change or drop sentences." in model.asked[0] or "At most" in model.asked[0]
    merged, _ = written("DROP 2\nCHANGE 3: Be careful with every digit.", instructions=text, own=own)
    assert merged.text is not None
    assert len(merged.text) < len(text)


def test_failures_whose_diagnosis_quotes_something_come_first() -> None:
    silent = tuple(judged(task(number), quote="") for number in range(5))
    telling = tuple(judged(task(10 + number)) for number in range(3))
    _, model = written("ADD: Do not forget the carry.", runs=(*silent, *telling))
    assert model.asked[0].index("Anna has 110") < model.asked[0].index("Anna has 100")
