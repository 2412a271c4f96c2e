"""The OpenAI-compatible endpoint: what is sent, what is given up, what is sent again, and what is an error."""

from __future__ import annotations

import json
import logging
import math
import socket
from types import SimpleNamespace
from typing import Any

import pytest

from tracer_hooks.diagnosis import diagnose_each
from tracer_hooks.diagnosis.judge import JudgeAttributor, JudgeOptions
from tracer_hooks.endpoint import ChatCompletion, ChatRequest, label_logprobs, retry_after
from tracer_hooks.errors import AttributionError, ConfigError
from tracer_hooks.schema import Candidate
from tracer_hooks.telemetry import is_suppressed
from tracer_hooks.testing import Drop, ErrorReply, Garbage, Reply, ScriptedLLM, ScriptedRequest, When

from ._runs import budget, explanation, judge, shop_run, verdict


def format_of(request: ScriptedRequest) -> str:
    """How a request asks for JSON."""
    asked = request.raw.get("response_format")
    if asked is None:
        return "text"
    return f"{asked['type']}+schema" if "schema" in asked else str(asked["type"])


def refusing(*formats: str, status: int = 400, message: str = "unknown response_format"):
    """A server that takes none of ``formats``."""
    return lambda request: (
        ErrorReply(status, message=message) if format_of(request) in formats else Reply(verdict(), usage=(5, 1))
    )


@pytest.mark.parametrize("status", [400, 422, 501])
def test_a_server_that_refuses_a_schema_is_asked_for_less_until_it_answers(status: int) -> None:
    with ScriptedLLM(default=refusing("json_schema", "json_object+schema", "json_object", status=status)) as llm:
        asked = judge(llm)
        assert asked.attribute(shop_run()).step == 3
        assert [format_of(request) for request in llm.requests] == [
            "json_schema",
            "json_object+schema",
            "json_object",
            "text",
        ]
        asked.attribute(shop_run(run_id="second"))
        assert format_of(llm.requests[-1]) == "text"  # what it takes is known now
        assert llm.calls == 5


def test_llama_cpp_takes_the_schema_beside_the_json_object() -> None:
    message = "1 validation error: {'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text'\"}"
    with ScriptedLLM(default=refusing("json_schema", status=500, message=message)) as llm:
        assert judge(llm).attribute(shop_run()).step == 3
        assert [format_of(request) for request in llm.requests] == ["json_schema", "json_object+schema"]
        sent = llm.requests[1].raw["response_format"]["schema"]
    assert sent["properties"]["agent"]["enum"] == ["Planner", "Price_Finder", "Calculator"]


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ("temperature", "Unsupported value: 'temperature' does not support 0.0 with this model."),
        ("seed", "Unrecognized request argument supplied: `seed`"),
        ("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
    ],
)
def test_a_parameter_that_the_server_does_not_take_is_left_out(parameter: str, message: str) -> None:
    def reply(request: ScriptedRequest) -> Any:
        return ErrorReply(400, message=message) if parameter in request.raw else verdict()

    with ScriptedLLM(default=reply) as llm:
        assert judge(llm).attribute(shop_run()).step == 3
        first, second = llm.requests
    assert parameter in first.raw
    assert format_of(second) == "json_schema"  # the schema was not what it complained of
    assert ("max_completion_tokens" in second.raw) is (parameter == "max_tokens")


@pytest.mark.parametrize("status", [400, 500])
def test_a_server_without_log_probabilities_is_asked_for_votes(status: int) -> None:
    def reply(request: ScriptedRequest) -> Any:
        if "logprobs" in request.raw:
            return ErrorReply(status, message="logprobs is not supported for models created with `logits_all=False`")
        return '{"choice": "A"}' if "A) " in request.last else explanation()

    candidates = [Candidate(agent="Calculator", step=3, score=0.5), Candidate(agent="Planner", step=4, score=0.5)]
    with ScriptedLLM(default=reply) as llm:
        answer = judge(llm, protocol="shortlist").attribute(shop_run(), candidates=candidates)
        assert llm.calls == 4  # a refusal, two orders of the steps, the reason
    assert answer.step in (3, 4)


def test_sampling_and_further_fields_are_sent() -> None:
    with ScriptedLLM(default=verdict()) as llm:
        judge(llm, seed=7, reply_tokens=99, extra_body={"top_k": 5}).attribute(shop_run())
        judge(llm, temperature=None).attribute(shop_run())
        first, second = llm.requests
    assert (first.raw["seed"], first.raw["max_tokens"], first.raw["temperature"], first.raw["top_k"]) == (7, 99, 0.0, 5)
    assert first.raw["model"] == "scripted"
    assert "temperature" not in second.raw


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_refusal_that_passes_is_sent_again(status: int) -> None:
    with ScriptedLLM([ErrorReply(status, retry_after=0.001), ErrorReply(status), verdict()]) as llm:
        answer = judge(llm).attribute(shop_run())
        assert llm.calls == 3
        assert [format_of(request) for request in llm.requests] == ["json_schema"] * 3
    assert answer.step == 3


def test_after_the_last_attempt_the_refusal_is_an_error() -> None:
    with ScriptedLLM(default=ErrorReply(429, message="slow down")) as llm:
        with pytest.raises(AttributionError, match=r"refused the request \(429\): slow down"):
            judge(llm, attempts=3).attribute(shop_run())
        assert llm.calls == 3


def test_a_spent_quota_is_not_asked_again() -> None:
    with ScriptedLLM(default=ErrorReply(429, code="insufficient_quota", message="no money")) as llm:
        with pytest.raises(AttributionError, match="no money"):
            judge(llm).attribute(shop_run())
        assert llm.calls == 1


def test_an_answer_that_takes_too_long_is_asked_for_again_and_then_an_error() -> None:
    slow = Reply(verdict(), delay_s=60)
    with ScriptedLLM(rules=[When().then(slow, verdict())]) as llm:
        assert judge(llm, timeout_s=1.0).attribute(shop_run()).step == 3
        assert llm.calls >= 2
    with ScriptedLLM(default=slow) as llm:
        with pytest.raises(AttributionError, match=r"did not answer in time. Set TRACER_HOOKS_JUDGE_TIMEOUT"):
            judge(llm, timeout_s=0.1, attempts=2).attribute(shop_run())
        assert llm.calls == 2


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (ErrorReply(401, message="bad key"), "refused the key: bad key. Set TRACER_HOOKS_JUDGE_API_KEY"),
        (ErrorReply(404, message="no such model"), r"\(404\): no such model. Check the model's name 'scripted'"),
        (ErrorReply(400, message="too long"), r"\(400\): too long. .*TRACER_HOOKS_JUDGE_CONTEXT"),
        (Garbage("<html>proxy</html>", content_type="text/html"), "no chat completion"),
        (Garbage("{}"), "no chat completion"),
        (Garbage('{"choices": [{"ind'), "no chat completion"),
    ],
)
def test_other_failures_are_errors_at_once(answer: Any, said: str) -> None:
    with ScriptedLLM(default=answer) as llm:
        with pytest.raises(AttributionError, match=said):
            judge(llm).attribute(shop_run())
        assert llm.calls == (4 if getattr(answer, "status", 0) == 400 else 1)


def test_a_connection_that_breaks_each_time_is_an_error_after_the_last_attempt() -> None:
    with ScriptedLLM(default=Drop(sent=0)) as llm:
        with pytest.raises(AttributionError, match="cannot be reached"):
            judge(llm, attempts=3).attribute(shop_run())
        assert llm.calls == 3


def test_a_server_that_is_not_there_is_named_with_what_to_do() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        base_url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    asked = JudgeAttributor(JudgeOptions(model="m", base_url=base_url, cache_dir=None))
    with pytest.raises(AttributionError, match=r"cannot be reached: .* Start the server, or set TRACER_HOOKS_JUDGE_B"):
        asked.attribute(shop_run())


def test_a_reply_without_words_is_asked_for_again() -> None:
    with ScriptedLLM([Reply(""), verdict()]) as llm:
        assert judge(llm).attribute(shop_run()).step == 3
        assert llm.requests[1].messages[2]["content"] == "(nothing)"


def test_half_characters_in_a_reply_do_no_harm() -> None:
    body = json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": "odd \ud800"}}]})
    with ScriptedLLM([Garbage(body), verdict()]) as llm:
        assert judge(llm).attribute(shop_run()).step == 3
        assert llm.requests[1].messages[2]["content"] == "odd \ufffd"


def test_a_server_that_does_not_count_tokens_is_counted_for() -> None:
    body = {
        "id": "x", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": verdict()}}],
    }  # fmt: skip
    with ScriptedLLM(default=Garbage(json.dumps(body))) as llm:
        answer = judge(llm).attribute(shop_run())
    assert answer.usage is not None
    assert answer.usage.input_tokens > 500
    assert answer.usage.output_tokens > 50


def test_a_server_that_seems_to_cut_prompts_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    with ScriptedLLM(default=Reply(verdict(), usage=(300, 60))) as llm, caplog.at_level(logging.WARNING):
        asked = judge(llm)
        assert asked.attribute(shop_run()).step == 3
        asked.attribute(shop_run())
    (record,) = [record for record in caplog.records if "seems to cut prompts" in record.message]
    assert "read 300 tokens" in record.message
    assert "TRACER_HOOKS_JUDGE_CONTEXT" in record.message


# --- keys


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys that the client sends."""
    import openai

    sent: list[str] = []
    original = openai.OpenAI.__init__

    def spy(self: Any, *args: Any, **options: Any) -> None:
        sent.append(options["api_key"])
        original(self, *args, **options)

    monkeypatch.setattr(openai.OpenAI, "__init__", spy)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "TRACER_HOOKS_JUDGE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return sent


def test_the_key_of_openai_goes_to_no_other_endpoint(keys: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    JudgeAttributor(JudgeOptions(model="m", base_url="http://127.0.0.1:9/v1"))
    JudgeAttributor(JudgeOptions(model="m"))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    JudgeAttributor(JudgeOptions(model="m"))
    JudgeAttributor(JudgeOptions(model="m", base_url="http://127.0.0.1:9/v1"))
    monkeypatch.setenv("TRACER_HOOKS_JUDGE_API_KEY", "sk-judge")
    JudgeAttributor(JudgeOptions(model="m", base_url="http://127.0.0.1:7/v1"))
    monkeypatch.setenv("MY_KEY", "sk-mine")
    JudgeAttributor(JudgeOptions(model="m", base_url="http://127.0.0.1:7/v1", api_key_env="MY_KEY"))
    assert keys == ["none", "sk-secret", "sk-secret", "sk-secret", "sk-judge", "sk-mine"]


def test_no_endpoint_and_no_key_is_an_error_that_says_what_to_set(keys: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"set TRACER_HOOKS_JUDGE_BASE_URL .*OPENAI_API_KEY.*a directory"):
        JudgeAttributor(JudgeOptions(model="m"))
    with pytest.raises(ConfigError, match="expects its key in the variable 'MY_KEY', which is not set"):
        JudgeAttributor(JudgeOptions(model="m", api_key_env="MY_KEY"))


# --- the judge's calls are not the team's


def test_the_judges_calls_are_not_traced() -> None:
    from tracer_hooks.schema import Usage

    class Watching:
        name = identity = "watching"
        context_tokens = 32_768
        suppressed: list[bool] = []

        def count_tokens(self, text: str) -> int:
            return len(text) // 4

        def complete(self, request: ChatRequest, *, timeout_s: float | None = None) -> ChatCompletion:
            self.suppressed.append(is_suppressed())
            return ChatCompletion(text=verdict(), usage=Usage())

    watching = Watching()
    asked = JudgeAttributor(JudgeOptions(cache_dir=None, budget=budget()), model=watching)
    asked.attribute(shop_run())
    list(diagnose_each([(shop_run(), None)] * 2, attributor=asked))  # the same question may be asked once for both
    assert len(watching.suppressed) >= 2
    assert all(watching.suppressed)
    assert not is_suppressed()


def _token(text: str, logprob: float, **others: float) -> SimpleNamespace:
    listed = [SimpleNamespace(token=token, logprob=value) for token, value in others.items()]
    return SimpleNamespace(token=text, logprob=logprob, top_logprobs=listed)


def test_the_probabilities_of_a_label_in_several_spellings_are_added() -> None:
    tokens = [_token("{", -0.1), _token(' "A', math.log(0.5), A=math.log(0.25), B=math.log(0.125), the=math.log(0.1))]
    found = label_logprobs(tokens, ("A", "B", "C"))
    assert found is not None
    assert math.exp(found["A"]) == pytest.approx(0.75)
    assert math.exp(found["B"]) == pytest.approx(0.125)
    assert found["C"] < math.log(0.1)  # less likely than all that were reported


def test_a_reply_that_names_no_label_gives_no_probabilities() -> None:
    assert label_logprobs([_token("Hm", -0.1, A=-1.0)], ("A", "B")) is None
    assert label_logprobs([], ("A", "B")) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({"retry-after-ms": "-1", "retry-after": "3"}, 3.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, None),
        ({}, None),
    ],
)
def test_how_long_a_server_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(SimpleNamespace(headers=headers)) == seconds
