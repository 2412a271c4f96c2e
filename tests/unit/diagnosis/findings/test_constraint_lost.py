"""Conditions of the task: broken by the answer, left out of a delegation, or kept."""

from typing import Any

import pytest

from tracer_hooks.diagnosis import diagnose_trajectory
from tracer_hooks.schema import Finding, FindingKind, RunOutcome, Step, StepInput, StepKind, Trajectory

from ._runs import call, found, run_of, say

DINNER = "Plan a dinner for six without nuts and without pork."
HAZELNUT = (
    say("lead", "starter_chef: a light starter without nuts and without pork, please."),
    say("starter_chef", "Cucumber soup with dill."),
    say("lead", "pastry_chef: a dessert for six, please."),
    say("pastry_chef", "Hazelnut semifreddo with cherries."),
    say("host", "We serve cucumber soup and hazelnut semifreddo."),
)


def lost(run: Trajectory) -> list[Finding]:
    return found(run, FindingKind.CONSTRAINT_LOST)


def answered(task: str, *said: str, **fields: Any) -> Trajectory:
    return run_of(
        *[say(f"agent_{at}", text) for at, text in enumerate(said)], task=task, final_output=said[-1], **fields
    )


BROKEN = [
    (
        "Book a hotel in Lund for at most 200 EUR.",
        ("Hotel Astor takes 240 EUR.", "Booked: Hotel Astor, 240 EUR."),
        0,
        "240 EUR",
    ),
    ("Rent a boat for less than 3 hours.", ("We take the boat for 5 hours.",), 0, "5 hours"),
    (
        "Find a slot. It must not start before 11:00.",
        ("Free: 9:00, 11:30, 14:00.", "It is at 9:00.", "Meet at 9:00."),
        1,
        "9:00",
    ),
    ("Plan the pickup, no later than 18:30.", ("The van comes at 19:15.",), 0, "19:15"),
    (
        "Write a slogan of at most six words.",
        ("Hi.", "Every bottle goes back to the place where it belongs."),
        1,
        "10 words",
    ),
    ("Answer in JSON with the field city.", ("The city is Lund.",), 0, "The city is Lund."),
    ("Suggest a lunch without pork.", ("Roast pork with kale.", "Lunch is pork with kale."), 0, "pork"),
]


@pytest.mark.parametrize(("task", "said", "step", "claimed"), BROKEN)
def test_a_condition_that_the_answer_breaks_is_told_where_it_was_broken_first(
    task: str, said: tuple[str, ...], step: int, claimed: str
) -> None:
    (told,) = lost(answered(task, *said))
    assert (told.step, told.detail, told.leads_to_answer) == (step, "broken", True)
    assert told.values is not None
    assert told.values.claimed == claimed
    assert told.values.right is not None
    assert told.values.right in task
    assert told.quote in said[step]


KEPT = [
    ("Book a hotel in Lund for at most 200 EUR.", "Booked: Hotel Astor, 180 EUR."),
    ("Book a hotel in Lund for at most 200 EUR.", "Hotel Astor: 180 EUR, 240 EUR with breakfast."),
    ("Book a hotel in Lund for at most 200 EUR.", "There is none; the cheapest takes 240 EUR."),
    ("Book a hotel for at most 200 EUR per night.", "Hotel Astor, two nights, 360 EUR."),
    ("If the parcel weighs at most 30 kg, it costs 10 EUR. What does it cost?", "It weighs 42 kg: 19 EUR."),
    ("Which movie is under 150 minutes?", "Heat, which takes 170 minutes."),
    ("Find a slot. It must not start before 11:00.", "Meet at 11:00."),
    ("Find a slot. It must not start before 11:00.", "Anna is busy from 9:00 to 10:00 and from 12:00 to 13:00."),
    ("Write a slogan of at most six words.", 'The final slogan that we all agreed on: "Every bottle goes home."'),
    ("Answer in JSON.", 'Here it is:\n```json\n{"city": "Lund"}\n```'),
    ("Suggest a lunch without pork.", "Kale stew; it contains no pork."),
    ("Suggest a drink without ice.", "Orange juice at the office, good service."),
    ("Give the phrase without punctuation.", "Here be dragons"),
]


@pytest.mark.parametrize(("task", "answer"), KEPT)
def test_a_condition_that_may_be_kept_is_not_told(task: str, answer: str) -> None:
    assert lost(answered(task, answer)) == []


@pytest.mark.parametrize(("task", "said"), [case[:2] for case in BROKEN])
def test_a_run_that_passed_has_no_lost_condition(task: str, said: tuple[str, ...]) -> None:
    assert lost(answered(task, *said, outcome=RunOutcome.SUCCEEDED)) == []
    assert not any(told.leads_to_answer for told in lost(answered(task, *said, outcome=RunOutcome.UNKNOWN)))


def test_who_delegates_without_a_condition_that_it_tells_others_is_to_blame() -> None:
    run = run_of(*HAZELNUT, task=DINNER, reason="check: returned False")
    (told,) = lost(run)
    assert (told.agent, told.step, told.detail) == ("lead", 2, "delegated_without")
    assert told.text == "'lead' asks 'pastry_chef' in step 2 without 'without nuts'; the answer has 'hazelnut'."
    answer = diagnose_trajectory(run)
    assert (answer.agent, answer.step, answer.certainty) == ("lead", 2, "likely")


def test_an_agent_that_was_shown_the_task_answers_for_itself() -> None:
    shown = StepInput(source="user", text=DINNER)
    chef = say("pastry_chef", "Hazelnut semifreddo.").model_copy(update={"inputs": (shown,)})
    (told,) = lost(run_of(say("lead", "pastry_chef: a dessert, please."), chef, task=DINNER))
    assert (told.agent, told.detail) == ("pastry_chef", "broken")


@pytest.mark.parametrize(
    "asks",
    [
        say("lead", "Pastry chef, we need a dessert for six."),
        call("lead", "delegate", {"coworker": "pastry_chef", "task": "A dessert for six."}),
        Step(index=0, agent="lead", kind=StepKind.HANDOFF, content="A dessert for six.", recipient="pastry_chef"),
    ],
)
def test_a_delegation_may_be_a_message_a_call_or_a_hand_over(asks: Step) -> None:
    (told,) = lost(run_of(asks, say("pastry_chef", "Hazelnut semifreddo."), task=DINNER))
    assert (told.agent, told.step) == ("lead", 0)


ROOM = "Find a room for 40 people on 9 September that is accessible by wheelchair and costs at most 600 EUR."


def test_a_delegation_that_repeats_all_but_one_condition_is_told_and_proves_nothing() -> None:
    asked = say("lead", "scout, find a room for 40 people on 9 September that costs at most 600 EUR.")
    (told,) = lost(run_of(asked, say("scout", "Loft 4 takes 480 EUR."), task=ROOM))
    assert told.text == "The task says 'is accessible by wheelchair'; what 'lead' asks 'scout' in step 0 does not."
    assert (told.detail, told.leads_to_answer) == ("left_out", False)


@pytest.mark.parametrize(
    "asked",
    [
        "scout, find a room for 40 people on 9 September that costs at most 600 EUR and admits a wheelchair.",
        "scout, which rooms are there?",
    ],
)
def test_other_words_and_another_question_leave_nothing_out(asked: str) -> None:
    assert lost(run_of(say("lead", asked), say("scout", "Loft 4 takes 480 EUR."), task=ROOM)) == []


@pytest.mark.parametrize(
    "run",
    [
        run_of(say("a", "<b>pork</b>\x00\ufffd" * 20_000), task=DINNER),
        run_of(say("a", "9 EUR, " * 150_000), task="Book it for at most 5 EUR."),
        run_of(say("a", "pork"), task=""),
        run_of(say("a", ""), task="Answer in JSON."),
        Trajectory(run_id="empty", task=DINNER, outcome=RunOutcome.FAILED),
    ],
)
def test_hostile_runs_do_no_harm(run: Trajectory) -> None:
    assert all(len(told.quote) <= 400 and told.quote in run.steps[told.step or 0].content for told in lost(run))
