"""Model clients, agents and readable summaries for the tests of the AutoGen adapter."""

from __future__ import annotations

from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, RequestUsage
from autogen_ext.models.openai import OpenAIChatCompletionClient
from autogen_ext.models.replay import ReplayChatCompletionClient

from tracer_hooks.schema import Trajectory
from tracer_hooks.testing import RecordingHost, ScriptedLLM, observed

INFO: Any = {
    "vision": False,
    "function_calling": True,
    "json_output": True,
    "family": "unknown",
    "structured_output": True,
}


def openai_client(llm: ScriptedLLM, **options: Any) -> OpenAIChatCompletionClient:
    return OpenAIChatCompletionClient(
        model="scripted", base_url=llm.base_url, api_key=llm.api_key, model_info=INFO, max_retries=0, **options
    )


def replay(*replies: str | CreateResult) -> ReplayChatCompletionClient:
    return ReplayChatCompletionClient(list(replies), model_info=INFO)


def calls(*requested: tuple[str, str], thought: str | None = None) -> CreateResult:
    """A reply that calls tools: pairs of name and JSON arguments; ids are ``name-position``."""
    content = [FunctionCall(id=f"{name}-{i}", name=name, arguments=json) for i, (name, json) in enumerate(requested)]
    usage = RequestUsage(prompt_tokens=7, completion_tokens=5)
    return CreateResult(finish_reason="function_calls", content=content, usage=usage, cached=False, thought=thought)


def assistant(name: str, client: Any, **options: Any) -> AssistantAgent:
    options.setdefault("system_message", f"You are the {name}.")
    return AssistantAgent(name, client, description=f"The {name}.", **options)


async def watched(team: Any, **options: Any) -> RecordingHost:
    """Run the team once under an observer."""
    with observed(team, **options) as seen:
        await team.run(task="Go")
    return seen


def acts(trajectory: Trajectory) -> list[tuple[str, str, str | None]]:
    """Agent, kind and recipient of each step."""
    return [(step.agent, str(step.kind), step.recipient) for step in trajectory.steps]


def texts(trajectory: Trajectory) -> list[str]:
    return [step.content for step in trajectory.steps]
