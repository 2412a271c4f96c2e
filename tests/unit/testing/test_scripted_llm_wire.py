"""What a scripted reply looks like on the wire, in both APIs, whole and streamed."""

import json
from typing import Any

import httpx
import pytest

from tracer_hooks.errors import ConfigError
from tracer_hooks.testing import Reply, ScriptedLLM, ToolCallReply

USER = [{"role": "user", "content": "What is six times seven?"}]
TWO_CALLS = [ToolCallReply("add", {"a": 6, "b": 7}), ToolCallReply("stop", "{not json", id="mine")]


def chat(llm: ScriptedLLM, **body: Any) -> dict[str, Any]:
    response = httpx.post(f"{llm.base_url}/chat/completions", json={"model": "m", "messages": USER, **body})
    assert response.status_code == 200, response.text
    return response.json()


def chat_stream(llm: ScriptedLLM, **body: Any) -> list[dict[str, Any]]:
    request = {"model": "m", "messages": USER, "stream": True, **body}
    response = httpx.post(f"{llm.base_url}/chat/completions", json=request)
    assert response.headers["content-type"] == "text/event-stream"
    lines = [line for line in response.text.split("\n\n") if line]
    assert lines[-1] == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]


def responses_stream(llm: ScriptedLLM, **body: Any) -> list[dict[str, Any]]:
    response = httpx.post(f"{llm.base_url}/responses", json={"model": "m", "input": "hi", "stream": True, **body})
    events = []
    for block in response.text.strip().split("\n\n"):
        name, data = block.split("\n")
        events.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {events[-1]['type']}"
    return events


def test_text_reply_has_the_shape_of_a_chat_completion_with_what_is_scripted() -> None:
    with ScriptedLLM(["forty-two"]) as llm:
        body = chat(llm)
    assert body["object"] == "chat.completion"
    assert body["id"] == "chatcmpl-1"
    assert body["model"] == "m"
    assert body["created"] == 1_700_000_000
    (choice,) = body["choices"]
    assert choice["message"] == {"role": "assistant", "content": "forty-two", "refusal": None}
    assert choice["finish_reason"] == "stop"
    # 24 characters of request, 9 of reply, four characters a token, rounded up.
    assert (body["usage"]["prompt_tokens"], body["usage"]["completion_tokens"]) == (6, 3)
    assert body["usage"]["total_tokens"] == 9
    wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
    with ScriptedLLM([Reply("cut", usage=(100, 5), model="other", finish_reason="length")] * 2) as llm:
        body = chat(llm, response_format=wanted)
        last = responses_stream(llm)[-1]
    assert (body["usage"]["prompt_tokens"], body["usage"]["completion_tokens"]) == (100, 5)
    assert (body["model"], body["choices"][0]["finish_reason"]) == ("other", "length")
    assert body["choices"][0]["message"]["content"] == "cut", "whatever response_format asks for"
    assert last["type"] == "response.incomplete"
    assert last["response"]["incomplete_details"] == {"reason": "max_output_tokens"}


@pytest.mark.parametrize("text", ["", "Zürich 東京 🙂", "half a pair \ud83d", 'quote " and \\ and\nline'])
def test_any_text_survives_the_wire(text: str) -> None:
    with ScriptedLLM(default=Reply(text)) as llm:
        whole = chat(llm)["choices"][0]["message"]["content"]
        deltas = [chunk["choices"][0]["delta"] for chunk in chat_stream(llm)]
    assert whole == text
    assert "".join(d.get("content", "") for d in deltas) == text


def test_parallel_tool_calls_keep_order_ids_and_malformed_arguments() -> None:
    with ScriptedLLM([Reply(tool_calls=TWO_CALLS), Reply("Let me add.", tool_calls=TWO_CALLS[:1])]) as llm:
        (choice,) = chat(llm)["choices"]
        beside = chat(llm)["choices"][0]["message"]
    assert (beside["content"], len(beside["tool_calls"])) == ("Let me add.", 1)
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    first, second = choice["message"]["tool_calls"]
    assert json.loads(first["function"]["arguments"]) == {"a": 6, "b": 7}
    assert (first["id"], first["type"], first["function"]["name"]) == ("call_1-1", "function", "add")
    assert (second["id"], second["function"]["arguments"]) == ("mine", "{not json")


def test_streamed_text_joins_to_the_reply_and_ends_with_its_reason() -> None:
    with ScriptedLLM([" Six times\nseven is 42. \n"]) as llm:
        chunks = chat_stream(llm)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert "".join(d.get("content", "") for d in deltas) == " Six times\nseven is 42. \n"
    assert len(deltas) == 1 + 6 + 1
    assert deltas[-1] == {}
    reasons = [chunk["choices"][0]["finish_reason"] for chunk in chunks]
    assert reasons == [None] * 7 + ["stop"]
    assert {chunk["id"] for chunk in chunks} == {"chatcmpl-1"}
    assert all("usage" not in chunk for chunk in chunks)


@pytest.mark.parametrize(
    ("chunks", "expected"), [(3, ["ab", "cd", "efg"]), (["a", "bcdefg"], ["a", "bcdefg"]), (None, ["abcdefg"])]
)
def test_chunks_say_how_a_stream_is_split(chunks, expected) -> None:
    with ScriptedLLM([Reply("abcdefg", chunks=chunks, usage=(7, 2))] * 2) as llm:
        deltas = [chunk["choices"][0]["delta"] for chunk in chat_stream(llm)]
        *before, last = chat_stream(llm, stream_options={"include_usage": True})
    assert [d["content"] for d in deltas if d.get("content")] == expected
    assert last["choices"] == [], "usage is streamed last and only when asked for"
    assert (last["usage"]["prompt_tokens"], last["usage"]["completion_tokens"]) == (7, 2)
    assert all(chunk["usage"] is None for chunk in before)


def test_streamed_tool_calls_come_in_pieces_that_join() -> None:
    with ScriptedLLM([Reply(tool_calls=TWO_CALLS)]) as llm:
        chunks = chat_stream(llm)
    calls = [c for chunk in chunks for c in chunk["choices"][0]["delta"].get("tool_calls", [])]
    for index, name, id_, arguments in [(0, "add", "call_1-1", '{"a": 6, "b": 7}'), (1, "stop", "mine", "{not json")]:
        pieces = [c for c in calls if c["index"] == index]
        assert (pieces[0]["function"]["name"], pieces[0]["id"]) == (name, id_)
        assert "".join(p["function"]["arguments"] for p in pieces) == arguments
        assert len(pieces) == 3
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_responses_body_holds_message_and_function_calls() -> None:
    with ScriptedLLM([Reply("Adding.", tool_calls=TWO_CALLS, usage=(3, 4))]) as llm:
        body = httpx.post(f"{llm.base_url}/responses", json={"model": "m", "input": "hi"}).json()
    message, add, stop = body["output"]
    assert (body["object"], body["status"], body["id"]) == ("response", "completed", "resp_1")
    assert message["content"][0]["text"] == "Adding."
    assert (add["type"], add["call_id"], add["arguments"]) == ("function_call", "call_1-1", '{"a": 6, "b": 7}')
    assert (stop["call_id"], stop["arguments"]) == ("mine", "{not json")
    assert (body["usage"]["input_tokens"], body["usage"]["output_tokens"]) == (3, 4)


def test_responses_stream_counts_its_events_and_ends_with_the_whole_body() -> None:
    with ScriptedLLM([Reply("a b", tool_calls=TWO_CALLS[:1])]) as llm:
        events = responses_stream(llm)
        llm.reset()
        whole = httpx.post(f"{llm.base_url}/responses", json={"model": "m", "input": "hi"}).json()
    assert [e["sequence_number"] for e in events] == list(range(len(events)))
    deltas = [e["delta"] for e in events if e["type"] == "response.output_text.delta"]
    assert deltas == ["a", " b"]
    arguments = [e["delta"] for e in events if e["type"] == "response.function_call_arguments.delta"]
    assert "".join(arguments) == '{"a": 6, "b": 7}'
    assert events[0]["type"] == "response.created"
    assert events[0]["response"]["usage"] is None
    assert events[-1]["type"] == "response.completed"
    assert events[-1]["response"] == whole


def test_equal_runs_give_equal_bytes() -> None:
    def run() -> list[bytes]:
        with ScriptedLLM(["a", Reply(tool_calls=TWO_CALLS)]) as llm, httpx.Client() as client:
            url = f"{llm.base_url}/chat/completions"
            requests = [{"messages": USER, "stream": stream} for stream in (True, False)]
            answers = [client.post(url, json=request) for request in requests]
            return [part for a in answers for part in (a.content, str(sorted(a.headers.items())).encode())]

    assert run() == run()
    with ScriptedLLM(model="tiny") as llm:
        models = httpx.get(f"{llm.base_url}/models").json()
        health = httpx.get(llm.base_url.removesuffix("/v1") + "/health")
    assert [m["id"] for m in models["data"]] == ["tiny"]
    assert (health.status_code, health.json(), llm.calls) == (200, {"status": "ok"}, 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Reply("a", chunks=["b"]), "join to 'a'"),
        (lambda: Reply("a", chunks=0), "at least 1 piece"),
        (lambda: Reply("a", usage=(1, -1)), "usage"),
        (lambda: Reply("a", delay_s=-1), "delay_s=-1"),
        (lambda: Reply("a", pause_s=-1), "pause_s=-1"),
        (lambda: ToolCallReply(""), "name of a tool"),
        (lambda: ToolCallReply("f", {"a": {1}}), "expected JSON values"),
    ],
)
def test_a_reply_that_cannot_be_sent_is_refused_where_it_is_written(make, message) -> None:
    with pytest.raises(ConfigError, match=message):
        make()
