"""The one client for models behind an endpoint: what it sends, what it gives up, and how it fails."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import pytest

from tracer_hooks import endpoint as module
from tracer_hooks import repairs  # type: ignore[attr-defined]
from tracer_hooks.endpoint import ChatCompletion, ChatMessage, ChatRequest, Endpoint, EndpointClient, ask, endpoint_chat
from tracer_hooks.errors import EndpointError, MissingExtraError, TracerHooksError
from tracer_hooks.schema import Usage
from tracer_hooks.telemetry import is_suppressed
from tracer_hooks.testing import Drop, ErrorReply, Garbage, Reply, ScriptedLLM, ScriptedRequest
from tracer_hooks_lab import suites

QUESTION = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "6 * 7?"}]


def at(llm: ScriptedLLM, **settings: Any) -> Endpoint:
    return Endpoint(base_url=llm.base_url, model="m", **settings)


@pytest.mark.parametrize("settings", [{}, {"temperature": 0.7, "max_tokens": 64}], ids=["nothing", "all"])
def test_a_chat_sends_what_the_endpoint_names_and_counts_tokens(settings: dict[str, Any]) -> None:
    with ScriptedLLM([Reply("42", usage=(11, 3))]) as llm:
        reply = endpoint_chat(at(llm, api_key="k", **settings), needed_by="a test")(QUESTION)
        (asked,) = llm.requests
    assert (reply.text, reply.usage) == ("42", Usage(input_tokens=11, output_tokens=3))
    assert asked.raw == {"model": "m", "messages": QUESTION, **settings}


def test_a_parameter_that_is_refused_is_left_out_from_then_on() -> None:
    def reply(request: ScriptedRequest) -> Any:
        refused = "max_tokens" in request.raw
        return ErrorReply(400, message="Unsupported parameter: 'max_tokens'.") if refused else "42"

    with ScriptedLLM(default=reply) as llm:
        chat = endpoint_chat(at(llm, max_tokens=9), needed_by="a test")
        assert chat(QUESTION).text == chat(QUESTION).text == "42"
        assert [request.raw.get("max_completion_tokens") for request in llm.requests] == [None, 9, 9]


@pytest.mark.parametrize(
    ("answer", "kind", "status"),
    [
        (ErrorReply(401, message="bad key"), "key", 401),
        (ErrorReply(400, message="no"), "refused", 400),
        (ErrorReply(404, message="no such model"), "refused", 404),
        (ErrorReply(503, message="busy"), "refused", 503),
        (Garbage("<html>"), "odd reply", None),
        (Garbage("[]"), "odd reply", None),
        (Drop(sent=0), "unreachable", None),
        (Reply("late", delay_s=60), "timeout", None),
    ],
)
def test_every_failure_is_an_error_that_says_what_to_do(answer: Any, kind: str, status: int | None) -> None:
    with ScriptedLLM(default=answer) as llm:
        chat = endpoint_chat(at(llm), needed_by="a test", attempts=1, timeout_s=1.0)
        with pytest.raises(EndpointError, match=r"the model 'm' at 'http.* gave no answer: the endpoint ") as raised:
            chat(QUESTION)
    assert (raised.value.kind, raised.value.status) == (kind, status)
    assert isinstance(raised.value, TracerHooksError)
    assert raised.value.reason in str(raised.value)


def test_a_connection_that_breaks_is_made_again_once_the_endpoint_has_answered() -> None:
    request = ChatRequest(messages=(ChatMessage("user", "6 * 7?"),))
    with ScriptedLLM(["42", Drop(sent=0), "43"]) as llm:
        client = EndpointClient(at(llm), needed_by="a test", backoff_s=0.0)
        assert [client.complete(request).text for _ in range(2)] == ["42", "43"]
        assert llm.calls == 3


def test_without_the_client_the_message_names_what_needs_it_and_the_install_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tracer_hooks.cli.improve import writing_chat

    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r"^`tracer-hooks improve` .*pip install -e '.*\[judge\]'"):
        writing_chat("http://127.0.0.1:9/v1", "m", None)


def test_calls_are_not_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    with ScriptedLLM(["42"]) as llm:
        chat = endpoint_chat(at(llm), needed_by="a test")
        complete = EndpointClient.complete

        def watched(self: EndpointClient, request: ChatRequest) -> ChatCompletion:
            seen.append(is_suppressed())
            return complete(self, request)

        monkeypatch.setattr(EndpointClient, "complete", watched)
        chat(QUESTION)
    assert seen == [True]
    assert not is_suppressed()


@pytest.mark.parametrize(
    ("reply", "text", "usage"),
    [
        ("<think>hm</think> 42", "42", Usage(input_tokens=4, output_tokens=5)),
        (ChatCompletion("42", Usage(input_tokens=1, output_tokens=2)), "42", Usage(input_tokens=1, output_tokens=2)),
        (
            {"content": "42", "usage": {"prompt_tokens": 7, "completion_tokens": 8}},
            "42",
            Usage(input_tokens=7, output_tokens=8),
        ),
        (None, "", Usage(input_tokens=4, output_tokens=0)),
    ],
)
def test_a_chat_of_ones_own_may_reply_in_several_ways(reply: Any, text: str, usage: Usage) -> None:
    answer = ask(lambda messages: reply, QUESTION)
    assert (answer.text, answer.usage) == (text, usage)


def test_an_endpoint_comes_from_arguments_else_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert Endpoint.from_env(model="m") == Endpoint(base_url=module.OPENAI, model="m")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert Endpoint.from_env() == Endpoint(base_url="http://127.0.0.1:9/v1", model="gpt-4o-mini", api_key="k")


def test_the_former_places_still_have_their_names() -> None:
    assert suites.Endpoint is Endpoint
    with pytest.warns(DeprecationWarning, match=r"tracer_hooks\.endpoint\.ask"):
        assert repairs.ask is ask
    with pytest.warns(DeprecationWarning, match=r"tracer_hooks\.endpoint\.ChatCompletion"):
        assert repairs.Written("x", Usage()).text == "x"


def test_a_client_that_is_sent_to_another_process_connects_by_itself() -> None:
    with ScriptedLLM(["42"]) as llm:
        client = pickle.loads(pickle.dumps(EndpointClient(at(llm), needed_by="a test", timeout_s=7)))
        assert client.complete(ChatRequest(messages=(ChatMessage("user", "6 * 7?"),))).text == "42"
    assert client._timeout_s == 7
