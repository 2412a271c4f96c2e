"""Windows over a long run: what is asked in which order, and what the answers add up to."""

from __future__ import annotations

import itertools
import json
import re

import pytest

from tracer_hooks.diagnosis import diagnose_trajectory
from tracer_hooks.errors import AttributionError
from tracer_hooks.testing import ScriptedLLM, ScriptedRequest, When

from ._runs import judge, long_run, shop_run, verdict


def steps_shown(request: ScriptedRequest) -> list[int]:
    return [int(number) for number in re.findall(r"^=== step (\d+) ", request.last, re.MULTILINE)]


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
