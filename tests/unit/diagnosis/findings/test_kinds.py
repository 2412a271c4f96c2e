"""Each kind of finding: told in several wordings, silent beside them, and of hostile runs harmless."""

import pytest

from tracer_hooks.diagnosis import diagnose_trajectory, findings_of
from tracer_hooks.diagnosis.findings import KINDS, kind_of
from tracer_hooks.schema import FindingKind, RunOutcome, Step, StepKind, Trajectory

from ._runs import call, found, run_of, say

REPLIED = "I looked at both reports and will write the summary now."
ENDINGS = {
    "endpoint_error": [
        run_of(say("lead", "Go on."), say("web", "Opening the page.\nError code: 400 - {'error': 'content_filter'}")),
        run_of(say("lead", "Go on."), Step(index=0, agent="web", kind=StepKind.ERROR, error="APIConnectionError: x")),
    ],
    "exception": [
        run_of(
            say("a", "Go."), say("b", "I add them.\nTraceback (most recent call last):\n  File x\nKeyError: 'price'")
        ),
        run_of(say("a", "Go."), Step(index=0, agent="b", kind=StepKind.ERROR, error="KeyError: 'price'")),
    ],
    "limit": [
        run_of(say("a", "Still searching."), reason="maximum number of turns reached"),
        run_of(say("a", "Still searching."), say("host", "Max rounds reached. The conversation ends here.")),
        run_of(say("a", "Go."), say("host", "Max time (600s) reached.\nFINAL ANSWER: 12")),
        run_of(say("a", "Go."), say("host", "Agent stopped due to iteration limit.")),
    ],
    "gave_up": [
        run_of(say("a", "Go."), say("b", "I am unable to complete this task.")),
        run_of(say("a", "Go."), say("b", "Sorry, we cannot continue without a key.")),
    ],
    "empty": [run_of(say("a", REPLIED), final_output=""), run_of(say("a", REPLIED), say("b", ""))],
    "broken_off": [
        run_of(call("a", "look", {}, "3"), call("a", "look", {"at": 2})),
        run_of(say("coder", "```python\nprint(7)\n```"), say("Computer_terminal", "exitcode: 0\nCode output: 7")),
        run_of(
            say("coder", "```python\nprint(7)\n```"),
            say("Computer_terminal", "exitcode: 0\nCode output: 7"),
            say("coder", "That is a sum. Please run the rest.\n```python\nprint(7 * 6)\n```"),
        ),
        run_of(say("a", "Go."), say("b", "The first list is short. I will now check the second one.")),
        run_of(say("a", "Go."), say("b", "Let me verify the price."), final_output="Let me verify the price."),
    ],
}


@pytest.mark.parametrize(("detail", "run"), [(detail, run) for detail, runs in ENDINGS.items() for run in runs])
def test_an_unusual_ending_is_told(detail: str, run: Trajectory) -> None:
    assert [each.detail for each in found(run, FindingKind.ENDING)] == [detail]
    assert found(run.model_copy(update={"outcome": RunOutcome.SUCCEEDED}), FindingKind.ENDING) == []


@pytest.mark.parametrize(
    "last",
    [
        "The answer is 12.",
        "FINAL ANSWER: 12",
        "The limit of 30 kg is not reached, so it may fly.",
        "The maximum number of messages per mailbox is 500.",
        "I will check the second list first. It has 12 names.",
        "Let me know if you need more.",
        "```python\nprint(12)\n```",
        "Done. TERMINATE",
    ],
)
def test_a_run_that_ends_by_itself_has_no_ending(last: str) -> None:
    assert found(run_of(say("a", "Go."), say("b", last)), FindingKind.ENDING) == []


@pytest.mark.parametrize(
    "run",
    [
        run_of(say("b", "Sorry, I was unable to find a later train."), say("user", "Fine, thank you.")),
        run_of(say("coder", "```python\nprint(7)\n```"), say("Computer_terminal", "7"), final_output="7"),
        run_of(say("coder", "It is 7. TERMINATE"), say("Computer_terminal", "There is no code to run.")),
    ],
)
def test_a_talk_that_a_person_or_an_agent_closed_has_no_ending(run: Trajectory) -> None:
    assert found(run, FindingKind.ENDING) == []


def test_a_lost_connection_under_a_tool_is_not_called_the_endpoint() -> None:
    last = "Opening it.\nTraceback (most recent call last):\n  File x\nrequests.exceptions.ConnectionError: refused"
    (told,) = found(run_of(say("a", "Go."), say("web", last)), FindingKind.ENDING)
    assert told.detail == "exception"


def test_an_error_of_the_endpoint_is_read_at_the_end_of_a_long_traceback() -> None:
    trace = "Traceback (most recent call last):\n" + "  File x, in call\n" * 400
    last = f"Opening it.\n{trace}openai.BadRequestError: Error code: 400 - refused"
    (told,) = found(run_of(say("a", "Go."), say("web", last)), FindingKind.ENDING)
    assert told.detail == "endpoint_error"


def failing(*after: Step) -> Trajectory:
    return run_of(call("scout", "price", {"of": "A"}, error="HTTP 503"), *after)


def test_a_failed_tool_whose_value_is_asserted_is_told_with_the_claim() -> None:
    (told,) = found(
        failing(say("scout", "The fare is 64 EUR."), say("desk", "It costs 64 EUR.")), FindingKind.IGNORED_ERROR
    )
    assert (told.detail, told.step, told.leads_to_answer) == ("asserted", 0, True)
    assert told.text == "'price' failed in step 0 with 'HTTP 503'; 'scout' says '64' in step 1 all the same."


@pytest.mark.parametrize(
    "after",
    [
        (call("scout", "price", {"of": "A"}, "64"), say("scout", "The fare is 64 EUR.")),
        (call("scout", "price", {"of": "A"}, '{"eur": 64}'), say("desk", "It costs 64 EUR.")),
    ],
)
def test_an_error_that_was_overcome_is_no_finding(after: tuple[Step, ...]) -> None:
    assert found(failing(*after), FindingKind.IGNORED_ERROR) == []


def test_an_admitted_error_is_not_asserted() -> None:
    (told,) = found(failing(say("scout", "I could not find the fare.")), FindingKind.IGNORED_ERROR)
    assert told.detail == "not_overcome"


def test_of_several_tries_the_claim_after_the_last_counts() -> None:
    tries = [call("finder", "fetch", {"page": page}, error="ReadTimeout") for page in (1, 2)]
    (told,) = found(
        run_of(*tries, say("finder", "It starts at 20:00 and runs 124 minutes.")), FindingKind.IGNORED_ERROR
    )
    assert (told.step, told.detail, told.values.claimed) == (1, "asserted", "124")


def test_words_that_deny_an_error_do_not_admit_it() -> None:
    (told,) = found(failing(say("desk", "No failure was reported; it costs 64 EUR.")), FindingKind.IGNORED_ERROR)
    assert (told.detail, told.agent) == ("asserted", "desk")


ASK = "Please open the annual report of the harbour office and read the table on page 12."


def test_the_same_request_again_and_again_is_a_loop() -> None:
    steps = [
        step for k in range(4) for step in (say("lead", f"{ASK} Attempt {k}."), say("web", f"Page {k} of a list."))
    ]
    (told,) = found(run_of(*steps), FindingKind.LOOP)
    assert (told.agent, told.step) == ("lead", 2)
    assert "4 times, in steps 0, 2, 4, 6" in told.text
    calls = [call("bot", "poll", {"id": 7}, "pending") for _ in range(3)]
    assert found(run_of(*calls), FindingKind.LOOP)[0].values.subject == "poll"


def test_the_same_act_on_a_page_that_changes_a_little_is_a_loop() -> None:
    page = " ".join(f"field{number}" for number in range(20))
    steps = [say("web", f"I clicked 'Continue'.\n\nThe page shows {page}, {part} % of it.") for part in (40, 41, 43)]
    (told,) = found(run_of(*steps), FindingKind.LOOP)
    assert "3 times, in steps 0, 1, 2" in told.text


def test_new_words_and_two_tries_are_no_loop() -> None:
    talk = [say("a", f"Item {k}: " + " ".join(f"word{k}{n}" for n in range(12))) for k in range(6)]
    assert found(run_of(*talk), FindingKind.LOOP) == []
    dates = [say("bot", f"Show me all the flights from Oslo to Riga on day {day} of May.") for day in (3, 4, 5)]
    assert found(run_of(*dates), FindingKind.LOOP) == []
    films = [
        say("lead", f"Please check the availability of {name!r} on the screen list.") for name in ("M", "Ran", "Z")
    ]
    assert found(run_of(*films), FindingKind.LOOP) == []
    rates = [
        say("lead", f"Please look up the rate for a parcel to Riga with {name}.") for name in ("Post", "Ups", "Gls")
    ]
    assert found(run_of(*rates), FindingKind.LOOP) == []
    written = [say("bot", f'find({{"first_name": "Noah", "last_name": "{name}", "city": "Delft"}})') for name in "XYZ"]
    assert found(run_of(*written), FindingKind.LOOP) == []
    assert found(run_of(*[call("bot", "poll", {"id": 7}, "pending")] * 2), FindingKind.LOOP) == []


@pytest.mark.parametrize(
    ("steps", "kind", "step"),
    [
        ((say("a", "3 x 120 + 2 x 55 = 430"), say("b", "It is 430.")), FindingKind.WRONG_CALCULATION, 0),
        ((call("a", "stock", {}, "17"), say("a", "We have 12 copies.")), FindingKind.RECORD_CONTRADICTED, 1),
    ],
)
def test_a_wrong_value_carries_the_blame(steps: tuple[Step, ...], kind: FindingKind, step: int) -> None:
    run = run_of(*steps, reason="check: returned False")
    assert found(run, kind)[0].step == step
    answer = diagnose_trajectory(run)
    assert (answer.step, answer.certainty) == (step, "likely")
    assert answer.evidence[0].why == answer.findings[0].text
    assert answer.advice


def test_an_expected_answer_that_is_the_corrected_value_makes_it_clear() -> None:
    run = run_of(say("a", "17 + 25 = 32"), say("b", "It is 32."))
    assert diagnose_trajectory(run).certainty == "likely"
    assert diagnose_trajectory(run, reference="42").certainty == "clear"


def test_a_right_value_that_is_replaced_is_told_when_it_is_known_to_be_right() -> None:
    run = run_of(say("solver", "The answer is 25"), say("checker", "I say the answer is 48"))
    (told,) = found(run, FindingKind.REPLACED_VALUE, reference="25")
    assert told.text == "'solver' had 25 in step 0; 'checker' says 48."
    assert found(run, FindingKind.REPLACED_VALUE) == []


def test_a_reason_is_heard_by_whom_and_what_it_names() -> None:
    steps = (
        say("planner", "The limit is 18 t, tolls are 6,300 EUR a month."),
        say("inspector", "The north cable is corroded; lorries must not cross."),
        say("editor", "Yes, up to 18 t."),
    )
    (told,) = found(run_of(*steps, reason="check: the corroded cable is not mentioned"), FindingKind.REASON_MATCHED)
    assert (told.detail, told.agent) == ("missing", "editor")
    assert told.text == "'inspector' says 'corroded' and 'cable' in step 1; the answer of 'editor' leaves it out."
    (named,) = found(run_of(*steps, reason="check: the planner used an old limit"), FindingKind.REASON_MATCHED)
    assert (named.detail, named.agent) == ("agent", "planner")
    assert found(run_of(*steps, reason="check: returned False"), FindingKind.REASON_MATCHED) == []


HOSTILE = [
    run_of(say("a", "<script>alert(1)</script> [link](x) \x1b[31m 3 + 4 = 8")),
    run_of(say("a", "9" * 1_000_000)),
    run_of(say("a", "\x00\ufffd" * 500), task=""),
    run_of(call("a", "t", {"x": [1, {"y": None}]}, "{" * 5_000), reason="check: " + "(" * 3_000),
    Trajectory(run_id="empty", outcome=RunOutcome.FAILED),
]


@pytest.mark.parametrize("run", HOSTILE)
def test_of_hostile_runs_only_what_stands_there_is_quoted(run: Trajectory) -> None:
    for each in findings_of(run, reference="7"):
        assert kind_of(each) is KINDS[each.kind]
        assert len(each.quote) <= 400
        text = run.steps[each.step].model_dump_json() if each.step is not None else ""
        assert each.step is None or each.quote in run.steps[each.step].content or each.quote[:20] in text
    diagnose_trajectory(run)


def test_every_kind_says_what_it_is_and_what_to_try() -> None:
    for kind in KINDS.values():
        assert kind.definition.endswith(".")
        assert kind.advice is not None
