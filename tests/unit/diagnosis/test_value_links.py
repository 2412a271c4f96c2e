"""The way of the answer's values as a diagnosis records it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tracer_hooks.diagnosis import fault_of_answer, get_attributor
from tracer_hooks.diagnosis._provenance import provenance_of
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis.ranking._answers import MOST_LINKS, value_links
from tracer_hooks.schema import Attribution, RunOutcome, Step, StepKind, ToolCall, Trajectory, ValueLink, ValueOrigin


def run_of(task: str, *steps: tuple[str, str | ToolCall]) -> Trajectory:
    acts = []
    for index, (agent, act) in enumerate(steps):
        if isinstance(act, ToolCall):
            acts.append(Step(index=index, agent=agent, kind=StepKind.TOOL_CALL, tool_calls=(act,)))
        else:
            acts.append(Step(index=index, agent=agent, content=act))
    return Trajectory(
        run_id="r",
        team="office",
        task=task,
        steps=tuple(acts),
        outcome=RunOutcome.FAILED,
        outcome_reason="check: the check returned False",
        final_output=acts[-1].content,
    )


def call(name: str, result: str, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, arguments=arguments, result=result)


def links_of(run: Trajectory, step: int) -> set[tuple[str, int, str, int | None]]:
    return {(one.value, one.step, one.origin.value, one.source) for one in value_links(RunReading(run), step)}


TRIP = "What do three nights and two tickets cost?"
WRONG_SUM = run_of(
    TRIP,
    ("scout", "The hotel is 120 EUR a night, the train 55 EUR."),
    ("accountant", "3 * 120 EUR + 2 * 55 EUR = 430 EUR"),
    ("editor", "Thanks, I will pass that on."),
    ("writer", "Your trip costs 430 EUR."),
)


def test_a_wrong_sum_contradicts_the_step_that_gave_its_terms_and_is_copied_from_there() -> None:
    (wrong, copied) = value_links(RunReading(WRONG_SUM), 1)
    assert (wrong.value, wrong.step, wrong.origin, wrong.source) == ("430 EUR", 1, ValueOrigin.CONTRADICTING, 0)
    assert wrong.note == "3 \u00d7 120 EUR + 2 \u00d7 55 EUR is 470 EUR, not 430 EUR"
    assert copied == ValueLink(value="430 EUR", step=3, origin=ValueOrigin.COPIED, source=1)


def test_a_right_sum_is_derived_from_what_a_tool_returned_and_what_the_task_gives() -> None:
    run = run_of(
        "The pin sees 142 MPa. What is its safety factor?",
        ("materials", call("yield_of", "510 MPa", grade="S355")),
        ("stress", "n = 510 MPa / 142 MPa = 3.59"),
        ("reporter", "The factor is 3.59."),
    )
    found = links_of(run, 1)
    assert {("510 MPa", 0, "observed", None), ("3.59", 1, "derived", 0), ("3.59", 2, "copied", 1)} <= found
    assert ("142 MPa", 1, "given", None) in found
    derived = [one.note for one in value_links(RunReading(run), 1) if one.origin is ValueOrigin.DERIVED]
    assert sorted(derived) == ["from 142 MPa", "from 510 MPa"]


def test_a_dropped_value_is_linked_to_the_step_that_lists_it() -> None:
    run = run_of(
        "What do the four books cost together?",
        ("clerk", "The books cost 12.40 EUR, 31.75 EUR, 8.90 EUR and 22.15 EUR."),
        ("accountant", "12.40 EUR + 31.75 EUR + 22.15 EUR = 66.30 EUR"),
        ("writer", "The books cost 66.30 EUR."),
    )
    found = links_of(run, 1)
    assert ("8.90 EUR", 1, "dropped", 0) in found
    assert ("66.30 EUR", 2, "copied", 1) in found


def test_a_value_that_nothing_gives_is_unsupported() -> None:
    run = run_of("What does the lamp weigh?", ("clerk", "I have found the lamp."), ("writer", "It weighs 17.35 kg."))
    assert ("17.35 kg", 1, "unsupported", None) in links_of(run, 1)


def test_a_wrong_argument_is_told_with_the_reply_that_it_got() -> None:
    run = run_of(
        "How much is the cash box in euros?",
        ("treasurer", "There are 5480 CZK in the cash box."),
        ("exchanger", call("convert", "233.60 EUR", amount=5840, currency="CZK")),
        ("guide", "We have 233.60 EUR."),
    )
    links = value_links(RunReading(run), 1)
    assert ("5840", 1, "contradicting", 0) in links_of(run, 1)
    assert [one.note for one in links if one.origin is ValueOrigin.OBSERVED] == ["returned by 'convert'"]


def test_every_link_is_of_the_run_in_order_once_and_goes_forward() -> None:
    steps = [("clerk", f"Item {number} costs {number + 40}.25 EUR.") for number in range(60)]
    total = " + ".join(f"{number + 40}.25 EUR" for number in range(60))
    run = run_of("What does all of it cost?", *steps, ("accountant", f"{total} = 9999.99 EUR"), ("w", "9999.99 EUR"))
    links = value_links(RunReading(run), 60)
    assert 2 <= len(links) <= MOST_LINKS
    assert [one.step for one in links] == sorted(one.step for one in links)
    assert len({(one.value, one.step, one.origin, one.source) for one in links}) == len(links)
    assert all(one.source is None or one.source < one.step < len(run.steps) for one in links)


def test_of_many_steps_that_repeat_a_value_the_first_and_the_last_are_kept() -> None:
    chat = [("clerk", "The fee is 86.40 EUR, as I said.") for _ in range(40)]
    run = run_of("What is the fee?", ("desk", call("fee", "86.40 EUR")), *chat)
    assert [one.step for one in value_links(RunReading(run), 0) if one.origin is ValueOrigin.COPIED] == [1, 2, 3, 4, 40]


@pytest.mark.parametrize("words", ["Hello, how are you?", "", "Hi!"])
def test_a_run_without_values_has_no_links(words: str) -> None:
    assert value_links(RunReading(run_of("Greet the guest.", ("a", words), ("b", "Hi!"))), 0) == ()


@pytest.mark.parametrize("name", ["structural", "ensemble"])
def test_the_diagnosis_carries_the_links(name: str) -> None:
    answer = get_attributor(name).attribute(WRONG_SUM)
    assert {(one.step, one.origin) for one in answer.provenance} >= {
        (1, ValueOrigin.CONTRADICTING),
        (3, ValueOrigin.COPIED),
    }


@pytest.mark.parametrize(("step", "source"), [(4, None), (2, 4)])
def test_a_link_to_a_step_that_the_run_does_not_have_is_a_fault(step: int, source: int | None) -> None:
    link = ValueLink(value="430 EUR", step=step, origin=ValueOrigin.COPIED, source=source)
    answer = Attribution(run_id="r", agent="writer", step=3, provenance=(link,))
    assert fault_of_answer(answer, WRONG_SUM) == "named step 4, expected one from 0 and below 4"


def test_the_links_of_a_long_run_take_little_time(cpu_seconds: Callable[[Callable[[int], object]], float]) -> None:
    chat = [("clerk", f"Position {number}: {number * 7 % 911}.50 EUR, 86.40 EUR in all.") for number in range(2000)]
    trace = RunReading(run_of("What is the fee?", ("desk", call("fee", "86.40 EUR")), *chat))
    provenance_of(trace)
    assert cpu_seconds(lambda fresh: value_links(trace, 0)) < 0.2
