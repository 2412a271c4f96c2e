"""Frameworks without an adapter here: the same team, as each of them would build it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from opentelemetry.sdk.trace import TracerProvider

from tracer_hooks.testing import Reply, Rule, ScriptedLLM, ToolCallReply, When
from tracer_hooks_testing import PROMPTS, TASK

Tool = Callable[[str], str]
Player = Callable[[ScriptedLLM, TracerProvider, Tool], None]
NAMES = ("researcher", "writer", "reviewer")


def pydantic_ai(llm: ScriptedLLM, provider: TracerProvider, lookup: Tool) -> None:
    """Three agents of Pydantic AI, one after the other, in a span of the user's own; its own instrumentation."""
    from pydantic_ai import Agent, InstrumentationSettings
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
    model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=llm.base_url, api_key=llm.api_key))
    said = [TASK]
    with provider.get_tracer("pipeline").start_as_current_span("pipeline"):
        for name in NAMES:
            agent = Agent(model, name=name, instructions=PROMPTS[name], tools=[lookup] if name == "researcher" else [])
            said.append(str(agent.run_sync("\n\n".join(said)).output))


def openinference_openai_agents(llm: ScriptedLLM, provider: TracerProvider, lookup: Tool) -> None:
    """The OpenAI Agents SDK on the Responses API, in one of its traces."""
    import openai
    from agents import Agent, Runner, function_tool, set_default_openai_client, trace
    from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)
    set_default_openai_client(openai.AsyncOpenAI(base_url=llm.base_url, api_key=llm.api_key), use_for_tracing=False)

    async def play() -> None:
        said = [TASK]
        with trace("pipeline"):
            for name in NAMES:
                tools = [function_tool(lookup)] if name == "researcher" else []
                agent = Agent(name=name, instructions=PROMPTS[name], tools=tools, model="scripted")
                said.append(str((await Runner.run(agent, "\n\n".join(said))).final_output))

    asyncio.run(play())


def openinference_smolagents(llm: ScriptedLLM, provider: TracerProvider, lookup: Tool) -> None:
    """Tool-calling agents of smolagents. They answer by the tool ``final_answer``, so their script is another."""
    from openinference.instrumentation.smolagents import SmolagentsInstrumentor
    from smolagents import OpenAIModel, ToolCallingAgent, tool

    SmolagentsInstrumentor().instrument(tracer_provider=provider)
    said = [TASK]
    with provider.get_tracer("pipeline").start_as_current_span("pipeline"):
        for name in NAMES:
            model = OpenAIModel(
                "scripted",
                api_base=llm.base_url,
                api_key=llm.api_key,
                client_kwargs={"default_headers": {"x-scripted-agent": name}},
            )
            agent = ToolCallingAgent(
                tools=[tool(lookup)] if name == "researcher" else [],
                model=model,
                name=name,
                description=f"The {name} agent.",
                instructions=PROMPTS[name],
                verbosity_level=0,
            )
            said.append(str(agent.run("\n\n".join(said))))


def strands(llm: ScriptedLLM, provider: TracerProvider, lookup: Tool) -> None:
    """A graph of Strands agents; its own instrumentation."""
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
    from strands import Agent, tool
    from strands.models.openai import OpenAIModel
    from strands.multiagent import GraphBuilder

    builder = GraphBuilder()
    for name in NAMES:
        model = OpenAIModel(client_args={"base_url": llm.base_url, "api_key": llm.api_key}, model_id="scripted")
        tools = [tool(lookup)] if name == "researcher" else []
        builder.add_node(Agent(model, name=name, system_prompt=PROMPTS[name], tools=tools, callback_handler=None), name)
    builder.add_edge("researcher", "writer")
    builder.add_edge("writer", "reviewer")
    builder.set_entry_point("researcher")
    builder.build()(TASK)


def agent_framework(llm: ScriptedLLM, provider: TracerProvider, lookup: Tool) -> None:
    """A sequential workflow of Microsoft's Agent Framework; its own instrumentation, with content."""
    from agent_framework import Agent
    from agent_framework.observability import enable_instrumentation
    from agent_framework_openai import OpenAIChatCompletionClient
    from agent_framework_orchestrations import SequentialBuilder

    enable_instrumentation(enable_sensitive_data=True)
    client = OpenAIChatCompletionClient("scripted", api_key=llm.api_key, base_url=llm.base_url)
    agents = [
        Agent(client, PROMPTS[name], name=name, tools=[lookup] if name == "researcher" else None) for name in NAMES
    ]

    async def play() -> None:
        await SequentialBuilder(name="pipeline", participants=agents).build().run(TASK)

    asyncio.run(play())


def final_answers(texts: dict[str, str]) -> tuple[Rule, ...]:
    """The scenario for agents that answer by calling ``final_answer``."""
    found = [Reply(tool_calls=[ToolCallReply("lookup", {"query": "six times seven"})])]
    rules = []
    for name, text in texts.items():
        reply = Reply(tool_calls=[ToolCallReply("final_answer", {"answer": text})])
        rules.append(When(agent=name).then(*(found if name == "researcher" else []), reply))
    return tuple(rules)


OTHERS: dict[str, Player] = {
    "pydantic_ai": pydantic_ai,
    "openinference_openai_agents": openinference_openai_agents,
    "openinference_smolagents": openinference_smolagents,
    "strands": strands,
    "agent_framework": agent_framework,
}
