"""Choosing among the first three steps of another method; both beliefs count."""

from __future__ import annotations

import json
import math
import re

import pytest

from tracer_hooks.attribution._judge import JudgeAttributor, JudgeOptions
from tracer_hooks.attribution._scores import StepScores
from tracer_hooks.errors import ConfigError
from tracer_hooks.schema import Candidate, ErrorMode, RunOutcome, Trajectory
from tracer_hooks.testing import ScriptedLLM, ScriptedRequest

from ._runs import explanation, judge, shop_run

CANDIDATES = (
    Candidate(agent="Price_Finder", step=2, score=0.1),
    Candidate(agent="Calculator", step=3, score=0.2),
    Candidate(agent="Planner", step=4, score=0.4),
    Candidate(agent="Planner", step=6, score=0.2),
)


def options_of(request: ScriptedRequest) -> dict[str, str]:
    return {text: label for label, text in re.findall(r"^([A-Z])\) (.*)$", request.last, re.MULTILINE)}


def picks(start: str):
    def reply(request: ScriptedRequest) -> str:
        options = options_of(request)
        if not options:
            return explanation()
        return json.dumps({"choice": next(label for text, label in options.items() if text.startswith(start))})

    return reply


def test_three_candidates_in_one_question_in_every_rotation() -> None:
    with ScriptedLLM(default=picks("step 3, by Calculator: 12 times")) as llm:
        answer = judge(llm, protocol="shortlist").attribute(shop_run(), candidates=CANDIDATES)
        questions = [options_of(request) for request in llm.requests]
    assert (answer.agent, answer.step, answer.error_mode) == ("Calculator", 3, ErrorMode.FM_3_3)
    assert [sorted(text[:6] for text in one) for one in questions] == [["step 3", "step 4", "step 6"]] * 3 + [[]]
    for step in ("step 3", "step 4", "step 6"):
        assert {label for one in questions[:3] for text, label in one.items() if text.startswith(step)} == {*"ABC"}
    assert {one.step for one in answer.candidates} == {3, 4, 6}


def test_the_logarithms_of_both_beliefs_are_added() -> None:
    """Votes of 3 : 0 : 0 are 3.5 : 0.5 : 0.5 after smoothing; the prior was 0.2 : 0.4 : 0.2."""
    with ScriptedLLM(default=picks("step 3")) as llm:
        answer = judge(llm, protocol="shortlist").attribute(shop_run(), candidates=CANDIDATES)
    odds = {3: 0.2 * 3.5, 4: 0.4 * 0.5, 6: 0.2 * 0.5}
    mass = 0.2 + 0.4 + 0.2
    for one in answer.candidates:
        assert one.step is not None
        assert one.score == pytest.approx(0.5 * mass * odds[one.step] / sum(odds.values()))


def test_a_strong_prior_outweighs_a_judge_that_wavers() -> None:
    sure = (Candidate(agent="Planner", step=4, score=0.9), Candidate(agent="Calculator", step=3, score=0.05))
    with ScriptedLLM(default=picks("step 3")) as llm:
        answer = judge(llm, protocol="shortlist").attribute(shop_run(), candidates=sure)
    assert 0.05 * 2.5 < 0.9 * 0.5
    assert answer.step == 4


class Fixed:
    """A scorer that likes later steps, or says nothing."""

    def __init__(self, says: bool = True) -> None:
        self.says = says

    def score(self, trajectory: Trajectory, *, reference: str | None = None) -> StepScores | None:
        if not self.says:
            return None
        return StepScores(steps=tuple(math.log(1 + step.index) for step in trajectory.steps))


def made(llm: ScriptedLLM, proposer: Fixed | None) -> JudgeAttributor:
    options = JudgeOptions(model="m", base_url=llm.base_url, cache_dir=None, protocol="shortlist")
    return JudgeAttributor(options, proposer=proposer)  # type: ignore[arg-type]


def test_a_proposer_gives_the_candidates() -> None:
    with ScriptedLLM(default=picks("step 5")) as llm:
        answer = made(llm, Fixed()).attribute(shop_run())
        first = options_of(llm.requests[0])
    assert sorted(text[:6] for text in first) == ["step 4", "step 5", "step 6"]
    assert answer.step == 5


def test_structural_proposes_where_nothing_is_said() -> None:
    with ScriptedLLM(default=lambda request: '{"choice": "A"}' if options_of(request) else explanation()) as llm:
        answer = made(llm, None).attribute(shop_run())
        asked = options_of(llm.requests[0])
    assert 2 <= len(asked) <= 3
    assert any(text.startswith(f"step {answer.step}, by {answer.agent}") for text in asked)


def test_without_any_proposal_every_step_is_chosen_among() -> None:
    def reply(request: ScriptedRequest) -> str:
        return '{"choice": "A"}' if options_of(request) else explanation()

    with ScriptedLLM(default=reply) as llm:
        made(llm, Fixed(says=False)).attribute(shop_run())
        first = options_of(llm.requests[0])
    assert set(first) == {"Planner", "Price_Finder", "Calculator"}


def test_a_run_that_may_have_gone_well_has_one_more_option() -> None:
    unknown = shop_run(outcome=RunOutcome.UNKNOWN)
    with ScriptedLLM(default=picks("no agent made a decisive error")) as llm:
        answer = judge(llm, protocol="shortlist").attribute(unknown, candidates=CANDIDATES)
    assert answer.abstained
    assert answer.abstained_reason == "no fault found"
    assert answer.candidates[0].step == 4


def test_the_judge_cannot_propose_to_itself() -> None:
    with pytest.raises(ConfigError, match="is the judge itself"):
        JudgeAttributor(JudgeOptions(model="m", base_url="http://x", protocol="shortlist", proposer="judge"))
