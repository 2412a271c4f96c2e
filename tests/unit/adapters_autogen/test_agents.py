"""Single agents as teams, and the kinds of agents beside AssistantAgent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from autogen_agentchat.agents import (
    BaseChatAgent,
    CodeExecutorAgent,
    MessageFilterAgent,
    MessageFilterConfig,
    PerSourceFilter,
    UserProxyAgent,
)
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseChatMessage, HandoffMessage, TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat, Swarm
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock, CodeExecutor, CodeResult
from autogen_core.models import UserMessage

from tracer_hooks.testing import observed, span_tree

from ._teams import acts, assistant, calls, replay, texts, watched


class Echo(BaseChatAgent):
    """A user's own agent, with a model client under a name of its own."""

    def __init__(self, name: str, llm=None, target: str | None = None) -> None:
        super().__init__(name, "echoes")
        self.llm_of_mine, self.target = llm, target

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage, HandoffMessage)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        text = f"echo: {messages[-1].to_model_text()}"
        if self.llm_of_mine is not None:
            text = (await self.llm_of_mine.create([UserMessage(content=text, source="user")])).content
        if self.target is not None:
            return Response(chat_message=HandoffMessage(content=text, source=self.name, target=self.target))
        return Response(chat_message=TextMessage(content=text, source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        return None


async def test_an_agents_messages_are_a_run() -> None:
    agent = assistant("solo", replay("hello", "again"))
    task = [TextMessage(content="Say hello", source="user")]
    with observed(agent) as seen:
        response = await agent.on_messages(task, CancellationToken())
        items = [item async for item in agent.on_messages_stream(task, CancellationToken())]
    assert response.chat_message.to_text() == "hello"
    assert isinstance(items[-1], Response)
    assert [(run.task, run.final_output) for run in seen.trajectories] == [
        ("Say hello", "hello"),
        ("Say hello", "again"),
    ]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_tool_of_a_single_agent_is_seen_once(stream: bool) -> None:
    def lookup() -> str:
        """Look up."""
        return "42"

    asks = calls(("lookup", "{}"), ("missing", "{}"), ("lookup", "{broken"))
    agent = assistant("solo", replay(asks), tools=[lookup])
    with observed(agent) as seen:
        if stream:
            [item async for item in agent.run_stream(task="Go")]
        else:
            await agent.run(task="Go")
    (step,) = seen.trajectory.steps
    found, missing, broken = step.tool_calls
    assert (found.name, found.result, found.error, found.attempts) == ("lookup", "42", None, 1)
    assert missing.error == missing.result == "Error: tool 'missing' not found in any workbench"
    assert broken.arguments == "{broken"
    assert str(broken.error).startswith("Error: Expecting property name")


async def test_an_agent_without_a_model_acts_by_what_it_says() -> None:
    team = RoundRobinGroupChat([Echo("parrot"), UserProxyAgent("human", input_func=lambda prompt: "fine")], max_turns=2)
    seen = await watched(team)
    assert span_tree(seen.spans) == (
        "invoke_workflow RoundRobinGroupChat\n  invoke_agent parrot [0]\n  invoke_agent human [1]"
    )
    assert [(s.agent, s.kind, s.content) for s in seen.trajectory.steps] == [
        ("parrot", "message", "echo: Go"),
        ("human", "message", "fine"),
    ]


async def test_a_users_own_agent_calls_its_own_model() -> None:
    agent = Echo("parrot", replay("squawk", "squawk again"))
    with observed(agent) as seen:
        await agent.run(task="Go")
        [item async for item in agent.run_stream(task="Go")]
    assert [texts(run) for run in seen.trajectories] == [["squawk"], ["squawk again"]]


async def test_a_users_own_agent_hands_off_without_a_tool() -> None:
    seen = await watched(Swarm([Echo("a", target="b"), Echo("b")], max_turns=2))
    assert acts(seen.trajectory) == [("a", "handoff", "b"), ("b", "message", None)]


async def test_a_filtering_agent_stands_around_the_one_it_filters_for() -> None:
    keep = MessageFilterConfig(per_source=[PerSourceFilter(source="user", position="last", count=1)])
    agent = MessageFilterAgent("filtered", assistant("inner", replay("seen")), keep)
    seen = await watched(RoundRobinGroupChat([agent], max_turns=1))
    assert acts(seen.trajectory) == [("inner", "message", None)]


class FakeExecutor(CodeExecutor):
    component_type = "code_executor"

    def __init__(self, *results: CodeResult) -> None:
        self.results = list(results)

    async def execute_code_blocks(self, code_blocks: list[CodeBlock], cancellation_token) -> CodeResult:
        return self.results.pop(0)

    async def start(self) -> None:
        return None

    async def stop(self) -> None:
        return None

    async def restart(self) -> None:
        return None


CODE = "```python\nprint(42)\n```"


async def test_a_code_executor_without_a_model_acts_by_its_output() -> None:
    runner = CodeExecutorAgent("runner", FakeExecutor(CodeResult(exit_code=0, output="42")))
    seen = await watched(RoundRobinGroupChat([assistant("coder", replay(CODE)), runner], max_turns=2))
    assert [(s.agent, s.kind, s.content) for s in seen.trajectory.steps] == [
        ("coder", "message", CODE),
        ("runner", "message", "42"),
    ]


async def test_a_code_executor_with_a_model_calls_its_executor_like_a_tool() -> None:
    runner = CodeExecutorAgent(
        "runner", FakeExecutor(CodeResult(exit_code=1, output="NameError")), model_client=replay(CODE, "It failed.")
    )
    seen = await watched(runner)
    first, second = seen.trajectory.steps
    (call,) = first.tool_calls
    assert (first.kind, call.name, call.arguments) == ("tool_call", "execute_code", {"code": ["print(42)\n"]})
    assert str(call.result).endswith("NameError")
    assert call.error == call.result
    assert (second.kind, second.content) == ("message", "It failed.")


@pytest.mark.parametrize("error", [OSError("no disk"), asyncio.CancelledError()])
async def test_an_executor_that_raises_ends_its_call_and_raises_as_before(error: BaseException) -> None:
    class Broken(FakeExecutor):
        async def execute_code_blocks(self, code_blocks: list[CodeBlock], cancellation_token) -> CodeResult:
            raise error

    runner = CodeExecutorAgent("runner", Broken(), model_client=replay(CODE))
    with observed(runner) as seen, pytest.raises(type(error)):
        await runner.run(task="Go")
    (call,) = seen.trajectory.steps[0].tool_calls
    assert call.name == "execute_code"
    assert call.error == (str(error) or None)
    assert all(span.end_time for span in seen.spans)
