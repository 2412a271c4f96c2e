"""The benchmark's team in AutoGen: a round robin of three agents, two rounds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from _overhead_script import FOUND, JUDGED, PROMPTS, QUOTES, TASK, TOOL, TOOL_DESCRIPTION, WRITTEN, quote
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, ModelInfo, RequestUsage
from autogen_core.tools import FunctionTool
from autogen_ext.models.replay import ReplayChatCompletionClient

MODEL: ModelInfo = {
    "vision": False,
    "function_calling": True,
    "json_output": False,
    "family": "unknown",
    "structured_output": False,
}


class BenchTeam:
    """Builds and runs the team on one event loop that lives as long as this object."""

    framework = "autogen"
    distribution = "autogen-agentchat"

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._clients: list[ReplayChatCompletionClient] = []

    def build(self, prompts: Mapping[str, str] | None = None) -> RoundRobinGroupChat:
        told = {**PROMPTS, **(prompts or {})}
        self._clients.clear()
        tool = FunctionTool(quote, description=TOOL_DESCRIPTION, name=TOOL)
        replies: dict[str, list[Any]] = {
            "researcher": [_call(0), FOUND[0], _call(1), FOUND[1]],
            "analyst": list(JUDGED),
            "writer": list(WRITTEN),
        }
        agents = [
            AssistantAgent(
                name,
                self._client(replies[name]),
                tools=[tool] if name == "researcher" else None,
                system_message=told[name],
                reflect_on_tool_use=name == "researcher",
            )
            for name in told
        ]
        return RoundRobinGroupChat(agents, name="purchasing", max_turns=6)

    def run(self, team: Any) -> str:
        result = self._loop.run_until_complete(team.run(task=TASK))
        return str(result.messages[-1].content)

    def rewind(self, team: Any) -> None:
        for client in self._clients:
            client.reset()
            client.create_calls.clear()  # reset() keeps them, and 2,000 runs of them would look like a leak
        self._loop.run_until_complete(team.reset())

    def model_calls(self) -> int:
        return sum(len(client.create_calls) for client in self._clients)

    def _client(self, replies: list[Any]) -> ReplayChatCompletionClient:
        client = ReplayChatCompletionClient(replies, model_info=MODEL)
        self._clients.append(client)
        return client


def _call(number: int) -> CreateResult:
    call = FunctionCall(id=f"call_{number}", name=TOOL, arguments=json.dumps(QUOTES[number]))
    usage = RequestUsage(prompt_tokens=60, completion_tokens=20)
    return CreateResult(finish_reason="function_calls", content=[call], usage=usage, cached=False)
