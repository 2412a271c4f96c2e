"""What a team is told of a failed run: why its answer was wrong, and by nobody what the right one is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tracer_hooks.repair import (
    HIDDEN,
    NOT_RIGHT,
    Failure,
    FeedbackInTask,
    MaskedFeedback,
    Repair,
    RepairTarget,
    Secrets,
    feedback_of,
    leaks,
    masked_feedback,
)
from tracer_hooks.values import compare_values

from ._failures import blame, found, run

PROMPT = "You are a solver. Reply in 3 lines."


@pytest.mark.parametrize(
    ("reason", "reference", "text"),
    [
        ("the total is 1,700 and not 1650", "1700", "the total is [hidden] and not 1650"),
        ("should be one hundred and seventeen (117.0)", "117", "should be [hidden] ([hidden])"),
        ("it is on 1 May 2024, not 2 May", "2024-05-01", "it is on [hidden], not 2 May"),
        ("the colour 'green' is missing", "red, green", "the colour '[hidden]' is missing"),
        ("Parisian is no city, Paris is", "Paris", "Parisian is no city, [hidden] is"),
        ("rotate([1, 2], 1): the line `return items[::-1]` has a wrong index", "[2, 1]", None),
        ("check: 3 of 5 tests pass", "def f(x):\n    return x + 1", "3 of 5 tests pass"),
        ("3 of 5 tests pass", "1234", "3 of 5 tests pass"),
        ("the word 'Rumpelstiltskin' is missing", "Rumpelstiltskin", "the word '[hidden]' is missing"),
    ],
)
def test_the_value_is_hidden_and_the_rest_stays(reason: str, reference: str, text: str | None) -> None:
    told = masked_feedback(reason, reference)
    assert told == MaskedFeedback(text or reason, is_specific=True, is_checked=True)


@pytest.mark.parametrize(
    ("reason", "answer", "text"),
    [
        ("3 of 5 tests pass", "It is 41.", "Expected something else, got It is 41."),
        ("expected 4, got 41", "", "Expected something else, got 41."),
        ("f(2): expected 4 but got 41 there", "", "Expected something else, got 41 there."),
        ("got 41.5 instead of 4", "", "Expected something else, got 41.5."),
        ("expected 4", "4, or 5", NOT_RIGHT),
        ("4 is missing", "", NOT_RIGHT),
        ("got 4 as a digit", "It is 41.", "Expected something else, got It is 41."),
    ],
)
def test_of_a_short_answer_only_what_was_answered_is_told(reason: str, answer: str, text: str) -> None:
    assert masked_feedback(reason, "4", answer=answer) == MaskedFeedback(text, is_specific=False, is_checked=True)


@pytest.mark.parametrize(
    ("reference", "answer", "text"),
    [
        ("470 EUR", "It comes to 430 EUR.", "The answer was not right. It was: 430 EUR"),
        ("Rumpelstiltskin", "It is Tom.", "The answer was not right. It was: 'It is Tom.'"),
        ("2024-05-01", "On May 2, 2024", "The answer was not right. It was: May 2, 2024"),
        ("red, green", "red", "The answer was not right. It was: red"),
        ("470 EUR", "I do not know", "The answer was not right. It was: no number that counts"),
        ("470 EUR", "more than 470 EUR", "The answer was not right. It was: no number that counts"),
        ("Alice and Bob", "Alice, but not Bob", NOT_RIGHT),
        ("Paris", "not Paris", NOT_RIGHT),
    ],
)
def test_of_a_comparison_only_the_wrong_answer_is_told(reference: str, answer: str, text: str) -> None:
    reason = compare_values(reference, answer).reason
    assert masked_feedback(f"check: {reason}", reference, answer=answer).text == text


def test_without_a_reference_the_reason_is_told_and_counts_as_unchecked() -> None:
    assert masked_feedback("check: 3 of 5", None) == MaskedFeedback("3 of 5", is_specific=True, is_checked=False)
    assert masked_feedback(None, None) == MaskedFeedback(NOT_RIGHT, is_specific=False, is_checked=False)


def test_without_a_reason_the_wrong_answer_is_told() -> None:
    told = masked_feedback(None, "1234", answer="It is 41")
    assert told == MaskedFeedback("The answer was not right. It was: It is 41", is_specific=False, is_checked=True)


def test_an_answer_that_our_own_words_would_tell_leaves_nothing_to_say() -> None:
    assert masked_feedback("not right", "not right").text is None
    assert masked_feedback(None, "answer").text is None


def test_a_long_reason_keeps_its_end_and_breaks_no_number() -> None:
    reason = "Traceback " + "frame 12345 " * 500 + "ValueError: index 17 is too large"
    told = masked_feedback(reason, "Paris").text or ""
    assert len(told) <= 800
    assert told.startswith("Traceback frame")
    assert told.endswith("ValueError: index 17 is too large")
    assert set(told.replace("…", "").split()) <= set(reason.split())


@pytest.mark.parametrize("mode", ["reason", "masked"])
def test_what_the_check_says_for_the_team_is_sent_as_it_is(mode: str) -> None:
    told = feedback_of(mode, "Think of 1234.", "1234 is missing", "1234")  # type: ignore[arg-type]
    assert told == MaskedFeedback("Think of 1234.", is_specific=True, is_checked=False)


def test_none_says_nothing() -> None:
    assert feedback_of("none", "Think.", "wrong", "1234").text is None


def test_the_reason_is_sent_whole_only_where_it_does_not_tell_the_answer() -> None:
    assert feedback_of("reason", None, "check: 3 of 5 tests pass", "4").text == "3 of 5 tests pass"
    assert feedback_of("reason", None, "1234 is missing", "1234").text == f"{HIDDEN} is missing"
    assert feedback_of("reason", None, "check: ", "4", "41").text == "Expected something else, got 41."
    assert feedback_of("reason", None, "wrong", None) == MaskedFeedback("wrong", is_specific=True, is_checked=False)
    assert feedback_of("masked", None, "3 of 5 tests pass", "4", "41").text == "Expected something else, got 41."


PIECES = ["expected", "got", "17", "1,700", "seventeen", "Paris", "`x`", "not", "right", "2024-05-01", "May 1, 2024"]
PIECES += ["answer", "A", "the", "[hidden]", "red", "green", "3 of 5", "1.234", "12 %", "-", "\n", "{x}", "**1**7"]
WORDS = st.lists(st.sampled_from(PIECES), max_size=10)


@settings(max_examples=600)
@given(
    reason=WORDS,
    answer=WORDS,
    gap=st.sampled_from([" ", ", ", ""]),
    reference=st.one_of(
        st.sampled_from(
            ["17", "170", "1700", "1.234", "Paris", "2024-05-01", "red, green", "A", "yes", "hidden", "not"]
        ),
        st.integers(0, 10**4).map(str),
        st.text(min_size=1, max_size=6),
    ),
    form=st.sampled_from(["{}", "expected {r}, got {}", "{} {r}", "check: {r}{}", "got {}, expected {r}"]),
)
def test_the_right_answer_is_never_told(
    reason: list[str], answer: list[str], gap: str, reference: str, form: str
) -> None:
    said = form.replace("{r}", reference).replace("{}", gap.join(reason))
    for told in (
        masked_feedback(said, reference, answer=gap.join(answer)),
        feedback_of("reason", None, said, reference, gap.join(answer)),
    ):
        secrets = Secrets(reference)
        assert told.text is None or not secrets.are_in(told.text)
        assert told.is_checked is secrets.are_known


@settings(max_examples=300)
@given(
    reference=st.one_of(st.integers(100, 10**5).map(str), st.sampled_from(["Paris", "red, green", "2024-05-01"])),
    answer=WORDS.map(" ".join),
)
def test_nor_in_the_words_of_a_comparison(reference: str, answer: str) -> None:
    reason = compare_values(reference, answer).reason
    told = masked_feedback(reason, reference, answer=answer)
    assert told.text is not None
    assert not Secrets(reference).are_in(told.text)
    assert not told.is_specific


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
    failed = run(content, solver=PROMPT, reference="[7, 8, 9]", reason=reason)
    feedback = masked_feedback(failed.outcome_reason, failed.reference)
    failure = Failure.of(failed, blame(found(content)), feedback=feedback.text)
    assert failure.attribution is not None
    assert [one.quote for one in failure.attribution.evidence] == [content]
    lesson = Repair(strategy="own", target=RepairTarget.INSTRUCTIONS, agent="solver", text=f"{PROMPT} Take care.")
    task = FeedbackInTask().propose(failure, 1)
    assert not leaks(lesson, Secrets.of(failed), instructions=PROMPT)
    assert task is not None
    assert reason.removeprefix("check: ") in task.text
    assert not leaks(task, Secrets.of(failed))


def test_what_went_wrong_is_still_said_where_the_run_never_comes_by_the_answer() -> None:
    failed = run("30 * 150 = 41", reference="4500", reason="check: wrong")
    failure = Failure.of(failed, blame(found("30 * 150 = 41", "30 * 150 is 4500, not 41.")))
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
    failure = Failure.of(failed, blame(found(quote, why)))
    assert failure.attribution is not None
    assert failure.attribution.evidence == ()
    assert failure.trajectory.reference is None
    assert failure.trajectory.outcome_reason is None


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
