"""Step-by-step, binary search and windows: what is asked in which order, and what the answers add up to."""

from __future__ import annotations

import itertools
import json
import re

import pytest

from tracer_hooks.diagnosis import diagnose_trajectory
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import ErrorMode, RunOutcome
from tracer_hooks.testing import ScriptedLLM, ScriptedRequest, When

from ._runs import explanation, judge, long_run, shop_run, verdict


def step_reply(decisive: bool, probability: float) -> str:
    quotes = [{"step": 3, "quote": "12 times 3 is 36", "why": "a product"}]
    return json.dumps(
        {
            "reason": "Looked at.",
            "is_decisive": decisive,
            "probability": probability,
            "error_mode": "FM-2.6",
            "evidence": quotes,
        }
    )


def half_reply(half: str, probability: float = 0.8) -> str:
    return json.dumps({"reason": "So it seems.", "half": half, "probability": probability})


def steps_shown(request: ScriptedRequest) -> list[int]:
    return [int(number) for number in re.findall(r"^=== step (\d+) ", request.last, re.MULTILINE)]


# --- step by step


def test_step_by_step_stops_at_the_first_yes_and_never_shows_what_comes_later() -> None:
    with ScriptedLLM([step_reply(False, 0.1), step_reply(False, 0.2), step_reply(True, 0.7)]) as llm:
        answer = diagnose_trajectory(shop_run(), attributor=judge(llm, protocol="step-by-step"))
        shown = [steps_shown(request) for request in llm.requests]
    assert shown == [[0, 1], [0, 1, 2], [0, 1, 2, 3]]
    assert (answer.agent, answer.step, answer.error_mode) == ("Calculator", 3, ErrorMode.FM_2_6)
    assert [one.step for one in answer.candidates] == [3, 2, 1]
    assert answer.confidence == pytest.approx(0.35)
    assert answer.evidence[0].quote == "12 times\n  3 is 36"


def test_step_by_step_without_a_yes_names_the_most_suspicious_step_of_a_failed_run() -> None:
    with ScriptedLLM([step_reply(False, chance) for chance in (0.1, 0.2, 0.4, 0.3, 0.1, 0.1)]) as llm:
        answer = judge(llm, protocol="step-by-step").attribute(shop_run())
    assert (answer.agent, answer.step) == ("Calculator", 3)
    assert "called no step decisive" in answer.evidence[0].why


def test_step_by_step_without_a_yes_finds_no_fault_in_a_run_that_may_be_good() -> None:
    with ScriptedLLM(default=step_reply(False, 0.1)) as llm:
        answer = judge(llm, protocol="step-by-step").attribute(shop_run(outcome=RunOutcome.SUCCEEDED))
    assert answer.abstained_reason == "no sign of failure"


# --- binary search


def test_binary_search_halves_until_one_step_is_left_and_then_asks_why() -> None:
    replies = [half_reply("first"), half_reply("second"), explanation()]
    with ScriptedLLM(replies) as llm:
        answer = diagnose_trajectory(shop_run(), attributor=judge(llm, protocol="binary-search"))
        shown = [steps_shown(request) for request in llm.requests]
        asked = [re.search(r"in the first \((.*?)\) or in the second \((.*?)\)", r.last) for r in llm.requests]
    assert [match and match.groups() for match in asked] == [
        ("steps 1 to 3", "steps 4 to 6"),
        ("steps 1 to 2", "step 3"),
        None,
    ]
    assert shown[:2] == [[1, 2, 3, 4, 5, 6], [1, 2, 3]]
    assert (answer.agent, answer.step, answer.error_mode) == ("Calculator", 3, ErrorMode.FM_3_3)
    assert sum(one.score for one in answer.candidates) == pytest.approx(0.5)
    assert answer.candidates[0].score == pytest.approx(0.5 * 0.8 * 0.8)


def test_binary_search_keeps_a_belief_in_the_halves_that_it_passed_over() -> None:
    replies = [half_reply("second", 0.6), half_reply("first", 0.9), half_reply("second", 0.6), explanation()]  # 5
    with ScriptedLLM(replies) as llm:
        scores = judge(llm, protocol="binary-search").score(shop_run())
    assert scores is not None
    belief = scores.belief()
    assert max(range(7), key=belief.__getitem__) == 5
    assert belief[1] == belief[2] == belief[3] > belief[6]


def test_the_last_question_may_still_find_no_fault() -> None:
    replies = [half_reply("first")] * 3 + [explanation(verdict="no fault")]
    with ScriptedLLM(replies) as llm:
        answer = judge(llm, protocol="binary-search").attribute(shop_run(outcome=RunOutcome.UNKNOWN))
    assert (answer.abstained_reason, answer.candidates[0].step) == ("no sign of failure", 1)


# --- windows


def finding(step: int, suspicion: float, **changes: object) -> dict[str, object]:
    return {"step": step, "kind": "error", "text": f"about {step}", "quote": "", "suspicion": suspicion} | changes


def window_judge(found: dict[int, dict[str, object]], final: str):
    """Replies with the findings about the steps of each window, and with ``final`` in the end."""

    def reply(request: ScriptedRequest) -> str:
        bounds = re.search(r"You see the steps (\d+) to (\d+)\.", request.last)
        if bounds is None:
            return final
        window = range(int(bounds[1]), int(bounds[2]) + 1)
        return json.dumps({"findings": [one for step, one in found.items() if step in window]})

    return reply


WINDOWED = {"protocol": "auto", "context_tokens": 8_192, "reply_tokens": 512}


def test_windows_cover_every_step_overlap_and_fit_the_context() -> None:
    final = verdict(agent="Writer", step=17, alternatives=[], evidence=[])
    with ScriptedLLM(default=window_judge({}, final)) as llm:
        judge(llm, **WINDOWED).attribute(long_run())
        *windows, decision = llm.requests
    shown = [steps_shown(request) for request in windows]
    assert len(windows) > 3
    assert sorted({step for window in shown for step in window}) == list(range(40))
    for before, after in itertools.pairwise(shown):
        assert after[0] == before[-1] - 1  # two steps are shared
    for request in llm.requests:
        assert sum(len(message["content"]) for message in request.messages) / 3 < 8_192 - 512
    assert "(nothing was found)" in decision.last


def test_the_decision_sees_the_table_and_the_suspicious_steps_at_length() -> None:
    quote = "I will simply make the figure up: 4711."
    found = {
        17: finding(17, 0.9, text="makes a figure up", quote=quote),
        30: finding(30, 0.1, kind="symptom", text="odd figure", quote="words that nobody said"),
    }
    final = verdict(agent="Writer", step=17, alternatives=[], evidence=[{"step": 17, "quote": quote, "why": "so"}])
    with ScriptedLLM(default=window_judge(found, final)) as llm:
        answer = diagnose_trajectory(long_run(), attributor=judge(llm, **WINDOWED))
        decision = llm.requests[-1].last
    assert (answer.agent, answer.step) == ("Writer", 17)
    assert answer.evidence[0].quote == quote
    assert f'step 17 | Writer | error | 0.90 | makes a figure up | "{quote}"' in decision
    assert "step 30 | Reader | symptom | 0.10 | odd figure\n" in decision  # the invented quotation is dropped
    assert decision.count("step 17 | Writer | error") == 1  # found in two windows, listed once
    assert len(decision.partition("=== step 17 | Writer | message ===\n")[2].partition("\n=== step")[0]) > 1_200
    assert answer.attributor == "judge/2 windowed scripted"


def test_later_windows_are_told_what_was_found_before() -> None:
    with ScriptedLLM(default=window_judge({2: finding(2, 0.7)}, verdict(agent="Reader", step=2))) as llm:
        judge(llm, **WINDOWED).attribute(long_run())
        first, second = llm.requests[:2]
    assert "about 2" not in first.last
    assert "step 2 | Reader | error | 0.70 | about 2" in second.last


def test_findings_about_steps_outside_the_window_are_sent_back() -> None:
    replies = [json.dumps({"findings": [finding(39, 0.9)]}), '{"findings": []}']
    rules = [When(last="You see the steps 0 to|That reply cannot be used").then(*replies)]
    final = verdict(agent="Writer", step=17)
    with ScriptedLLM(rules=rules, default=window_judge({}, final)) as llm:
        judge(llm, **WINDOWED).attribute(long_run())
        assert "no finding is about a step that you were shown" in llm.requests[1].last
        schema = llm.requests[0].raw["response_format"]["json_schema"]["schema"]
        allowed = schema["properties"]["findings"]["items"]["properties"]["step"]["enum"]
        assert allowed == steps_shown(llm.requests[0])


# --- which one


@pytest.mark.parametrize(("context", "used"), [(65_536, "all-at-once"), (8_192, "windowed")])
def test_auto_takes_windows_when_the_run_does_not_fit(context: int, used: str) -> None:
    final = verdict(agent="Writer", step=17)
    with ScriptedLLM(default=window_judge({}, final)) as llm:
        answer = judge(llm, protocol="auto", context_tokens=context, reply_tokens=512).attribute(long_run())
    assert answer.attributor == f"judge/2 {used} scripted"


def test_a_context_too_small_for_the_question_itself_is_said_with_what_to_set() -> None:
    with ScriptedLLM(default=verdict()) as llm:
        with pytest.raises(AttributionError, match=r"2048 tokens is too small .* Set TRACER_HOOKS_JUDGE_CONTEXT"):
            judge(llm, context_tokens=2_048, reply_tokens=512).attribute(shop_run())
        assert llm.calls == 0


def test_huge_runs_of_130_steps_work_in_every_protocol() -> None:
    run = long_run(steps=130, size=2_400)
    final = verdict(agent="Writer", step=17, evidence=[])
    with ScriptedLLM(default=window_judge({}, final)) as llm:
        for protocol in ("all-at-once", "auto"):
            assert judge(llm, **{**WINDOWED, "protocol": protocol}).attribute(run).step == 17
    with ScriptedLLM(default=half_reply("first")) as llm:
        rules = [When(last="found to be the decisive").then(explanation())]
        with ScriptedLLM(rules=rules, default=half_reply("first")) as halves:
            assert judge(halves, **{**WINDOWED, "protocol": "binary-search"}).attribute(run).step == 0
