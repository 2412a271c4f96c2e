"""Which reply goes to which request, and what the server remembers of it."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tracer_hooks.errors import ConfigError
from tracer_hooks.testing import Reply, Rule, ScriptedLLM, ScriptedRequest, ToolCallReply, When


def post(llm: ScriptedLLM, *messages: tuple[str, Any] | dict[str, Any], **body: Any) -> httpx.Response:
    sent = [m if isinstance(m, dict) else {"role": m[0], "content": m[1]} for m in messages]
    headers = body.pop("headers", None)
    return httpx.post(f"{llm.base_url}/chat/completions", json={"messages": sent, **body}, headers=headers)


def ask(llm: ScriptedLLM, *messages: tuple[str, Any] | dict[str, Any], **body: Any) -> str:
    response = post(llm, *messages, **body)
    assert response.status_code == 200, response.text
    return response.json()["choices"][0]["message"]["content"]


def call(name: str, arguments: str = "{}") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": function}]}


def result(text: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "c", "content": text}


def echo(request: ScriptedRequest) -> str:
    return f"{request.index}:{request.last}"


@pytest.mark.parametrize(
    ("script", "replies"),
    [
        ({"replies": ["a", Reply("b")]}, ["a", "b", None]),
        ({"replies": "ab"}, ["ab", None]),  # one reply, not its letters
        ({"rules": [When().then("a", "b")]}, ["a", "b", "b", "b"]),
        (
            {"replies": ["ordered"], "rules": [When(last="x").then("a", repeat_last=False)], "default": "default"},
            ["a", "ordered", "default", "default"],
        ),
        ({"rules": [When(last="x").then("first"), When(contains="x").then("second")]}, ["first", "first"]),
        ({"rules": [When().then(echo)]}, ["0:x", "1:x"]),
    ],
    ids=["ordered", "single text", "rule", "used up", "first that matches", "computed"],
)
def test_which_reply_comes_when(script: dict[str, Any], replies: list[str | None]) -> None:
    with ScriptedLLM(script.pop("replies", ()), **script) as llm:
        for reply in replies:
            if reply is not None:
                assert ask(llm, ("user", "x")) == reply
            else:
                refused = post(llm, ("user", "x"))
                assert refused.status_code == 400
                assert "that match have no reply left" in refused.json()["error"]["message"]


MATCHES = [
    (When(system="^Be terse"), [("system", "Be terse"), ("user", "x")], True),
    (When(system="terse"), [("developer", "Be terse"), ("user", "x")], True),
    (When(system="terse"), [("user", "Be terse")], False),
    (When(last=re.compile("SEVEN", re.IGNORECASE)), [("user", "six"), ("user", "seven")], True),
    (When(last="six"), [("user", "six"), ("user", "seven")], False),
    (When(last="seven"), [("user", [{"type": "text", "text": "six"}, {"type": "text", "text": "seven"}])], True),
    (When(contains=r"add\(.*6"), [("user", "x"), call("add", '{"a": 6}'), result("13")], True),
    (When(tool_result="13"), [("user", "x"), call("add"), result("13")], True),
    (When(tool_result="13"), [("user", "x"), call("add"), result("13"), ("user", "Analyze it.")], True),
    (When(tool_result="13"), [("user", "x"), call("add"), result("13"), ("assistant", "It is 13.")], False),
    (When(tool_result="13"), [("user", "13")], False),
    (When(tool_result=""), [("user", "x")], False),
    (When(last="x", system="nobody"), [("system", "somebody"), ("user", "x")], False),
    (When(where=lambda r: len(r.messages) == 2), [("user", "x"), ("user", "y")], True),
    (When(where=lambda r: len(r.messages) == 2), [("user", "x")], False),
]


@pytest.mark.parametrize(("when", "messages", "matches"), MATCHES)
def test_conditions(when, messages, matches) -> None:
    with ScriptedLLM(rules=[when.then("matched")], default="default") as llm:
        assert ask(llm, *messages) == ("matched" if matches else "default")
    with ScriptedLLM(rules=[When(model="^big$").then("big")], default="default") as llm:
        assert [ask(llm, *messages, model=model) for model in ("big", "bigger")] == ["big", "default"]


@pytest.mark.parametrize(
    ("system", "is_planner"),
    [
        ("You are the Planner. Hand over to the coder.", True),
        ("You are planner.\nPlan.", True),
        ('You are "Planner".', True),
        ("Planner: plan the work", True),
        ("You are the coder. Report to the planner.", False),
        ("You are planners all", False),
        ("", False),
    ],
)
def test_an_agent_is_told_by_the_opening_of_its_system_text(system, is_planner) -> None:
    with ScriptedLLM(rules=[When(agent="planner").then("mine")], default="other") as llm:
        assert ask(llm, ("system", system), ("user", "x")) == ("mine" if is_planner else "other")
        for header, said in (("coder", "other"), ("Planner", "mine")):  # which decides over the system text
            assert ask(llm, ("system", system), ("user", "x"), headers={"X-Scripted-Agent": header}) == said


def test_a_failing_script_function_reaches_client_and_test_without_retry() -> None:
    def broken(request: ScriptedRequest) -> str:
        raise KeyError("gone")

    with ScriptedLLM([broken, lambda request: 42]) as llm:  # type: ignore[list-item, return-value]
        failed, wrong = post(llm, ("user", "x")), post(llm, ("user", "x"))
    assert failed.status_code == wrong.status_code == 400
    assert "KeyError('gone')" in failed.json()["error"]["message"]
    assert [type(e) for e in llm.script_errors] == [KeyError, ConfigError]
    assert llm.unmatched == []


def test_an_unmatched_request_is_refused_named_and_kept_until_a_reset() -> None:
    with ScriptedLLM(rules=[When(last="never").then("a")]) as llm:
        response = post(llm, ("system", "Be terse"), ("user", "What now?"), stream=True)
    error = response.json()["error"]
    assert response.status_code == 400
    assert error["code"] == "unmatched_request"
    assert "(user): 'What now?'" in error["message"]
    assert "'Be terse'" in error["message"]
    assert [r.last for r in llm.unmatched] == ["What now?"]
    with ScriptedLLM(["a"]) as llm:
        url = llm.base_url
        for _ in range(2):
            assert (ask(llm, ("user", "x")), llm.base_url, llm.requests[0].index) == ("a", url, 0)
            post(llm, ("user", "x"))
            llm.reset()
            assert (llm.calls, llm.requests, llm.unmatched) == (0, [], [])


def test_requests_are_kept_as_they_were_sent() -> None:
    tools = [{"type": "function", "function": {"name": "add", "parameters": {}}}]
    with ScriptedLLM(default="ok") as llm:
        trace = {"traceparent": "00-1-2-01", "Authorization": "Bearer secret"}
        post(llm, ("system", "s"), ("user", "u"), model="m", tools=tools, stream=True, headers=trace)
        (request,) = llm.requests
    assert (request.endpoint, request.model, request.stream) == ("chat/completions", "m", True)
    assert (request.system, request.last, request.tools) == ("s", "u", ("add",))
    assert request.raw["tools"] == tools
    assert request.headers["traceparent"] == "00-1-2-01"
    assert "secret" not in str(request)


def test_responses_input_is_read_as_chat_messages() -> None:
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "six times seven"}]},
        {"type": "function_call", "call_id": "c", "name": "mul", "arguments": '{"a": 6}'},
        {"type": "function_call_output", "call_id": "c", "output": "42"},
    ]
    rule = When(system="terse", contains=r"mul\(.*6.*\n42", tool_result="^42$").then("done")
    with ScriptedLLM(rules=[rule]) as llm:
        body = {"instructions": "Be terse", "input": items, "tools": [{"type": "function", "name": "mul"}]}
        response = httpx.post(f"{llm.base_url}/responses", json=body)
        (request,) = llm.requests
    assert response.json()["output"][0]["content"][0]["text"] == "done"
    assert [m["role"] for m in request.messages] == ["system", "user", "assistant", "tool"]
    assert (request.endpoint, request.tools) == ("responses", ("mul",))


def test_parallel_requests_get_each_reply_of_their_rule_once() -> None:
    agents = ["alpha", "beta", "gamma", "delta"]
    n = 12
    rules = [
        When(agent=a).then(*[Reply(f"{a} {i}", tool_calls=[ToolCallReply("t")]) for i in range(n)]) for a in agents
    ]

    def one_agent(llm: ScriptedLLM, agent: str) -> list[tuple[str, str]]:
        answers = []
        for _ in range(n):
            body = post(llm, ("system", f"You are {agent}"), ("user", "x")).json()
            message = body["choices"][0]["message"]
            answers.append((message["content"], message["tool_calls"][0]["id"]))
        return answers

    with ScriptedLLM(rules=rules) as llm, ThreadPoolExecutor(len(agents)) as pool:
        got = list(pool.map(lambda a: one_agent(llm, a), agents))
    # Each agent's own order and ids do not depend on how the agents interleave.
    for rule, (agent, answers) in enumerate(zip(agents, got, strict=True), start=1):
        assert answers == [(f"{agent} {i}", f"call_{rule}-{i + 1}-1") for i in range(n)]
    assert llm.calls == len(agents) * n
    assert [r.index for r in llm.requests] == list(range(len(agents) * n))


def test_a_reply_is_taken_by_one_request_only() -> None:
    class YieldingReplies(list[str]):
        """Lets another thread run between the reading of a rule's counter and its increment."""

        def __len__(self) -> int:
            threading.Event().wait(0.002)
            return super().__len__()

    texts = [str(i) for i in range(8)]
    with ScriptedLLM(rules=[Rule(When(), YieldingReplies(texts))]) as llm, ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(lambda _: ask(llm, ("user", "x")), texts)) == texts


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: When(last="("), r"When\(last='\('\): expected a regular expression"),
        (lambda: When().then(), "at least one reply"),
        (lambda: When().then(42), "42 is no scripted reply"),  # type: ignore[arg-type]
        (lambda: When().then(Reply), r"write Reply\(\.\.\.\)"),  # type: ignore[arg-type]
        (lambda: ScriptedLLM(rules=[When()]), r"expected When\(\.\.\.\)\.then\(\.\.\.\)"),  # type: ignore[list-item]
        (lambda: ScriptedLLM([None]), "None is no scripted reply"),  # type: ignore[list-item]
    ],
)
def test_a_script_that_cannot_work_is_refused_where_it_is_written(make, message) -> None:
    with pytest.raises(ConfigError, match=message):
        make()
