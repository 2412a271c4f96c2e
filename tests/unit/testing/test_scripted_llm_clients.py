"""The scripted server under the model clients that teams really use."""

import json
from typing import Any

import pytest

from tracer_hooks.testing import ErrorReply, Reply, ScriptedLLM, ToolCallReply

ADD = Reply(tool_calls=[ToolCallReply("add", {"a": 6, "b": 7}), ToolCallReply("add", {"a": 1, "b": 2})], usage=(20, 8))
TEXT = Reply("Six times seven is 42.", usage=(11, 6))


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture
def scripted():
    servers: list[ScriptedLLM] = []

    def start(*replies: Any, **options: Any) -> ScriptedLLM:
        servers.append(ScriptedLLM(list(replies), **options))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
        assert server.unmatched == []
        assert server.script_errors == []


# --- AutoGen


def autogen_client(llm: ScriptedLLM) -> Any:
    openai_models = pytest.importorskip("autogen_ext.models.openai")
    info = {"vision": False, "function_calling": True, "json_output": True, "family": "unknown"}
    info["structured_output"] = True
    return openai_models.OpenAIChatCompletionClient(
        model=llm.model, base_url=llm.base_url, api_key=llm.api_key, model_info=info
    )


async def test_autogen_text_tool_calls_and_stream(scripted) -> None:
    llm = scripted(TEXT, ADD, TEXT, ADD)
    client = autogen_client(llm)
    from autogen_core.models import SystemMessage, UserMessage
    from autogen_core.tools import FunctionTool

    messages = [SystemMessage(content="Be terse."), UserMessage(content="6 * 7?", source="user")]
    text = await client.create(messages)
    calls = await client.create(messages, tools=[FunctionTool(add, description="Add.")])
    *pieces, last = [c async for c in client.create_stream(messages, include_usage=True)]
    *_, called = [c async for c in client.create_stream(messages)]
    await client.close()

    assert (text.content, text.finish_reason) == (TEXT.text, "stop")
    assert (text.usage.prompt_tokens, text.usage.completion_tokens) == TEXT.usage
    assert calls.finish_reason == "function_calls"
    found = [(c.id, json.loads(c.arguments)) for c in calls.content]
    assert found == [("call_2-1", {"a": 6, "b": 7}), ("call_2-2", {"a": 1, "b": 2})]
    assert [json.loads(c.arguments) for c in called.content] == [{"a": 6, "b": 7}, {"a": 1, "b": 2}]
    assert pieces == TEXT.pieces()
    assert last.content == TEXT.text
    assert (last.usage.prompt_tokens, last.usage.completion_tokens) == TEXT.usage
    asked = [(r.system, r.last, r.tools) for r in llm.requests[:2]]
    assert asked == [("Be terse.", "6 * 7?", ()), ("Be terse.", "6 * 7?", ("add",))]


# --- CrewAI


def crewai_llm(server: ScriptedLLM, **options: Any) -> Any:
    crewai = pytest.importorskip("crewai")
    return crewai.LLM(model="openai/scripted", base_url=server.base_url, api_key=server.api_key, **options)


NUMBERS = {"a": {"type": "integer"}, "b": {"type": "integer"}}
PARAMETERS = {"type": "object", "properties": NUMBERS, "required": ["a", "b"]}
TOOL_SCHEMA = {"type": "function", "function": {"name": "add", "description": "Add.", "parameters": PARAMETERS}}


def test_crewai_text_tool_call_and_stream(scripted) -> None:
    server = scripted(TEXT, ADD, TEXT, Reply(tool_calls=ADD.tool_calls[:1]))
    whole = crewai_llm(server)
    streaming = crewai_llm(server, stream=True)
    assert type(whole).__name__ == "OpenAICompletion", "the native provider, not LiteLLM"
    assert whole.call("6 * 7?") == TEXT.text
    assert whole.call("6 + 7?", tools=[TOOL_SCHEMA], available_functions={"add": add}) in (13, "13")
    assert streaming.call("6 * 7?") == TEXT.text
    usage = streaming.get_token_usage_summary()
    assert (usage.prompt_tokens, usage.completion_tokens) == TEXT.usage
    assert streaming.call("6 + 7?", tools=[TOOL_SCHEMA], available_functions={"add": add}) in (13, "13")
    asked = [(r.stream, r.tools) for r in server.requests]
    assert asked == [(False, ()), (False, ("add",)), (True, ()), (True, ("add",))]


@pytest.mark.parametrize("stream", [False, True])
def test_crewai_speaks_the_responses_api(scripted, stream: bool) -> None:
    server = scripted(TEXT, Reply(tool_calls=[ToolCallReply("add", {"a": 6, "b": 7})]))
    llm = crewai_llm(server, api="responses", stream=stream)
    assert llm.call("6 * 7?") == TEXT.text
    assert llm.call("6 + 7?", tools=[TOOL_SCHEMA], available_functions={"add": add}) in (13, "13")
    assert [r.endpoint for r in server.requests] == ["responses", "responses"]
    usage = llm.get_token_usage_summary()
    assert usage.prompt_tokens >= TEXT.usage[0]


# --- LangChain


def chat_openai(server: ScriptedLLM, **options: Any) -> Any:
    langchain_openai = pytest.importorskip("langchain_openai")
    settings = {"model": server.model, "base_url": server.base_url, "api_key": server.api_key, **options}
    return langchain_openai.ChatOpenAI(**settings)


@pytest.mark.parametrize("responses", [False, True])
def test_langchain_text_tool_calls_and_stream(scripted, responses: bool) -> None:
    server = scripted(TEXT, ADD, TEXT, ADD)
    model = chat_openai(server, use_responses_api=responses, stream_usage=True)
    with_tools = model.bind_tools([TOOL_SCHEMA])
    text, calls = model.invoke("6 * 7?"), with_tools.invoke("6 + 7?")
    assert text.text == TEXT.text
    assert (text.usage_metadata["input_tokens"], text.usage_metadata["output_tokens"]) == TEXT.usage
    assert [c["args"] for c in calls.tool_calls] == [{"a": 6, "b": 7}, {"a": 1, "b": 2}]
    assert [c["id"] for c in calls.tool_calls] == ["call_2-1", "call_2-2"]
    for stream, expected in ((model.stream("6 * 7?"), TEXT), (with_tools.stream("6 + 7?"), ADD)):
        first, *rest = stream
        whole = first
        for chunk in rest:
            whole = whole + chunk
        assert whole.text == (expected.text or "")
        assert [c["args"] for c in whole.tool_calls] == [dict(c.arguments) for c in expected.tool_calls]  # type: ignore[arg-type]
        assert (whole.usage_metadata["input_tokens"], whole.usage_metadata["output_tokens"]) == expected.usage
    endpoint = "responses" if responses else "chat/completions"
    assert [(r.endpoint, r.stream) for r in server.requests] == [(endpoint, s) for s in (False, False, True, True)]


def test_langchain_reads_structured_output(scripted) -> None:
    pydantic = pytest.importorskip("pydantic")
    answer = pydantic.create_model("Answer", value=(int, ...))
    server = scripted('{"value": 42}')
    assert chat_openai(server).with_structured_output(answer).invoke("6 * 7?").value == 42
    assert server.requests[0].raw["response_format"]["type"] == "json_schema"


def test_clients_retry_a_scripted_error_and_take_the_next_reply(scripted) -> None:
    server = scripted(ErrorReply(429, retry_after=0.001), ErrorReply(503, retry_after=0.001), TEXT)
    assert chat_openai(server, max_retries=2).invoke("6 * 7?").text == TEXT.text
    assert [r.headers["x-stainless-retry-count"] for r in server.requests] == ["0", "1", "2"]
