"""That no repair tells the expected answer, whoever wrote it, and that no harmless text is taken for one that does."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tracer_hooks.feedback import FeedbackInTask, RewrittenInstructions
from tracer_hooks.repairs import Failure, Repair, RepairTarget, Secrets, leaks, masked_feedback
from tracer_hooks.schema import AgentSpec, Attribution, Evidence, RunOutcome, Step, Trajectory

PROMPT = "You are a solver. Reply in 3 lines."


def run(content: str, *, reference: str | None, reason: str) -> Trajectory:
    return Trajectory(
        run_id="r",
        task="Turn the list round.",
        agents=(AgentSpec(name="solver", instructions=PROMPT),),
        steps=(Step(index=0, agent="solver", content=content),),
        outcome=RunOutcome.FAILED,
        outcome_reason=reason,
        reference=reference,
    )


def blamed(quote: str, why: str = "It is wrong.") -> Attribution:
    return Attribution(
        run_id="r", agent="solver", step=0, evidence=(Evidence(step=0, quote=quote, why=why, kind="value"),)
    )


def to_solver(text: str, target: RepairTarget = RepairTarget.MESSAGE) -> Repair:
    return Repair(strategy="third party", target=target, agent="solver", text=text)


@pytest.mark.parametrize(
    "target", [RepairTarget.MESSAGE, RepairTarget.INSTRUCTIONS, RepairTarget.REPLY, RepairTarget.TASK]
)
@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("Rumpelstiltskin", "Say rumpelstiltskin."),
        ("1700", "Reply 1,700 this time."),
        ("17", "It is seventeen."),
        ("2024-05-01", "The day is May 1, 2024."),
        ("red, green", "Name green and red."),
    ],
)
def test_a_third_party_s_text_that_tells_the_answer_is_noticed(target: RepairTarget, reference: str, text: str) -> None:
    repair = to_solver(f"{PROMPT}\n{text}" if target is RepairTarget.INSTRUCTIONS else text, target)
    assert leaks(repair, Secrets(reference), instructions=PROMPT)
    assert not leaks(repair, Secrets("something else"), instructions=PROMPT)
    assert not leaks(repair, Secrets(None), instructions=PROMPT)


def test_what_the_agent_knew_before_is_no_news() -> None:
    lesson = to_solver(f"{PROMPT}\n\nMind the order.", RepairTarget.INSTRUCTIONS)
    assert not leaks(lesson, Secrets("3"), instructions=PROMPT)
    assert leaks(lesson, Secrets("3"), instructions=None)
    assert leaks(to_solver(f"{PROMPT}\n\nReply 3.", RepairTarget.INSTRUCTIONS), Secrets("3"), instructions=PROMPT)


def test_what_the_user_wrote_for_the_team_is_not_checked_and_the_rest_is() -> None:
    assert not leaks(to_solver("It failed: think of 4711. Be careful."), Secrets("4711"), sent="think of 4711")
    assert not leaks(to_solver("It failed: (4711)"), Secrets("4711"), sent="{4711}")
    assert leaks(to_solver("It failed: think of 4711. It is 4711."), Secrets("4711"), sent="think of 4711")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("return items[::-1]", "check: the first line fails: wrong index, 3 of 5 tests pass"),
        ("print(index)", "check: index out of range at line 1"),
        ("the first of 3 fails", "check: the first of 5 fails"),
    ],
)
def test_the_words_of_a_check_are_no_secret(content: str, reason: str) -> None:
    failed = run(content, reference="[7, 8, 9]", reason=reason)
    feedback = masked_feedback(failed.outcome_reason, failed.reference)
    failure = Failure.of(failed, blamed(content), feedback=feedback.text)
    assert failure.attribution is not None
    assert [one.quote for one in failure.attribution.evidence] == [content]
    lesson = RewrittenInstructions().propose(failure, 0)
    task = FeedbackInTask().propose(failure, 0)
    assert lesson is not None
    assert content.replace("{", "(") in lesson.text
    assert not leaks(lesson, Secrets.of(failed), instructions=PROMPT)
    assert task is not None
    assert reason.removeprefix("check: ") in task.text
    assert not leaks(task, Secrets.of(failed))


def test_what_went_wrong_is_still_said_where_the_run_never_comes_by_the_answer() -> None:
    failed = run("30 * 150 = 41", reference="4500", reason="check: wrong")
    failure = Failure.of(failed, blamed("30 * 150 = 41", "30 * 150 is 4500, not 41."))
    assert failure.attribution is not None
    (kept,) = failure.attribution.evidence
    assert (kept.why, kept.quote) == ("30 * 150 is [hidden], not 41.", "30 * 150 = 41")


@pytest.mark.parametrize(
    ("reference", "quote", "why"),
    [
        ("42", "it should be 42, not 41", "It is wrong."),
        ("1234", "we get 1,234 of them", "It is wrong."),
        ("Paris", "it is not PARIS but Lyon", "It is wrong."),
        ("B", "the answer is b or c", "It is wrong."),
        ("4711", "the sum is 41; or 4711?", "It says 41, and the sum comes to 4711."),
    ],
)
def test_a_failure_keeps_no_evidence_that_tells_the_answer(reference: str, quote: str, why: str) -> None:
    failed = run(quote, reference=reference, reason="check: wrong")
    failure = Failure.of(failed, blamed(quote, why))
    assert failure.attribution is not None
    assert failure.attribution.evidence == ()
    assert failure.trajectory.reference is None
    assert failure.trajectory.outcome_reason is None
    lesson = RewrittenInstructions().propose(failure, 0)
    assert lesson is not None
    assert "«" not in lesson.text


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"target": RepairTarget.TASK}, "a repair with target 'task' has the text ''"),
        ({"text": "Look again."}, "a repair with target 'nothing' has the text 'Look again.'"),
        ({"target": RepairTarget.MESSAGE, "text": "Look again."}, "a repair with target 'message' names no agent"),
    ],
)
def test_a_repair_that_says_something_to_nobody_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Repair(strategy="third party", **fields)
