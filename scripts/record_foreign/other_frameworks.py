"""Frameworks without an adapter here: the same team, as each of them would build it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

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
    tool_raised = contextlib.suppress(ValueError)  # an error of a tool ends the run, unless it asks the model to retry
    with tool_raised, provider.get_tracer("pipeline").start_as_current_span("pipeline"):
        for name in NAMES:
            agent = Agent(model, name=name, instructions=PROMPTS[name], tools=[lookup] if name == "researcher" else [])
            said.append(str(agent.run_sync("\n\n".join(said)).output))


def pydantic_ai_delegation(llm: ScriptedLLM, provider: TracerProvider, lookup: Tool) -> None:
    """An agent of Pydantic AI that asks another one in one of its tools."""
    from pydantic_ai import Agent, InstrumentationSettings
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
    model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=llm.base_url, api_key=llm.api_key))
    expert = Agent(model, name="expert", instructions=PROMPTS["expert"], tools=[lookup])
    lead = Agent(model, name="lead", instructions=PROMPTS["lead"])

    @lead.tool_plain
    async def ask_expert(question: str) -> str:
        return str((await expert.run(question)).output)

    lead.run_sync(TASK)


def openinference_openai_agents(llm: ScriptedLLM, provider: TracerProvider, lookup: Tool) -> None:
    """The OpenAI Agents SDK on the Responses API, in one of its traces."""
    _instrument_openai_agents(provider)
    _play_openai_agents(llm, lookup)


def openinference_openai_agents_handoff(llm: ScriptedLLM, provider: TracerProvider, lookup: Tool) -> None:
    """An agent of the OpenAI Agents SDK that hands off to another."""
    from agents import Agent, Runner, function_tool

    _instrument_openai_agents(provider)
    _talk_to(llm)
    billing = Agent(name="billing", instructions=PROMPTS["billing"], model="scripted")
    tools = [function_tool(lookup)]
    triage = Agent(name="triage", instructions=PROMPTS["triage"], tools=tools, handoffs=[billing], model="scripted")
    asyncio.run(Runner.run(triage, TASK))


def genai_openai_agents(llm: ScriptedLLM, provider: TracerProvider, lookup: Tool) -> None:
    """The same with OpenTelemetry's own instrumentations of the SDK and of its client, with content."""
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
    from opentelemetry.instrumentation.genai.openai_agents import OpenAIAgentsInstrumentor

    OpenAIInstrumentor().instrument(tracer_provider=provider)
    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)
    _play_openai_agents(llm, lookup)


def openllmetry_openai_agents(llm: ScriptedLLM, provider: TracerProvider, lookup: Tool) -> None:
    """The same with OpenLLMetry."""
    from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)
    _play_openai_agents(llm, lookup)


def _instrument_openai_agents(provider: TracerProvider) -> None:
    from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)


def _talk_to(llm: ScriptedLLM) -> None:
    import openai
    from agents import set_default_openai_client

    set_default_openai_client(openai.AsyncOpenAI(base_url=llm.base_url, api_key=llm.api_key), use_for_tracing=False)


def _play_openai_agents(llm: ScriptedLLM, lookup: Tool) -> None:
    from agents import Agent, Runner, function_tool, trace

    _talk_to(llm)

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


def agent_framework_handoff(llm: ScriptedLLM, provider: TracerProvider, lookup: Tool) -> None:
    """A hand-off workflow of Microsoft's Agent Framework, which ends when billing has answered."""
    from agent_framework import Agent
    from agent_framework.observability import enable_instrumentation
    from agent_framework_openai import OpenAIChatCompletionClient
    from agent_framework_orchestrations import HandoffBuilder

    enable_instrumentation(enable_sensitive_data=True)
    client = OpenAIChatCompletionClient("scripted", api_key=llm.api_key, base_url=llm.base_url)
    triage, billing = (
        Agent(client, PROMPTS[name], name=name, tools=tools, require_per_service_call_history_persistence=True)
        for name, tools in (("triage", [lookup]), ("billing", None))
    )
    builder = HandoffBuilder(
        name="office",
        participants=[triage, billing],
        termination_condition=lambda messages: "on its way" in messages[-1].text,
    )
    workflow = builder.with_start_agent(triage).add_handoff(triage, [billing]).build()

    async def play() -> None:
        await workflow.run(TASK)

    asyncio.run(play())


def google_adk(llm: ScriptedLLM, provider: TracerProvider, lookup: Tool) -> None:
    """A workflow of Google's Agent Development Kit; its own instrumentation, with content."""
    from google.adk.agents import LlmAgent
    from google.adk.runners import InMemoryRunner
    from google.adk.workflow import START, Workflow

    model = _gemini_of(llm)
    agents = [
        LlmAgent(name=name, model=model, instruction=PROMPTS[name], tools=[lookup] if name == "researcher" else [])
        for name in NAMES
    ]
    _run_adk(InMemoryRunner(node=Workflow(name="pipeline", edges=[(START, *agents)]), app_name="pipeline"))


def google_adk_handoff(llm: ScriptedLLM, provider: TracerProvider, lookup: Tool) -> None:
    """An agent of Google's Agent Development Kit that transfers to its sub-agent."""
    from google.adk.agents import LlmAgent
    from google.adk.runners import InMemoryRunner

    model = _gemini_of(llm)
    billing = LlmAgent(name="billing", model=model, instruction=PROMPTS["billing"], description="Knows about money.")
    triage = LlmAgent(name="triage", model=model, instruction=PROMPTS["triage"], tools=[lookup], sub_agents=[billing])
    _run_adk(InMemoryRunner(agent=triage, app_name="office"))


def _run_adk(runner: Any) -> None:
    from google.genai import types

    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
    asked = types.Content(role="user", parts=[types.Part(text=TASK)])

    async def play() -> None:
        session = await runner.session_service.create_session(app_name=runner.app_name, user_id="user")
        async for _ in runner.run_async(user_id="user", session_id=session.id, new_message=asked):
            pass

    asyncio.run(play())


def _gemini_of(llm: ScriptedLLM) -> Any:
    """A model of Google's Agent Development Kit that passes its requests on to the scripted one."""
    import httpx
    from google.adk.models import BaseLlm, LlmResponse
    from google.genai import types

    class Scripted(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[Any]:
            told = [{"role": "system", "content": str(llm_request.config.system_instruction)}]
            body = {"model": self.model, "messages": told + _chat_messages(llm_request.contents)}
            url, key = f"{llm.base_url}/chat/completions", {"authorization": f"Bearer {llm.api_key}"}
            async with httpx.AsyncClient() as client:
                answer = (await client.post(url, json=body, headers=key)).json()
            reply, used = answer["choices"][0]["message"], answer["usage"]
            asked = [call["function"] for call in reply.get("tool_calls") or ()]
            calls = [types.FunctionCall(name=call["name"], args=json.loads(call["arguments"])) for call in asked]
            parts = [types.Part(function_call=call) for call in calls] or [types.Part(text=reply["content"])]
            usage = types.GenerateContentResponseUsageMetadata(
                prompt_token_count=used["prompt_tokens"], candidates_token_count=used["completion_tokens"]
            )
            yield LlmResponse(content=types.Content(role="model", parts=parts), usage_metadata=usage)

    return Scripted(model="scripted")


def _chat_messages(contents: Iterable[Any]) -> list[dict[str, Any]]:
    """Gemini's contents as messages of OpenAI's chat completions."""
    messages: list[dict[str, Any]] = []
    for content in contents:
        for part in content.parts:
            if part.function_call:
                call = {"name": part.function_call.name, "arguments": json.dumps(part.function_call.args)}
                messages.append(
                    {"role": "assistant", "tool_calls": [{"id": "call", "type": "function", "function": call}]}
                )
            elif part.function_response:
                result = json.dumps(part.function_response.response)
                messages.append({"role": "tool", "tool_call_id": "call", "content": result})
            else:
                messages.append({"role": "assistant" if content.role == "model" else "user", "content": part.text})
    return messages


def final_answers(texts: dict[str, str]) -> tuple[Rule, ...]:
    """The scenario for agents that answer by calling ``final_answer``."""
    found = [Reply(tool_calls=[ToolCallReply("lookup", {"query": "six times seven"})])]
    rules = []
    for name, text in texts.items():
        reply = Reply(tool_calls=[ToolCallReply("final_answer", {"answer": text})])
        rules.append(When(agent=name).then(*(found if name == "researcher" else []), reply))
    return tuple(rules)


def transfers(call: ToolCallReply) -> tuple[Rule, ...]:
    """The scenario in which triage looks the number up and hands over to billing, by the tool of the framework."""
    looked_up = Reply(tool_calls=[ToolCallReply("lookup", {"query": "six times seven"})])
    return (
        When(agent="billing").then("The refund of 42 is on its way."),
        When(agent="triage", tool_result="").then(Reply(tool_calls=[call])),
        When(agent="triage").then(looked_up),
    )


def delegation(call: ToolCallReply) -> tuple[Rule, ...]:
    """The scenario in which lead asks expert, who looks the number up, by a tool."""
    looked_up = Reply(tool_calls=[ToolCallReply("lookup", {"query": "six times seven"})])
    return (
        When(agent="expert", tool_result="").then("I found that it is 42."),
        When(agent="expert").then(looked_up),
        When(agent="lead", tool_result="").then("In short, the answer is 42."),
        When(agent="lead").then(Reply(tool_calls=[call])),
    )


OTHERS: dict[str, Player] = {
    "pydantic_ai": pydantic_ai,
    "openinference_openai_agents": openinference_openai_agents,
    "genai_openai_agents": genai_openai_agents,
    "openllmetry_openai_agents": openllmetry_openai_agents,
    "openinference_smolagents": openinference_smolagents,
    "strands": strands,
    "agent_framework": agent_framework,
    "google_adk": google_adk,
}
HANDOFFS: dict[str, Player] = {
    "agent_framework": agent_framework_handoff,
    "google_adk": google_adk_handoff,
    "openinference_openai_agents": openinference_openai_agents_handoff,
    "pydantic_ai": pydantic_ai_delegation,
}
TRANSFERS: dict[str, tuple[Rule, ...]] = {
    "agent_framework": transfers(ToolCallReply("handoff_to_billing", {})),
    "google_adk": transfers(ToolCallReply("transfer_to_agent", {"agent_name": "billing"})),
    "openinference_openai_agents": transfers(ToolCallReply("transfer_to_billing", {})),
    "pydantic_ai": delegation(ToolCallReply("ask_expert", {"question": "What is six times seven?"})),
}
