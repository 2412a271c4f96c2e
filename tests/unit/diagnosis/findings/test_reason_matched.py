"""Words of the check's reason: an agent, what the answer leaves out, what it should not have; what is named then."""

from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.diagnosis import diagnose_trajectory
from tracer_hooks.schema import Finding, FindingKind, RunOutcome, Step, Trajectory

from ._runs import call, found, run_of, say

BRIDGE = (
    say("planner", "The limit is 18 t, tolls are 6,300 EUR a month."),
    say("inspector", "The north cable is corroded; lorries must not cross."),
    say("editor", "Yes, up to 18 t."),
)
TRIP = (
    say("Data Analyst", "The ferry leaves at 16:05, order NB-2041."),
    say("scout", "Gartensaal is the only accessible room."),
    say("writer", "The ferry leaves in the afternoon; we take Loft 4."),
)


def matched(reason: str, *steps: Step, **fields: Any) -> list[Finding]:
    return found(run_of(*steps, reason=reason, **fields), FindingKind.REASON_MATCHED)


@pytest.mark.parametrize(
    ("reason", "steps", "agent"),
    [
        ("check: the planner used an old limit", BRIDGE, "planner"),
        ("Inspector's report is too short", BRIDGE, "inspector"),
        ("check: data_analyst read the wrong table", TRIP, "Data Analyst"),
        ("The Data Analyst took the wrong ferry", TRIP, "Data Analyst"),
    ],
)
def test_an_agent_that_the_reason_names_is_told_and_ranked_first(
    reason: str, steps: tuple[Step, ...], agent: str
) -> None:
    (told,) = matched(reason, *steps)
    assert (told.detail, told.agent, told.leads_to_answer) == ("agent", agent, True)
    answer = diagnose_trajectory(run_of(*steps, reason=reason))
    assert answer.agent == agent
    assert answer.certainty == "weak"


@pytest.mark.parametrize(
    ("reason", "steps", "source", "term"),
    [
        ("check: the corroded cable is not mentioned", BRIDGE, 1, "'corroded' and 'cable'"),
        ("AssertionError: 'Gartensaal' not in answer", TRIP, 1, "'Gartensaal'"),
        ("check: 16:05 is missing", TRIP, 0, "'16:05'"),
        ("The answer lacks the order NB-2041", TRIP, 0, "'NB-2041'"),
    ],
)
def test_what_the_answer_leaves_out_is_told_at_its_author(
    reason: str, steps: tuple[Step, ...], source: int, term: str
) -> None:
    (told,) = matched(reason, *steps)
    said, author = steps[source].agent, steps[-1].agent
    assert (told.detail, told.step, told.agent) == ("missing", len(steps) - 1, author)
    assert told.text == f"{said!r} says {term} in step {source}; the answer of {author!r} leaves it out."


@pytest.mark.parametrize(
    "reason", ["AssertionError: 'Loft 4' in answer", "check: 'Loft 4' is wrong", "The answer must not name 'Loft 4'"]
)
def test_a_part_that_the_answer_should_not_have_is_told_at_its_author(reason: str) -> None:
    steps = (say("scout", "Loft 4 is free."), *TRIP[2:])
    (told,) = matched(reason, *steps)
    assert (told.detail, told.agent) == ("wrong_part", "writer")
    assert (
        told.text == "The check rejects 'Loft 4', and the answer of 'writer' has it; 'scout' says it first, in step 0."
    )


@pytest.mark.parametrize(
    "reason",
    [
        "check: returned False",
        "expected 470, got 18",
        "check: the answer is too long",
        "check: the planner and the inspector disagree",
        "check: the ozone value is not mentioned",
        "check: the tolls are wrong",
        "x" * 5_000,
    ],
)
def test_a_reason_that_names_nothing_of_the_run_is_not_matched(reason: str) -> None:
    assert matched(reason, *BRIDGE) == []


def test_what_several_agents_say_and_names_of_the_task_are_not_matched() -> None:
    twice = (*BRIDGE[:2], say("clerk", "I saw the corroded cable, too."), BRIDGE[2])
    assert matched("check: the corroded cable is not mentioned", *twice) == []
    assert matched("check: the planner is missing", *BRIDGE, task="Who is the planner of the bridge?") == []
    assert matched("check: the planner used an old limit", *BRIDGE, outcome=RunOutcome.SUCCEEDED) == []


FERRY = run_of(
    call("pilot", "ferries", {"origin": "Oslo", "destination": "Kiel"}, '{"dep":"13:40"}'),
    say("pilot", "It leaves at 13:40."),
    say("writer", "Your ferry leaves at 13:40.\nTraceback (most recent call last):\n  line 412\nKeyError: 'x'"),
    task="When does the ferry from Kiel to Oslo leave?",
)
CLOCKS = run_of(
    say("timer", "2 h + 25 min = 2 h 45 min, and 19:30 less 2 h 45 min is 16:45."),
    say("host", "It has to go in at 16:45."),
    task="Roasting takes 2 h and the rest 25 min. We eat at 19:30. When does it go in?",
)


@pytest.mark.parametrize(("run", "expected", "got"), [(FERRY, "16:05", "13:40"), (CLOCKS, "17:05", "16:45")])
@pytest.mark.parametrize("by", ["expected", "reason", "both"])
def test_telling_more_keeps_what_was_found(run: Trajectory, expected: str, got: str, by: str) -> None:
    plain = tracer_hooks.diagnose(run)
    reason = f"check: expected {expected}, got {got}" if by != "expected" else None
    told = tracer_hooks.diagnose(
        run.model_copy(update={"outcome_reason": reason}), expected=expected if by != "reason" else None
    )
    assert (told.agent, told.step, told.expected) == (plain.agent, plain.step, expected)
    assert told.confidence >= plain.confidence
    kept = {(each.kind, each.step) for each in plain.findings if each.leads_to_answer}
    assert kept <= {(each.kind, each.step) for each in told.findings}
    assert "Traceback" not in str(told.got)


@pytest.mark.parametrize(
    ("reason", "named"),
    [
        ("the total is not what the adder has", None),
        ("the total differs from the adder's", None),
        ("it does not match the adder", None),
        ("the adder took another rate than the adder should", "adder"),
        ("the rate of the adder was not taken as the table says", "adder"),
    ],
)
def test_an_agent_whose_words_the_answer_is_held_against_is_not_accused(reason: str, named: str | None) -> None:
    steps = say("adder", "It is 165.50."), say("writer", "The total is 156.50.")
    assert [each.agent for each in matched(reason, *steps) if each.detail == "agent"] == ([named] if named else [])
