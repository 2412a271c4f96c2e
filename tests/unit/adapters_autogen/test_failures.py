"""Errors of tools, models and agents: recorded with their own type, at their step; the caller gets them as before."""

from __future__ import annotations

import pytest
from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from openai import BadRequestError

from tracer_hooks import semconv
from tracer_hooks.testing import ErrorReply, ScriptedLLM, observed

from ._teams import assistant, calls, openai_client, replay


def error_types(seen) -> list[tuple[str, str]]:
    return [
        (span.name, str(span.attributes[semconv.ERROR_TYPE]))
        for span in seen.spans
        if not span.status.is_ok and semconv.ERROR_TYPE in span.attributes
    ]


async def test_a_failing_tool_is_an_error_of_its_call_and_the_run_goes_on() -> None:
    def divide(a: int) -> str:
        """Divide."""
        return str(1 / a)

    client = replay(calls(("divide", '{"a": 0}'), ("divide", '{"a": "x"}')), "could not")
    team = RoundRobinGroupChat([assistant("solo", client, tools=[divide], reflect_on_tool_use=True)], max_turns=1)
    with observed(team) as seen:
        await team.run(task="Go")
    step = seen.trajectory.steps[0]
    assert step.kind == "tool_call"
    assert [str(call.error).splitlines()[0] for call in step.tool_calls] == [
        "division by zero",
        "1 validation error for divideargs",
    ]
    assert sorted(error_types(seen)) == [
        ("execute_tool divide", "ValidationError"),
        ("execute_tool divide", "ZeroDivisionError"),
    ]
    assert seen.trajectory.outcome != "failed"


async def test_arguments_that_are_no_json_never_reach_the_tool() -> None:
    def divide(a: int) -> str:
        """Divide."""
        raise AssertionError("not called")

    client = replay(calls(("divide", "{broken")), "could not")
    team = RoundRobinGroupChat([assistant("solo", client, tools=[divide], reflect_on_tool_use=True)], max_turns=1)
    with observed(team) as seen:
        await team.run(task="Go")
    (call,) = seen.trajectory.steps[0].tool_calls
    assert call.arguments == "{broken"
    assert str(call.error).startswith("Error: Expecting property name")


async def test_a_failing_model_keeps_its_type_and_is_one_step() -> None:
    with ScriptedLLM([ErrorReply(400, message="too long")]) as llm:
        client = openai_client(llm)
        team = RoundRobinGroupChat([assistant("first", replay("hi")), assistant("second", client)], max_turns=2)
        with observed(team) as seen, pytest.raises(RuntimeError, match="too long"):
            await team.run(task="Go")
        await client.close()
    assert error_types(seen) == [
        ("chat scripted", BadRequestError.__qualname__),
        ("invoke_agent second", BadRequestError.__qualname__),
        ("invoke_workflow RoundRobinGroupChat", "RuntimeError"),
    ]
    assert [(s.agent, s.kind) for s in seen.trajectory.steps] == [("first", "message"), ("second", "error")]
    assert "too long" in str(seen.trajectory.steps[1].error)
    events = [event.name for span in seen.spans for event in span.events]
    assert events == ["exception"]


class Broken(BaseChatAgent):
    produced_message_types = (TextMessage,)

    async def on_messages(self, messages, cancellation_token) -> Response:
        raise LookupError("lost the plot")

    async def on_reset(self, cancellation_token) -> None:
        return None


async def test_a_failing_agent_is_an_error_step() -> None:
    team = RoundRobinGroupChat([Broken("broken", "fails")], max_turns=1)
    with observed(team) as seen, pytest.raises(RuntimeError, match="lost the plot"):
        await team.run(task="Go")
    (step,) = seen.trajectory.steps
    assert (step.agent, step.kind, step.error) == ("broken", "error", "lost the plot")
    assert error_types(seen)[0] == ("invoke_agent broken", "LookupError")


async def test_an_error_inside_an_inner_team_is_recorded_once() -> None:
    inner = RoundRobinGroupChat([Broken("broken", "fails")], name="inner", max_turns=1)
    team = RoundRobinGroupChat([inner], name="outer", max_turns=1)
    with observed(team) as seen, pytest.raises(RuntimeError, match="lost the plot"):
        await team.run(task="Go")
    assert [(s.agent, s.error) for s in seen.trajectory.steps] == [("broken", "lost the plot")]
    assert sum(event.name == "exception" for span in seen.spans for event in span.events) == 1


async def test_a_bug_of_ours_never_reaches_the_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STRICT", "0")
    team = RoundRobinGroupChat([assistant("solo", replay("hello"))], max_turns=1)
    monkeypatch.setattr("tracer_hooks_autogen._turns.conversions_of", lambda run: 1 / 0)
    monkeypatch.setattr("tracer_hooks_autogen._models.conversions_of", lambda run: 1 / 0)
    monkeypatch.setattr("tracer_hooks_autogen._convert.team_text", lambda message: "text")
    with observed(team):
        result = await team.run(task="Go")
    assert result.messages[-1].content == "hello"
    assert "tracer-hooks could not begin a model call (ZeroDivisionError" in caplog.text
    assert "tracer-hooks could not begin an agent's turn" in caplog.text


async def test_a_wrong_call_fails_as_without_us() -> None:
    team = RoundRobinGroupChat([assistant("solo", replay("hello"))], max_turns=1)
    with observed(team) as seen:
        with pytest.raises(ValueError, match="Task list cannot be empty"):
            await team.run(task=[])
        with pytest.raises(TypeError):
            await team.run("positional")  # type: ignore[call-arg]
    assert [run.ended for run in seen.runs] == [True, True]
