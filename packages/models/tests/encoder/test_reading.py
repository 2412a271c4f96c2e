from typing import Any

import pytest

from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import Step, StepInput, ToolCall, Trajectory
from tracer_hooks_models.encoder._texts import Budget, StepTokenizer, read, text_of


def trajectory(*steps: Any, task: str = "solve the sum") -> Trajectory:
    return Trajectory(run_id="r", task=task, steps=tuple(Step(index=k, **step) for k, step in enumerate(steps)))


def test_a_step_is_read_beside_what_it_answers_and_the_reply() -> None:
    found = text_of(
        trajectory(
            {"agent": "A", "content": "two and three"},
            {"agent": "B", "content": "is five"},
            {"agent": "C", "content": "check it", "inputs": (StepInput(source="A", step=0),)},
        )
    )
    second, third = found.steps[1], found.steps[2]
    assert (second.task, second.before, second.own, second.after) == (
        "solve the sum",
        "two and three",
        "is five",
        "check it",
    )
    assert (third.before, third.after) == ("two and three", "")


@pytest.mark.parametrize(
    ("content", "read_as"),
    [
        ("[{'type': 'text', 'text': 'the answer\\nis five'}]", "the answer\nis five"),  # parts, logged as source
        ("[{'text' is not closed", "[{'text' is not closed"),
    ],
)
def test_content_parts_are_read_as_text(content: str, read_as: str) -> None:
    assert text_of(trajectory({"agent": "A", "content": content})).steps[0].own == read_as


def test_tools_and_errors_are_part_of_a_step() -> None:
    call = ToolCall(name="add", arguments={"a": 2}, error="timeout")
    own = text_of(trajectory({"agent": "A", "content": "adding", "tool_calls": (call,), "error": "stopped"})).steps[0]
    for part in ("adding", "add(", "error: timeout", "error: stopped"):
        assert part in own.own


def test_people_and_system_prompts_are_no_candidates() -> None:
    found = text_of(
        trajectory(
            {"agent": "System", "content": "be good"},
            {"agent": "user", "content": "go"},
            {"agent": "A", "content": "five"},
        )
    )
    assert found.speakers == (-1, -1, 0)
    assert found.agents == ("A",)


def test_long_words_are_cut_in_the_middle_and_every_part_keeps_its_budget(base) -> None:
    budget = Budget(task=2, before=3, own_head=4, own_tail=2, after=1)
    given = text_of(
        trajectory(
            {"agent": "A", "content": "two three five answer"},
            {"agent": "B", "content": "solve the sum of two and three wrong"},
            {"agent": "A", "content": "banana nonsense"},
        )
    )
    tokenizer = StepTokenizer(base, budget)
    found = tokenizer.tokens_of(given.steps)[1]
    words = [tokenizer._tokenizer.id_to_token(k) for k in found.ids]
    assert " ".join(words) == (  # type: ignore[arg-type]
        "[CLS] solve the [SEP] three five answer [SEP] solve the sum of [SEP] three wrong [SEP] banana [SEP]"
    )
    assert " ".join(words[found.own[0] : found.own[1]]) == "solve the sum of [SEP] three wrong"  # type: ignore[arg-type]


def test_features_stand_in_the_order_that_is_asked_for(base) -> None:
    run = trajectory({"agent": "user", "content": "solve"}, {"agent": "A", "content": "five"}, {"agent": "B"})
    names = ("position: fraction of the run", "position: step 1")
    found = read(run, StepTokenizer(base), names)
    swapped = read(run, StepTokenizer(base), names[::-1])
    assert found.steps.tolist() == [1, 2]
    assert found.features.tolist() == [row[::-1] for row in swapped.features.tolist()]
    assert found.features.any()
    with pytest.raises(AttributionError, match="'position: phase of the moon'"):
        read(run, StepTokenizer(base), ("position: phase of the moon",))
