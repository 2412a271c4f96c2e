"""The contract kit's teams in AutoGen: group chats of assistants on AutoGen's own OpenAI client."""

from __future__ import annotations

import asyncio
import sys
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Response, TaskResult
from autogen_agentchat.conditions import HandoffTermination
from autogen_agentchat.teams import (
    BaseGroupChat,
    DiGraphBuilder,
    GraphFlow,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from autogen_core import CancellationToken
from autogen_core.models import ChatCompletionClient, CreateResult, RequestUsage
from autogen_core.tools import BaseTool, FunctionTool
from autogen_ext.models.openai import OpenAIChatCompletionClient

from tracer_hooks.testing import Reply, ScriptedLLM, ToolCallReply, When
from tracer_hooks_testing import PROMPTS, ContractTeams, lookup

Tool = Callable[..., Any]

INFO: Any = {
    "vision": False,
    "function_calling": True,
    "json_output": True,
    "family": "gpt-4o",  # so that a selector's prompt is a system message, by which the script knows who asks
    "structured_output": True,
}


class EchoClient(ChatCompletionClient):
    """A model client as a user might write it: it says its texts one after the other."""

    component_type = "model"

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = [*texts]
        self.said: list[str] = []

    async def create(self, messages: Any, **options: Any) -> CreateResult:
        text = self.texts[len(self.said) % len(self.texts)]
        self.said.append(text)
        return CreateResult(finish_reason="stop", content=text, usage=RequestUsage(3, 2), cached=False)

    async def create_stream(self, messages: Any, **options: Any) -> AsyncIterator[str | CreateResult]:  # type: ignore[override]
        result = await self.create(messages, **options)
        yield result.content  # type: ignore[misc]
        yield result

    async def close(self) -> None:
        return None

    def actual_usage(self) -> RequestUsage:
        return RequestUsage(0, 0)

    total_usage = actual_usage

    def count_tokens(self, messages: Any, **options: Any) -> int:
        return 0

    def remaining_tokens(self, messages: Any, **options: Any) -> int:
        return 1000

    @property
    def model_info(self) -> Any:
        return INFO

    capabilities = model_info


def client(llm: ScriptedLLM, **options: Any) -> OpenAIChatCompletionClient:
    """AutoGen's client for OpenAI's API, pointed at the script."""
    # Said of every model that AutoGen has no table entry for; it names the caller's file, which is then ours.
    warnings.filterwarnings("ignore", "Resolved model mismatch")
    return OpenAIChatCompletionClient(
        model="scripted", base_url=llm.base_url, api_key=llm.api_key, model_info=INFO, max_retries=0, **options
    )


def assistant(
    model: ChatCompletionClient, name: str, *, prompts: Mapping[str, str] | None = None, **options: Any
) -> AssistantAgent:
    """An assistant that is told what the scenario says."""
    told = {**PROMPTS, **(prompts or {})}[name]
    return AssistantAgent(name, model, description=f"The {name} agent.", system_message=told, **options)


class Teams(ContractTeams):
    """AutoGen's teams."""

    adapter = "autogen"

    def single(self, llm, *, tools=(), prompts=None, streaming=False, max_calls=100) -> Any:
        options = {"stream_options": {"include_usage": True}} if streaming else {}
        solo = assistant(
            client(llm, **options), "solo", prompts=prompts, tools=[*tools], max_tool_iterations=max_calls,
            model_client_stream=streaming,
        )  # fmt: skip
        return RoundRobinGroupChat([solo], name="single", max_turns=1)

    def pipeline(self, llm: ScriptedLLM, *, tools: Sequence[Tool] = (lookup,), prompts=None) -> Any:
        model = client(llm)
        researcher = assistant(model, "researcher", prompts=prompts, tools=[*tools], max_tool_iterations=10)
        writer, reviewer = (assistant(model, name, prompts=prompts) for name in ("writer", "reviewer"))
        return RoundRobinGroupChat([researcher, writer, reviewer], name="pipeline", max_turns=3)

    def handoff(self, llm: ScriptedLLM) -> Any:
        model = client(llm)
        agents = [assistant(model, "triage", handoffs=["billing"]), assistant(model, "billing")]
        return Swarm(agents, name="handoff", max_turns=2)  # type: ignore[arg-type]

    def manager(self, llm: ScriptedLLM) -> Any:
        model = client(llm)
        prompt = PROMPTS["manager"] + " Roles: {roles} Choices: {participants} So far: {history}"
        agents = [assistant(model, "alpha"), assistant(model, "beta")]
        return SelectorGroupChat(agents, model, name="manager", selector_prompt=prompt, max_turns=1)  # type: ignore[arg-type]

    def parallel(self, llm: ScriptedLLM) -> Any:
        model = client(llm)
        builder = DiGraphBuilder()
        for name in ("left", "right"):
            builder.add_node(assistant(model, name))
        return GraphFlow(builder.get_participants(), graph=builder.build(), name="parallel")

    def nested(self, llm: ScriptedLLM) -> Any:
        model = client(llm)
        inner = RoundRobinGroupChat([assistant(model, "expert")], name="inner", max_turns=1)
        return RoundRobinGroupChat([inner, assistant(model, "lead")], name="nested", max_turns=2)

    def custom_model(self, texts: Sequence[str]) -> Any:
        return RoundRobinGroupChat([assistant(EchoClient(texts), "solo")], name="single", max_turns=1)

    def interrupting(self, llm: ScriptedLLM) -> Any:
        """A swarm that hands over to a human, whatever its model says."""
        asking = When(agent="solo").then(Reply(tool_calls=[ToolCallReply("transfer_to_user", {})]))
        scripted = ScriptedLLM(rules=[asking])
        solo = assistant(client(scripted), "solo", handoffs=["user"])
        team = Swarm([solo], name="interrupting", termination_condition=HandoffTermination("user"))
        team.script_of_mine = scripted  # type: ignore[attr-defined]  # lives as long as the team
        return team

    # --- running ---------------------------------------------------------------------------------------------------
    async def cancellable(self, team: Any, task: str) -> Any:
        """``team.run(...)`` itself: its task is the one that is cancelled."""
        return await team.run(task=task)

    async def arun(self, team: Any, task: str) -> Any:
        await _start_anew(team)
        token = CancellationToken()
        running = asyncio.ensure_future(team.run(task=task, cancellation_token=token))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            # AutoGen's way: a run whose task is cancelled first waits for the model calls that are under way.
            token.cancel()
            return await running

    async def astream(self, team: Any, task: str) -> AsyncIterator[Any]:
        await _start_anew(team)
        stream = team.run_stream(task=task)
        try:
            async for item in stream:
                yield item
        finally:
            await stream.aclose()

    # --- looking ---------------------------------------------------------------------------------------------------
    def plain(self, result: Any) -> Any:
        """Who said what, and why it stopped."""
        if isinstance(result, TaskResult):
            return [result.stop_reason, *(self.plain(message) for message in result.messages)]
        if isinstance(result, Response):
            return self.plain(result.chat_message)
        usage = result.models_usage
        return [
            type(result).__name__,
            result.source,
            result.to_text(),
            (usage.prompt_tokens, usage.completion_tokens) if usage is not None else None,
        ]

    def message(self, error: Exception) -> str:
        """Without the traceback that AutoGen makes part of a team's error: it names our frames, too."""
        return str(error).partition("\nTraceback:")[0]

    def parts(self, team: Any) -> Sequence[Any]:
        """Members of the team, and the classes and modules of AutoGen that take part."""
        modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("autogen_agentchat")]
        agents = list(team._participants)
        classes = [BaseGroupChat, AssistantAgent, OpenAIChatCompletionClient, BaseTool, FunctionTool, Swarm]
        return [*agents, *classes, *modules, sys.modules["autogen_core.tools._base"]]

    @contextmanager
    def broken_probe(self) -> Iterator[None]:
        """The module in which AutoGen opens its tool spans is gone."""
        with mock.patch.dict(sys.modules, {"autogen_core.tools._base": None}):
            yield


async def _start_anew(team: Any) -> None:
    if team._initialized:  # a team that never ran has nothing to forget
        await team.reset()
