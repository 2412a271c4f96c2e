"""Choosing among the first three steps of another method; both beliefs count."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tracer_hooks.diagnosis._protocol import StepScores
from tracer_hooks.diagnosis.judge import JudgeAttributor, JudgeOptions
from tracer_hooks.errors import AttributionError, ConfigError
from tracer_hooks.schema import Candidate, ErrorMode, RunOutcome, Trajectory
from tracer_hooks.testing import ScriptedLLM, ScriptedRequest

from ._runs import explanation, judge, shop_run, verdict

CANDIDATES = (
    Candidate(agent="Price_Finder", step=2, score=0.1),
    Candidate(agent="Calculator", step=3, score=0.2),
    Candidate(agent="Planner", step=4, score=0.4),
    Candidate(agent="Planner", step=6, score=0.2),
)


def labels_in(prompt: str) -> dict[str, str]:
    """The label of each option of a question, by the option's text."""
    return {text: label for label, text in re.findall(r"^([A-Z])\) (.*)$", prompt, re.MULTILINE)}


def options_of(request: ScriptedRequest) -> dict[str, str]:
    return labels_in(str(request.messages[1]["content"]))  # also when the last message asks for a repair


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


def test_without_any_proposal_the_whole_run_is_asked_about() -> None:
    with ScriptedLLM(default=verdict()) as llm:
        answer = made(llm, Fixed(says=False)).attribute(shop_run())
        assert llm.calls == 1
    assert (answer.step, answer.attributor) == (3, "judge/2 all-at-once m")


def test_a_run_that_may_have_gone_well_has_one_more_option() -> None:
    unknown = shop_run(outcome=RunOutcome.UNKNOWN)
    with ScriptedLLM(default=picks("no agent made a decisive error")) as llm:
        answer = judge(llm, protocol="shortlist").attribute(unknown, candidates=CANDIDATES)
    assert answer.abstained
    assert answer.abstained_reason == "no sign of failure"
    assert answer.candidates[0].step == 4


def test_the_judge_cannot_propose_to_itself() -> None:
    with pytest.raises(ConfigError, match="is the judge itself"):
        JudgeAttributor(JudgeOptions(model="m", base_url="http://x", protocol="shortlist", proposer="judge"))


def test_candidates_are_chosen_among_by_auto_too() -> None:
    with ScriptedLLM(default=picks("step 3")) as llm:
        answer = judge(llm, protocol="auto").attribute(shop_run(), candidates=CANDIDATES)
    assert (answer.step, answer.attributor) == (3, "judge/2 shortlist scripted")


def test_a_proposer_can_be_an_attributor_by_name() -> None:
    with ScriptedLLM(default=picks("step")) as llm:
        answer = judge(llm, proposer="structural", protocol="auto", top_k=2).attribute(shop_run())
        asked = options_of(llm.requests[0])
    assert len(asked) == len(answer.candidates) == 2


def test_a_proposer_by_name_must_score_steps_and_must_not_be_the_judge() -> None:
    with ScriptedLLM() as llm:
        with pytest.raises(ConfigError, match="is the judge itself"):
            judge(llm, proposer="judge")
        with pytest.raises(ConfigError, match="unknown attributor 'nobody'"):
            judge(llm, proposer="nobody")
        with pytest.raises(ConfigError, match=r"proposer='judge'"):
            judge(llm, proposer="judge")


def test_the_order_of_options_depends_on_the_seed_only() -> None:
    def orders(seed: int) -> list[list[str]]:
        with ScriptedLLM(default=picks("step")) as llm:
            judge(llm, protocol="shortlist", seed=seed).attribute(shop_run(), candidates=CANDIDATES)
            return [list(options_of(request)) for request in llm.requests]

    assert orders(1) == orders(1)
    assert len({str(orders(seed)) for seed in range(6)}) > 1


def test_votes_outdo_a_judge_that_always_takes_the_first_label() -> None:
    """Without log-probabilities a judge that looks at labels only leaves the candidates' weights as they were."""
    with ScriptedLLM(default=lambda request: '{"choice": "A"}' if options_of(request) else explanation()) as llm:
        answer = judge(llm, protocol="shortlist").attribute(shop_run(), candidates=CANDIDATES)
    assert {candidate.step: candidate.score for candidate in answer.candidates} == {
        3: pytest.approx(0.1),
        4: pytest.approx(0.2),
        6: pytest.approx(0.1),
    }


def test_a_label_that_was_not_offered_is_sent_back() -> None:
    replies, pick = iter(['{"choice": "Z"}']), picks("step 3")
    with ScriptedLLM(default=lambda request: next(replies, None) or pick(request)) as llm:
        assert judge(llm, protocol="shortlist").attribute(shop_run(), candidates=CANDIDATES).step == 3
        assert "there is no option 'Z': expected one of A, B, C" in llm.requests[1].last


def test_steps_of_people_are_no_candidates() -> None:
    candidates = [Candidate(agent="user", step=0, score=0.9), Candidate(agent="Calculator", step=3, score=0.1)]
    with ScriptedLLM([explanation()]) as llm:
        answer = judge(llm, protocol="shortlist").attribute(shop_run(), candidates=candidates)
    assert [(candidate.agent, candidate.step) for candidate in answer.candidates] == [("Calculator", 3)]


def test_candidates_must_be_steps_of_the_run_and_of_use_to_the_protocol() -> None:
    with ScriptedLLM(default=verdict()) as llm:
        for wrong in (Candidate(agent="Planner", step=3, score=0.5), Candidate(agent="Planner", step=70, score=0.5)):
            with pytest.raises(AttributionError, match="is none of run 'shop-1'"):
                judge(llm, protocol="shortlist").attribute(shop_run(), candidates=[wrong])
        with pytest.raises(ConfigError, match="takes no candidates"):
            judge(llm, protocol="all-at-once").attribute(shop_run(), candidates=CANDIDATES)
        assert llm.calls == 0


# --- log-probabilities: the scripted server gives none, so a small one of our own does


class LogprobServer:
    """Answers each choice with log-probabilities: a liking for places plus a belief about what stands there."""

    def __init__(self, places: list[float], beliefs: dict[str, float]) -> None:
        self.requests: list[dict[str, Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(body)
                answer = json.dumps(outer.answer(body, places, beliefs)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:
                """Keep the test's output clean."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, body: dict[str, Any], places: list[float], beliefs: dict[str, float]) -> dict[str, Any]:
        options = labels_in(body["messages"][-1]["content"])
        text, logprobs = explanation(), None
        if options:
            known = {label: belief(beliefs, text) + places["ABC".index(label)] for text, label in options.items()}
            total = math.log(sum(math.exp(value) for value in known.values()))
            logprob = {label: value - total for label, value in known.items()}
            best = max(logprob, key=lambda label: logprob[label])
            text = json.dumps({"choice": best})
            tops = [{"token": label, "logprob": value} for label, value in logprob.items() if value > -8]
            tokens = [('{"choice": "', 0.0, []), (best, logprob[best], tops), ('"}', 0.0, [])]
            content = [{"token": token, "logprob": value, "top_logprobs": tops} for token, value, tops in tokens]
            logprobs = {"content": content} if body.get("logprobs") else None
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "finish_reason": "stop", "message": message, "logprobs": logprobs}
        return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def belief(beliefs: dict[str, float], text: str) -> float:
    return next((value for name, value in beliefs.items() if text.startswith(name)), 0.0)


@pytest.fixture
def logprob_judge() -> Iterator[Callable[..., tuple[JudgeAttributor, LogprobServer]]]:
    servers: list[LogprobServer] = []

    def start(places: list[float], beliefs: dict[str, float], **options: Any) -> tuple[JudgeAttributor, LogprobServer]:
        servers.append(LogprobServer(places, beliefs))
        settings = {"cache_dir": None, "protocol": "shortlist", **options}
        return JudgeAttributor(JudgeOptions(model="m", base_url=servers[-1].base_url, **settings)), servers[-1]

    yield start
    for server in servers:
        server.close()


BELIEFS = {"step 3": 1.0, "step 4": 0.0, "step 6": -1.0}
EVEN = tuple(candidate.model_copy(update={"score": 0.3}) for candidate in CANDIDATES[1:])


def test_a_liking_for_a_place_cancels_out(logprob_judge: Callable[..., tuple[JudgeAttributor, LogprobServer]]) -> None:
    """The judge likes the first place far more than it likes any step; only the steps count in the end."""
    places = [3.0, 0.0, -2.0]
    asked, server = logprob_judge(places, BELIEFS)
    answer = asked.attribute(shop_run(), candidates=EVEN)
    total = sum(math.exp(value) for value in BELIEFS.values())
    for candidate in answer.candidates:
        share = math.exp(BELIEFS[f"step {candidate.step}"]) / total
        assert candidate.score == pytest.approx(0.5 * 0.9 * share, abs=1e-3)
    choices = [server.answer(body, places, BELIEFS)["choices"][0] for body in server.requests[:3]]
    assert {choice["message"]["content"] for choice in choices} == {'{"choice": "A"}'}  # always the first place
    assert answer.step == 3


def test_log_probabilities_are_asked_for_in_choices_only(
    logprob_judge: Callable[..., tuple[JudgeAttributor, LogprobServer]],
) -> None:
    asked, server = logprob_judge([0.0, 0.0, 0.0], BELIEFS)
    asked.attribute(shop_run(), candidates=CANDIDATES)
    *choices, reason = server.requests
    assert all(body["logprobs"] is True and body["top_logprobs"] == 6 for body in choices)
    assert "logprobs" not in reason


def test_a_label_beyond_the_reported_ones_is_less_likely_than_all_of_them(
    logprob_judge: Callable[..., tuple[JudgeAttributor, LogprobServer]],
) -> None:
    asked, _ = logprob_judge([0.0, 0.0, 0.0], {"step 3": 0.0, "step 4": -20.0, "step 6": -1.0})
    answer = asked.attribute(shop_run(), candidates=EVEN)
    assert [one.step for one in answer.candidates] == [3, 6, 4]
