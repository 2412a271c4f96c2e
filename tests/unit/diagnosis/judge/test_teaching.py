"""What a judge is taught is what it is asked: the same messages, letter for letter."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.diagnosis import JudgeAttributor, JudgeOptions, StructuralAttributor
from tracer_hooks.diagnosis.judge._attributor import saved_options
from tracer_hooks.endpoint import ChatCompletion, ChatRequest
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import ErrorMode, RunOutcome, Step, Trajectory, Usage
from tracer_hooks_models.teaching import (
    JudgeQuestions,
    answerable_steps,
    choice_reply,
    read_choice,
    read_verdict,
    write_judge_options,
)

from ._runs import shop_run

OPTIONS = JudgeOptions(context_tokens=4096, reply_tokens=256, proposer="structural", top_k=5, cache_dir=None)


class Asked:
    """Keeps every request, and answers each in the form that it wants."""

    name = identity = "asked"
    context_tokens = OPTIONS.context_tokens

    def __init__(self) -> None:
        self.requests: list[ChatRequest] = []

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def complete(self, request: ChatRequest, *, timeout_s: float | None = None) -> ChatCompletion:
        self.requests.append(request)
        step = request.schema["properties"].get("step", {}).get("enum", [0])[0]
        agent = request.schema["properties"].get("agent", {}).get("enum", [""])[0]
        reply: dict[str, Any] = {"choice": "A"} if request.labels else {"agent": agent, "step": step}
        reply |= {"verdict": "fault", "error_mode": "FM-1.1", "probability": 0.5}
        return ChatCompletion(text=json.dumps(reply), usage=Usage(input_tokens=1, output_tokens=1))


def long_run() -> Trajectory:
    agents = ["Planner", "Coder", "Tester"]
    said = "says a lot of words that take up room in every prompt " * 8
    steps = tuple(Step(index=k, agent=agents[k % 3], content=f"{said} {k}") for k in range(90))
    return Trajectory(run_id="long", task="sum up", steps=steps, outcome=RunOutcome.FAILED)


def candidates_of(run: Trajectory) -> dict[int, float]:
    scores = StructuralAttributor().score(run)
    assert scores is not None
    belief = scores.belief()
    ranked = sorted(range(len(belief)), key=lambda step: (-belief[step], step))[: OPTIONS.top_k]
    return {step: belief[step] for step in ranked}


@pytest.mark.parametrize("run", [shop_run(), long_run()], ids=["short", "long"])
def test_the_question_about_the_whole_run_is_the_one_that_is_taught(run: Trajectory) -> None:
    model, options = Asked(), replace(OPTIONS, protocol="all-at-once")
    JudgeAttributor(options, model=model).attribute(run)
    taught = JudgeQuestions(options, model.count_tokens).verdict(run, focus=candidates_of(run))
    assert model.requests[0].messages == taught.messages
    assert set(candidates_of(run)) <= taught.shown
    assert (len(taught.shown) < len(run.steps)) == (run.run_id == "long")


@pytest.mark.parametrize("run", [shop_run(), long_run()], ids=["short", "long"])
def test_every_order_of_the_shortlist_is_the_one_that_is_taught(run: Trajectory) -> None:
    model, options = Asked(), replace(OPTIONS, protocol="shortlist")
    JudgeAttributor(options, model=model).attribute(run)
    taught = JudgeQuestions(options, model.count_tokens).shortlist(run, candidates_of(run))
    asked = [request for request in model.requests if request.labels]
    assert [request.messages for request in asked] == [question.messages for question in taught]
    assert [request.labels for request in asked] == [question.labels for question in taught]
    for question in taught:
        shown = dict(line.split(") ", 1) for line in question.messages[-1].content.splitlines() if line[1:3] == ") ")
        for label, step in zip(question.labels, question.options, strict=True):
            assert step is None or shown[label].startswith(f"step {step}, by {run.steps[step].agent}")


def test_a_reply_is_read_as_the_judge_reads_it() -> None:
    run = shop_run()
    step = answerable_steps(run)[0]
    agent = run.steps[step].agent
    other = {"agent": "Nobody", "error_mode": "FM-2.1"}
    good = {"agent": agent.upper(), "step": step, "error_mode": "FM-1.1", "other_faults": [other]}
    answer = read_verdict(f"<think>hm</think> {json.dumps(good)}", run)
    assert answer is not None
    assert (answer.agent, answer.step) == (agent, step)
    assert answer.pairs == ((agent, ErrorMode.FM_1_1), ("Nobody", ErrorMode.FM_2_1))  # a false positive stays one
    for bad in ({**good, "step": 999}, {**good, "agent": "Nobody"}, {"agent": agent}, {**good, "verdict": "no fault"}):
        assert read_verdict(json.dumps(bad), run) is None
    assert read_verdict("I think so", run) is None


def test_a_choice_means_the_step_that_stood_there() -> None:
    run = shop_run()
    assert read_choice(choice_reply("B"), (2, 3, 4), run).step == 3
    nobody = read_choice(choice_reply("C"), (2, 3, None), run)
    assert nobody is not None
    assert (nobody.agent, nobody.step, nobody.pairs) == (None, None, ())
    assert read_choice(choice_reply("D"), (2, 3, 4), run) is None
    assert read_choice("B", (2, 3, 4), run) is None


def test_a_folder_says_how_its_judge_is_asked_and_the_environment_goes_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_judge_options(tmp_path, replace(OPTIONS, protocol="shortlist"))
    found = saved_options(tmp_path)
    assert (found.protocol, found.context_tokens, found.reply_tokens, found.model) == (
        "shortlist", 4096, 256, str(tmp_path),
    )  # fmt: skip
    monkeypatch.setenv("TRACER_HOOKS_JUDGE_CONTEXT", "9999")
    assert saved_options(tmp_path).context_tokens == 9999
    assert saved_options(tmp_path).reply_tokens == 256
    default = JudgeOptions().context_tokens
    monkeypatch.setenv("TRACER_HOOKS_JUDGE_CONTEXT", str(default))  # said, although it is the default
    assert saved_options(tmp_path).context_tokens == default
    for damaged in ('{"version": 1, "model": {"protocol": "guess"}}', '{"version": 2, "model": {}}'):
        (tmp_path / "judge.json").write_text(damaged)
        with pytest.raises(AttributionError, match="train the judge again"):
            saved_options(tmp_path)
