"""Choosing among candidates: the agent first, then its steps, free of a liking for a label or a place."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tracer_hooks.attribution import diagnose_trajectory
from tracer_hooks.attribution._judge import JudgeAttributor, JudgeOptions
from tracer_hooks.attribution._scores import StepScores
from tracer_hooks.errors import AttributionError, ConfigError
from tracer_hooks.schema import Candidate, ErrorMode, RunOutcome, Trajectory
from tracer_hooks.testing import ScriptedLLM, ScriptedRequest

from ._runs import explanation, judge, long_run, shop_run, verdict

CANDIDATES = (
    Candidate(agent="Price_Finder", step=2, score=0.1),
    Candidate(agent="Calculator", step=3, score=0.2),
    Candidate(agent="Planner", step=4, score=0.3),
    Candidate(agent="Planner", step=6, score=0.2),
)


def options_of(prompt: str) -> dict[str, str]:
    """The label of each option of a question, by the option's text."""
    return {text: label for label, text in re.findall(r"^([A-Z])\) (.*)$", prompt, re.MULTILINE)}


def chooser(pick: Callable[[dict[str, str]], str | None]) -> Callable[[ScriptedRequest], str]:
    """Answers a choice with the label that ``pick`` takes of the options, and every other question with a reason."""

    def reply(request: ScriptedRequest) -> str:
        options = options_of(str(request.messages[1]["content"]))  # also when the last message asks for a repair
        return json.dumps({"choice": pick(options)}) if options else explanation()

    return reply


def by_text(*wanted: str) -> Callable[[dict[str, str]], str | None]:
    return lambda options: next(label for text, label in options.items() if text.startswith(wanted))


def test_the_agent_is_chosen_first_then_a_step_of_that_agent_then_the_reason() -> None:
    with ScriptedLLM(default=chooser(by_text("Planner", "step 6"))) as llm:
        asked = judge(llm, protocol="ranked")
        answer = asked.attribute(shop_run(), candidates=CANDIDATES)
        questions = [options_of(request.last) for request in llm.requests]
    assert (answer.agent, answer.step, answer.error_mode) == ("Planner", 6, ErrorMode.FM_3_3)
    assert [set(options) for options in questions[:3]] == [{"Price_Finder", "Calculator", "Planner"}] * 3
    assert [{text[:6] for text in options} for options in questions[3:5]] == [{"step 4", "step 6"}] * 2
    assert questions[5] == {}
    assert len(questions) == 6
    assert {one.step for one in answer.candidates} == {2, 3, 4, 6}
    assert answer.candidates[0].step == 6
    assert sum(one.score for one in answer.candidates) <= 0.5 + 1e-9


def test_every_option_has_had_every_label() -> None:
    with ScriptedLLM(default=chooser(by_text("Planner", "step 6"))) as llm:
        judge(llm, protocol="ranked").attribute(shop_run(), candidates=CANDIDATES)
        questions = [options_of(request.last) for request in llm.requests[:3]]
    for agent in ("Price_Finder", "Calculator", "Planner"):
        assert {options[agent] for options in questions} == {"A", "B", "C"}


def test_the_order_of_options_depends_on_the_seed_only() -> None:
    def orders(seed: int) -> list[list[str]]:
        with ScriptedLLM(default=chooser(by_text("Planner", "step"))) as llm:
            judge(llm, protocol="ranked", seed=seed).attribute(shop_run(), candidates=CANDIDATES)
            return [list(options_of(request.last)) for request in llm.requests]

    assert orders(1) == orders(1)
    assert len({str(orders(seed)) for seed in range(6)}) > 1


def test_votes_outdo_a_judge_that_always_takes_the_first_label() -> None:
    """Without log-probabilities a judge that looks at labels only is left with an even belief."""
    with ScriptedLLM(default=chooser(lambda options: "A")) as llm:
        scores = judge(llm, protocol="ranked").score(shop_run(), candidates=CANDIDATES)
    assert scores is not None
    odds = [scores.agents[agent] for agent in ("Price_Finder", "Calculator", "Planner")]
    assert odds == [pytest.approx(math.log(0.5))] * 3


def test_where_the_judge_tells_nothing_the_candidates_weights_decide() -> None:
    weights = {1: 0.1, 2: 0.1, 3: 0.1, 4: 0.2, 5: 0.1, 6: 0.3}
    candidates = [Candidate(agent=shop_run().steps[step].agent, step=step, score=w) for step, w in weights.items()]
    with ScriptedLLM(default=chooser(lambda options: "A")) as llm:
        answer = judge(llm, protocol="ranked").attribute(shop_run(), candidates=candidates)
    assert (answer.agent, answer.step) == ("Planner", 6)


def test_without_candidates_every_step_is_one() -> None:
    with ScriptedLLM(default=chooser(by_text("Calculator", "step 3"))) as llm:
        answer = judge(llm, protocol="ranked").attribute(shop_run())
        assert llm.calls == 4  # three orders of the agents; the only step of the agent needs no question
    assert answer.step == 3


def test_very_many_options_meet_in_groups() -> None:
    with ScriptedLLM(default=chooser(by_text("Writer", "step 17:", "step"))) as llm:
        answer = judge(llm, protocol="ranked", rotations=1).attribute(long_run(steps=60, size=200))
        sizes = [len(options_of(request.last)) for request in llm.requests]
    assert answer.agent == "Writer"
    assert sizes == [2, 12, 12, 6, 3, 0]


def test_a_run_that_may_be_good_can_have_nobody_to_blame() -> None:
    with ScriptedLLM(default=chooser(by_text("no agent made"))) as llm:
        run = shop_run(outcome=RunOutcome.UNKNOWN)
        answer = judge(llm, protocol="ranked").attribute(run, candidates=CANDIDATES)
        assert llm.calls == 4  # orders of three agents and nobody; there is no step to ask for
    assert (answer.abstained_reason, answer.step) == ("no fault found", None)
    with ScriptedLLM(default=chooser(by_text("Calculator"))) as llm:
        judge(llm, protocol="ranked").attribute(shop_run(), candidates=CANDIDATES)
        assert not any("no agent made" in request.last for request in llm.requests)


def test_a_label_that_was_not_offered_is_sent_back() -> None:
    replies = iter(["Z"])
    pick = by_text("Calculator")
    with ScriptedLLM(default=chooser(lambda options: next(replies, None) or pick(options))) as llm:
        assert judge(llm, protocol="ranked").attribute(shop_run(), candidates=CANDIDATES).step == 3
        assert "there is no option 'Z': expected one of A, B, C" in llm.requests[1].last


class Middle:
    """A method that finds the middle steps most likely."""

    name = "middle"

    def score(self, trajectory: Trajectory, *, reference: str | None = None) -> StepScores | None:
        half = len(trajectory.steps) / 2
        return StepScores(steps=tuple(-abs(step.index - half) for step in trajectory.steps))


def test_a_proposer_gives_the_candidates() -> None:
    with ScriptedLLM(default=chooser(by_text("Calculator"))) as llm:
        options = JudgeOptions(model="m", base_url=llm.base_url, cache_dir=None, top_k=3)
        answer = JudgeAttributor(options, proposer=Middle()).attribute(shop_run())
        first = options_of(llm.requests[0].last)
    assert answer.attributor == "judge/2 ranked m"  # auto, since there are candidates
    assert set(first) == {"Calculator", "Planner", "Price_Finder"}  # of the steps 3, 4 and 2 or 5
    assert {one.step for one in answer.candidates} == {2, 3, 4}


def test_a_proposer_can_be_an_attributor_by_name() -> None:
    with ScriptedLLM(default=chooser(by_text("Calculator", "Planner", "Price_Finder", "step"))) as llm:
        answer = judge(llm, proposer="structural", protocol="ranked", top_k=2).attribute(shop_run())
    assert 1 <= len(answer.candidates) <= 2


def test_a_proposer_by_name_must_score_steps_and_must_not_be_the_judge() -> None:
    with ScriptedLLM() as llm:
        with pytest.raises(ConfigError, match="is the judge itself"):
            judge(llm, proposer="judge")
        with pytest.raises(ConfigError, match="unknown attributor 'nobody'"):
            judge(llm, proposer="nobody")


def test_steps_of_people_are_no_candidates() -> None:
    candidates = [Candidate(agent="user", step=0, score=0.9), Candidate(agent="Calculator", step=3, score=0.1)]
    with ScriptedLLM([explanation()]) as llm:
        answer = judge(llm, protocol="ranked").attribute(shop_run(), candidates=candidates)
    assert [(one.agent, one.step) for one in answer.candidates] == [("Calculator", 3)]


def test_candidates_must_be_steps_of_the_run_and_of_use_to_the_protocol() -> None:
    with ScriptedLLM(default=verdict()) as llm:
        for wrong in (Candidate(agent="Planner", step=3, score=0.5), Candidate(agent="Planner", step=70, score=0.5)):
            with pytest.raises(AttributionError, match="is none of run 'shop-1'"):
                judge(llm, protocol="ranked").attribute(shop_run(), candidates=[wrong])
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
        options = options_of(body["messages"][-1]["content"])
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
        settings = {"cache_dir": None, "protocol": "ranked", **options}
        return JudgeAttributor(JudgeOptions(model="m", base_url=servers[-1].base_url, **settings)), servers[-1]

    yield start
    for server in servers:
        server.close()


def test_a_liking_for_a_place_cancels_out(logprob_judge: Callable[..., tuple[JudgeAttributor, LogprobServer]]) -> None:
    """The judge likes the first place far more than it likes any agent; only the agents count in the end."""
    beliefs = {"Calculator": 1.0, "Planner": 0.0, "Price_Finder": -1.0}
    asked, server = logprob_judge([4.0, 0.0, -2.0], beliefs)
    scores = asked.score(shop_run(), candidates=CANDIDATES)
    total = sum(math.exp(value) for value in beliefs.values())
    for agent, value in beliefs.items():
        share = math.exp(value) / total
        assert scores.agents[agent] == pytest.approx(math.log(share / (1 - share)), abs=1e-3)
    chosen = {
        server.answer(body, [4.0, 0.0, -2.0], beliefs)["choices"][0]["message"]["content"]
        for body in server.requests[:3]
    }
    assert chosen == {'{"choice": "A"}'}  # what it says is always the first place
    assert diagnose_trajectory(shop_run(), attributor=asked).agent == "Calculator"


def test_log_probabilities_are_asked_for_in_choices_only(
    logprob_judge: Callable[..., tuple[JudgeAttributor, LogprobServer]],
) -> None:
    asked, server = logprob_judge([0.0, 0.0, 0.0], {"Calculator": 1.0})
    asked.attribute(shop_run(), candidates=CANDIDATES)
    *choices, reason = server.requests
    assert all(body["logprobs"] is True and body["top_logprobs"] == 6 for body in choices)
    assert "logprobs" not in reason


def test_log_probabilities_can_be_switched_off(
    logprob_judge: Callable[..., tuple[JudgeAttributor, LogprobServer]],
) -> None:
    asked, server = logprob_judge([4.0, 0.0, -2.0], {"Calculator": 1.0}, logprobs=False)
    scores = asked.score(shop_run(), candidates=CANDIDATES)
    assert not any("logprobs" in body for body in server.requests)
    assert scores.agents["Calculator"] == pytest.approx(math.log(0.5))  # one vote each: the judge said A three times


def test_a_label_beyond_the_reported_ones_is_less_likely_than_all_of_them(
    logprob_judge: Callable[..., tuple[JudgeAttributor, LogprobServer]],
) -> None:
    asked, _ = logprob_judge([0.0, 0.0, 0.0], {"Calculator": 0.0, "Planner": -20.0, "Price_Finder": -1.0})
    scores = asked.score(shop_run(), candidates=CANDIDATES)
    assert scores.agents["Calculator"] > scores.agents["Price_Finder"] > scores.agents["Planner"]
