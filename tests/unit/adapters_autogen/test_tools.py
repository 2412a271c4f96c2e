"""Tools and workbenches: what is recorded, and in which context they run."""

from __future__ import annotations

from typing import Any

from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_agentchat.tools import AgentTool
from autogen_core import CancellationToken
from autogen_core.models import UserMessage
from autogen_core.tools import (
    FunctionTool,
    StaticWorkbench,
    TextResultContent,
    ToolOverride,
    ToolResult,
    Workbench,
)
from pydantic import BaseModel

from tracer_hooks.testing import observed

from ._teams import assistant, calls, replay, watched


class Remote(Workbench):
    """A workbench that runs its tools elsewhere, like McpWorkbench."""

    async def list_tools(self):
        return [{"name": "search"}, {"name": "fails"}]

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def call_tool(self, name, arguments=None, cancellation_token=None, call_id=None) -> ToolResult:
        self.asked.append(arguments)
        return ToolResult(name=name, result=[TextResultContent(content=f"{name} done")], is_error=name == "fails")

    async def start(self) -> None:
        return None

    async def stop(self) -> None:
        return None

    async def reset(self) -> None:
        return None

    async def save_state(self):
        return {}

    async def load_state(self, state) -> None:
        return None


def team_with(client, **options: Any) -> RoundRobinGroupChat:
    return RoundRobinGroupChat([assistant("solo", client, **options)], max_turns=1)


async def test_a_remote_workbench_says_itself_what_failed() -> None:
    seen = await watched(team_with(replay(calls(("search", '{"q": 1}'), ("fails", "{}"))), workbench=Remote()))
    assert [(c.name, c.arguments, c.result, c.error) for c in seen.trajectory.steps[0].tool_calls] == [
        ("search", {"q": 1}, "search done", None),
        ("fails", {}, "fails done", "fails done"),
    ]


async def test_a_static_workbench_shows_a_tool_under_another_name() -> None:
    tool = FunctionTool(lambda: "42", name="original", description="d")
    workbench = StaticWorkbench([tool], {"original": ToolOverride(name="renamed")})
    seen = await watched(team_with(replay(calls(("renamed", "{}"))), workbench=workbench))
    (call,) = seen.trajectory.steps[0].tool_calls
    assert (call.name, call.result) == ("renamed", "42")


async def test_parallel_calls_are_one_step_and_a_shared_tool_is_recorded_once() -> None:
    def double(x: int) -> int:
        """Double."""
        return x * 2

    tool = FunctionTool(double, description="d")
    first = assistant("first", replay(calls(("double", '{"x": 1}'), ("double", '{"x": 2}'))), tools=[tool])
    second = assistant("second", replay(calls(("double", '{"x": 3}'))), tools=[tool])
    team = RoundRobinGroupChat([first, second], max_turns=2)
    with observed(team) as seen:
        await team.run(task="Go")
    assert [[c.result for c in step.tool_calls] for step in seen.trajectory.steps] == [["2", "4"], ["6"]]
    assert [step.agent for step in seen.trajectory.steps] == ["first", "second"]


class Found(BaseModel):
    value: int


async def test_a_result_is_recorded_as_the_agent_reads_it() -> None:
    def find() -> Found:
        """Find."""
        return Found(value=42)

    team = team_with(replay(calls(("find", "{}"))), tools=[find])
    with observed(team) as seen:
        result = await team.run(task="Go")
    assert seen.trajectory.steps[0].tool_calls[0].result == '{"value": 42}' == result.messages[-1].content


async def test_what_is_called_outside_a_run_works_and_is_not_recorded() -> None:
    bench, client = Remote(), replay("hi")
    helper = AgentTool(assistant("helper", replay("helped")))
    team = RoundRobinGroupChat(
        [assistant("solo", client, workbench=bench), assistant("b", replay("hi"), tools=[helper])]
    )
    with observed(team) as seen:
        assert (await bench.call_tool("search")).to_text() == "search done"
        asked = client.create_stream([UserMessage(content="x", source="user")])
        pieces: list[Any] = [piece async for piece in asked]
        items: list[Any] = [item async for item in helper.run_json_stream({"task": "Help"}, CancellationToken())]
    assert (pieces[-1].content, items[-1].messages[-1].content) == ("hi", "helped")
    assert seen.spans == ()
