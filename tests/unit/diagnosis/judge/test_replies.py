"""Replies that are not as they should be: repaired once, checked against the run, never taken for "clean"."""

from __future__ import annotations

import json

import pytest

from tracer_hooks.batch import DiagnoseSettings, diagnosed
from tracer_hooks.datasets import LoadedRecord
from tracer_hooks.diagnosis import diagnose_each
from tracer_hooks.errors import OutputParseError
from tracer_hooks.schema import ErrorMode
from tracer_hooks.testing import Reply, ScriptedLLM

from ._runs import judge, shop_run, verdict


def test_an_unreadable_reply_is_repaired_and_the_judge_sees_its_error() -> None:
    with ScriptedLLM(["The Calculator did it.", verdict()]) as llm:
        answer = judge(llm).attribute(shop_run())
        first, second = llm.requests
    assert answer.step == 3
    assert [message["role"] for message in second.messages] == ["system", "user", "assistant", "user"]
    assert second.messages[:2] == first.messages
    assert second.messages[2]["content"] == "The Calculator did it."
    assert "no JSON object" in second.last


def test_a_reply_that_stays_unreadable_is_an_error_with_the_reply_in_it() -> None:
    with ScriptedLLM(["no idea", "still none"]) as llm, pytest.raises(OutputParseError) as raised:
        judge(llm).attribute(shop_run())
    assert raised.value.raw == "still none"
    assert "'shop-1'" in str(raised.value)
    assert llm.calls == 2


def test_the_command_line_shows_an_unreadable_reply_as_an_error_of_its_input() -> None:
    with ScriptedLLM(default="no idea") as llm:
        settings = DiagnoseSettings(attributor=judge(llm))  # type: ignore[arg-type]  # a name, or an attributor
        (result,) = diagnosed([LoadedRecord(source="run", trajectory=shop_run())], settings)
    assert result.attribution is None
    assert (result.error or "").startswith("OutputParseError")


def test_one_broken_run_among_many_does_not_stop_the_others() -> None:
    def reply(request):
        return "no idea" if "bad run" in request.text else verdict()

    runs = [shop_run(task="bad run"), shop_run(), shop_run(run_id="other")]
    with ScriptedLLM(default=reply) as llm:
        answers = list(diagnose_each(((run, None) for run in runs), attributor=judge(llm, concurrency=1)))
        assert llm.calls == 4
    assert isinstance(answers[0], OutputParseError)
    assert [getattr(one, "step", None) for one in answers[1:]] == [3, 3]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"agent": "Ghost"}, "no agent is called 'Ghost': expected one of 'Planner', 'Price_Finder', 'Calculator'"),
        ({"agent": "Archivist"}, "no agent is called 'Archivist'"),
        ({"step": 7}, "there is no step 7: the record has the steps 0 to 6"),
        ({"step": -1}, "there is no step -1"),
        ({"step": 0}, "step 0 is by 'user', a person"),
        ({"step": "the third"}, "step: Input should be a valid integer"),
        ({"step": None}, "step: Input should be a valid integer"),
        ({"probability": 170}, "probability"),
        ({"verdict": "guilty"}, "verdict"),
    ],
)
def test_names_and_numbers_that_do_not_exist_are_sent_back(change: dict[str, object], complaint: str) -> None:
    with ScriptedLLM([verdict(**change), verdict()]) as llm:
        assert judge(llm).attribute(shop_run()).step == 3
        assert complaint in llm.requests[1].last
    with ScriptedLLM(default=verdict(**change)) as llm, pytest.raises(OutputParseError, match="no usable reply"):
        judge(llm).attribute(shop_run())


@pytest.mark.parametrize("name", ["calculator", " Calculator ", "CALCULATOR", "Calculator (agent)", "calcu-lator"])
def test_names_are_compared_without_case_spaces_and_punctuation(name: str) -> None:
    with ScriptedLLM([verdict(agent=name)]) as llm:
        answer = judge(llm).attribute(shop_run())
    assert (answer.agent, answer.step) == ("Calculator", 3)
    assert "was kept" not in answer.evidence[0].why


def test_when_agent_and_step_disagree_the_step_is_kept_and_it_is_said() -> None:
    with ScriptedLLM([verdict(agent="price finder", step=4, evidence=[])]) as llm:
        answer = judge(llm).attribute(shop_run())
    assert (answer.agent, answer.step) == ("Planner", 4)
    assert "named 'Price_Finder', but step 4 is by 'Planner': the step was kept" in answer.evidence[0].why


def test_of_two_agents_with_like_names_the_one_of_the_step_is_meant() -> None:
    steps = tuple(
        step.model_copy(update={"agent": agent})
        for step, agent in zip(shop_run().steps, ["user", "a b", "A_B", "ab", "c", "c", "c"], strict=True)
    )
    with ScriptedLLM([verdict(agent="A-B", step=2)]) as llm:
        answer = judge(llm).attribute(shop_run(steps=steps))
    assert (answer.agent, answer.step) == ("A_B", 2)
    assert "was kept" not in answer.evidence[0].why


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{verdict()}\n```",
        f"Here is my answer: {verdict()} I hope it helps {{really}}.",
        f"<think>Is it {{step 5}}? No.</think>\n{verdict()}",
        f"{{not json}} but {verdict()}",
        verdict(step="3", probability="80%", verdict="Fault", error_mode="FM-2.6: reasoning-action mismatch"),
        verdict(probability=80),
    ],
)
def test_json_is_found_in_whatever_stands_around_it(text: str) -> None:
    with ScriptedLLM([text]) as llm:
        answer = judge(llm).attribute(shop_run())
    assert (answer.step, answer.error_mode) == (3, ErrorMode.FM_2_6)
    assert answer.confidence == pytest.approx(0.4)


def test_a_reply_full_of_braces_is_given_up_in_good_time() -> None:
    with ScriptedLLM(["{ " * 20_000, verdict()]) as llm:
        assert judge(llm).attribute(shop_run()).step == 3
        assert "no JSON object" in llm.requests[1].last


def test_line_breaks_inside_json_strings_are_taken() -> None:
    with ScriptedLLM([verdict(reason="two LINES").replace(" LINES", "\nlines")]) as llm:
        assert judge(llm).attribute(shop_run()).step == 3


def test_a_mode_that_does_not_exist_is_no_mode() -> None:
    with ScriptedLLM([verdict(error_mode="FM-9.9 bad luck")]) as llm:
        answer = judge(llm).attribute(shop_run())
    assert (answer.step, answer.error_mode) == (3, None)


def test_a_reply_that_was_cut_off_is_asked_for_shorter() -> None:
    with ScriptedLLM([Reply(verdict()[:80], finish_reason="length"), verdict()]) as llm:
        assert judge(llm).attribute(shop_run()).step == 3
        assert "much shorter" in llm.requests[1].last


def test_alternatives_that_do_not_exist_are_left_out_and_none_outranks_the_answer() -> None:
    others = [{"step": 99, "probability": 0.9}, {"step": 0, "probability": 0.9}, {"step": 5, "probability": 0.9}]
    with ScriptedLLM([verdict(probability=0.6, alternatives=others)]) as llm:
        answer = judge(llm).attribute(shop_run())
    assert [one.step for one in answer.candidates] == [3, 5]
    assert answer.candidates[0].score >= answer.candidates[1].score
    assert sum(one.score for one in answer.candidates) <= 0.5 + 1e-9


def evidence_for(*quotes: dict[str, object]) -> list[tuple[int, str]]:
    with ScriptedLLM([verdict(evidence=list(quotes))]) as llm:
        answer = judge(llm).attribute(shop_run())
    return [(one.step, one.quote) for one in answer.evidence]


def test_quotations_are_given_as_they_stand_in_the_step() -> None:
    assert evidence_for({"step": 3, "quote": "12 times 3 is 36, so both cost 36 euros."}) == [
        (3, "12 times\n  3 is 36, so both\tcost 36 euros.")
    ]
    assert evidence_for({"step": 3, "quote": "“cost 36 euros”"}) == [(3, "cost 36 euros")]


def test_quotations_from_tool_calls_count() -> None:
    found = evidence_for({"step": 2, "quote": "book 12, pen 3"}, {"step": 3, "quote": "12 times 3"})
    assert set(found) == {(2, "book 12, pen 3"), (3, "12 times\n  3")}
    assert found[0][0] == 3  # those of the answer come first


def test_of_a_quotation_with_an_ellipsis_the_longest_piece_is_kept() -> None:
    assert evidence_for({"step": 3, "quote": "12 times ... so both cost 36 euros."}) == [(3, "so both\tcost 36 euros.")]


@pytest.mark.parametrize(
    "quote", [{"step": 3, "quote": "12 plus 3 is 36"}, {"step": 4, "quote": "12 times 3"}, {"step": 3, "quote": "..."}]
)
def test_quotations_that_do_not_stand_in_the_step_are_dropped(quote: dict[str, object]) -> None:
    ((step, text),) = evidence_for(quote)
    assert (step, text) == (3, "")  # the judge's reason stands without a passage that it did not quote


def test_a_quotation_of_a_step_that_does_not_exist_is_dropped() -> None:
    assert evidence_for({"step": 40, "quote": "12 times 3"}, {"step": 3, "quote": "12 times 3"}) == [
        (3, "12 times\n  3")
    ]


def test_the_reason_of_the_judge_stands_with_the_first_quotation() -> None:
    with ScriptedLLM([verdict()]) as llm:
        first = judge(llm).attribute(shop_run()).evidence[0]
    assert first.why == "The Calculator multiplied where it had to add."


def test_a_reply_with_less_than_everything_is_enough() -> None:
    with ScriptedLLM([json.dumps({"agent": "Calculator", "step": 3})]) as llm:
        answer = judge(llm).attribute(shop_run())
    assert (answer.agent, answer.step, answer.error_mode) == ("Calculator", 3, None)
    assert answer.confidence == pytest.approx(0.25)
