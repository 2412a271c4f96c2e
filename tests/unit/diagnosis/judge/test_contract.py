"""Whatever the judge replies within its schema, and whatever the run looks like, the answer keeps the contract."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tracer_hooks.diagnosis.judge import JudgeAttributor, JudgeOptions, _calls
from tracer_hooks.endpoint import ChatCompletion, ChatRequest
from tracer_hooks.errors import MissingExtraError, TracerHooksError
from tracer_hooks.schema import AgentSpec, RunOutcome, Step, StepInput, StepKind, ToolCall, Trajectory, Usage

from .._quotable import quotable
from ._runs import budget

TEXTS = [
    "", " ", "TERMINATE", "6 * 7 = 41", "=== step 0 | a | message ===", "{{ case }} {% raw %}", "\x00\x01 ünï 🙂",
    "a\n\n\tb  c", '{"agent": "a", "step": 99}', "x" * 9_000, "[... 12 characters left out ...]", "\u2028", "<think>",
]  # fmt: skip
NAMES = ["user", "human", "a", "A", "a b", "Computer_terminal", "Orchestrator", "", "b (x)", "=== step 1 |"]
PROTOCOLS = ["all-at-once", "shortlist", "auto"]


class Random:
    """A model that replies with anything that its schema allows."""

    name = identity = "random"

    def __init__(self, seed: int, context_tokens: int) -> None:
        self._rng = random.Random(seed)
        self.context_tokens = context_tokens

    def count_tokens(self, text: str) -> int:
        return len(text) // 3

    def complete(self, request: ChatRequest, *, timeout_s: float | None = None) -> ChatCompletion:
        sent = sum(self.count_tokens(message.content) for message in request.messages)
        assert sent + request.max_tokens <= self.context_tokens
        logprobs = {label: self._rng.uniform(-9, 0) for label in request.labels} if self._rng.random() < 0.5 else None
        text = json.dumps(self._value(request.schema))
        return ChatCompletion(
            text=text, usage=Usage(input_tokens=1), label_logprobs=logprobs if request.labels else None
        )

    def _value(self, schema: Any) -> Any:
        rng = self._rng
        if "enum" in schema:
            return rng.choice(schema["enum"])
        if "anyOf" in schema:
            return self._value(rng.choice(schema["anyOf"]))
        match schema["type"]:
            case "object":
                return {name: self._value(one) for name, one in schema["properties"].items()}
            case "array":
                return [self._value(schema["items"]) for _ in range(rng.randint(0, schema["maxItems"]))]
            case "integer":
                return rng.randint(schema["minimum"], schema["maximum"])
            case "number":
                return rng.choice([0, 1, rng.random()])
            case "boolean":
                return rng.random() < 0.2
            case "null":
                return None
        return rng.choice(TEXTS)


def odd_run(seed: int) -> Trajectory:
    rng = random.Random(seed)

    def text() -> str:
        return "\n".join(rng.choice(TEXTS) for _ in range(rng.randint(0, 3)))

    def step(index: int) -> Step:
        calls = [
            ToolCall(name=rng.choice(["search", ""]), arguments=rng.choice([None, text(), {"q": [text(), 4.5]}]),  # type: ignore[arg-type]
                     result=rng.choice([None, text()]), error=rng.choice([None, text()]))
            for _ in range(rng.randint(0, 2))
        ]  # fmt: skip
        inputs = [
            StepInput(source=rng.choice(NAMES), step=rng.choice([None, -1, 0, 50]), text=rng.choice([None, text()]))
        ]
        return Step(
            index=index, agent=rng.choice(NAMES), kind=rng.choice(list(StepKind)), content=text(), inputs=tuple(inputs),
            tool_calls=tuple(calls), recipient=rng.choice([None, *NAMES]), error=rng.choice([None, text()]),
        )  # fmt: skip

    return Trajectory(
        run_id=str(seed),
        task=text(),
        agents=tuple(AgentSpec(name=name, instructions=text()) for name in rng.sample(NAMES, rng.randint(0, 4))),
        steps=tuple(step(index) for index in range(rng.choice([0, 1, 2, 5, 12, 30]))),
        outcome=rng.choice(list(RunOutcome)),
        outcome_reason=rng.choice([None, text()]),
        final_output=rng.choice([None, text()]),
    )


def check(answer: Any, run: Trajectory) -> None:
    assert answer.run_id == run.run_id
    for candidate in answer.candidates:
        assert run.steps[candidate.step].agent == candidate.agent
    assert sum(one.score for one in answer.candidates) <= 0.5 + 1e-9
    assert [one.score for one in answer.candidates] == sorted((one.score for one in answer.candidates), reverse=True)
    for quoted in answer.evidence:
        assert quoted.why.strip() or quoted.quote
        assert any(quoted.quote in text for text in quotable(run.steps[quoted.step]))
    assert {fault.agent for fault in answer.faults} <= {step.agent for step in run.steps}
    if answer.abstained:
        assert (answer.agent, answer.step, answer.confidence) == (None, None, 0.0)
        assert answer.abstained_reason in ("no sign of failure", "environment fault", "trace too incomplete")
    else:
        assert (answer.agent, answer.step) == (answer.candidates[0].agent, answer.candidates[0].step)
        assert 0 < answer.confidence <= 0.5
        people = {"user", "human"}
        assert answer.agent not in people or {step.agent for step in run.steps} <= people


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_answer_keeps_the_contract(protocol: str) -> None:
    answered = 0
    for seed in range(30):
        run = odd_run(seed)
        options = JudgeOptions(protocol=protocol, cache_dir=None, budget=budget(), reply_tokens=256)  # type: ignore[arg-type]
        asked = JudgeAttributor(options, model=Random(seed, random.Random(seed).choice([6_000, 40_000])))
        before = run.model_dump_json()
        answer = asked.attribute(run)
        check(answer, run)
        answered += not answer.abstained
        assert run.model_dump_json() == before
    assert answered >= 5


def test_the_same_replies_give_the_same_answer() -> None:
    for seed in range(20):
        answers = [
            JudgeAttributor(JudgeOptions(cache_dir=None), model=Random(seed, 40_000)).attribute(odd_run(seed))
            for _ in range(2)
        ]
        first, second = (answer.model_copy(update={"elapsed_s": 0.0}) for answer in answers)
        assert first == second


def test_a_context_that_is_too_small_is_an_error_of_the_tree() -> None:
    for seed in range(20):
        asked = JudgeAttributor(JudgeOptions(cache_dir=None, reply_tokens=64), model=Random(seed, 1_500))
        try:
            check(asked.attribute(odd_run(seed)), odd_run(seed))
        except TracerHooksError as error:
            assert "too small" in str(error)  # noqa: PT017  # small runs fit, others do not


def test_importing_the_judge_loads_neither_its_models_nor_its_clients() -> None:
    code = (
        "import sys, tracer_hooks.diagnosis.judge\n"
        "heavy = {'openai', 'httpx', 'torch', 'transformers', 'tenacity', 'jinja2'}\n"
        "print([m for m in sys.modules if m in heavy or '._judge._local' in m])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_a_folder_of_weights_is_run_by_the_distribution_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[JudgeOptions] = []

    def load(options: JudgeOptions) -> Random:
        made.append(options)
        return Random(0, 40_000)

    point = SimpleNamespace(load=lambda: load)
    monkeypatch.setattr(_calls, "entry_points", lambda group, name: [point] if name == "local" else [])
    options = JudgeOptions(model=str(tmp_path), cache_dir=None)
    check(JudgeAttributor(options).attribute(odd_run(1)), odd_run(1))
    assert made == [options]


def test_without_anything_that_runs_weights_the_message_has_the_install_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_calls, "entry_points", lambda group, name: [])
    with pytest.raises(MissingExtraError, match=r"a judge from a local model .*pip install -e '.*/packages/models'"):
        JudgeAttributor(JudgeOptions(model=str(tmp_path)))
