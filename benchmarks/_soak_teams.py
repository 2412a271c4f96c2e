"""Small teams of each framework for the soak: two agents, one tool, models that repeat the task's number.

A run has seven operations: itself, two agents, three model calls and a tool call. Every text holds the number of the
task, so that what was recorded of one run can be told from what was recorded of another.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable
from typing import Any, NamedTuple

TOOL = "price_of"


class NoModelError(Exception):
    """What a model raises in a run that is to end so."""


def price_of(order: str) -> str:
    """The price of an order."""
    return f"order {order} costs 12.50"


def number_in(text: str) -> str:
    """The number of the task that ``text`` is about; raises for a task that is to raise."""
    found = re.findall(r"order (\d+)", text)
    if "raise" in text:
        raise NoModelError(f"no model for order {found[-1]}")
    return str(found[-1])


class Soaked(NamedTuple):
    """How a framework's team is built and run."""

    build: Callable[[], Any]
    run: Callable[[Any, str], str]
    """One run, in synchronous code."""
    arun: Callable[[Any, str], Any]
    """One run beside others in an event loop."""
    break_off: Callable[[Any, str], Any] | None
    """A stream that nobody reads to its end; None where the team has no streams."""


# --- plain Python ----------------------------------------------------------------------------------------------------
def plain() -> Soaked:
    """Two functions."""
    import tracer_hooks

    @tracer_hooks.model(name="scripted")
    def ask(messages: list[dict[str, str]]) -> str:
        time.sleep(0.0002)  # lets other threads in
        return f"For order {number_in(messages[-1]['content'])}: 12.50"

    tool = tracer_hooks.tool(price_of)

    @tracer_hooks.agent(instructions="You look prices up.", tools=[TOOL])
    def clerk(task: str) -> str:
        found = tool(number_in(ask([{"role": "user", "content": task}])))
        return ask([{"role": "user", "content": found}])

    @tracer_hooks.agent(instructions="You write.")
    def writer(said: str) -> str:
        return ask([{"role": "user", "content": said}])

    def build() -> Callable[[str], str]:
        def shop(task: str) -> str:
            return writer(clerk(task))

        return shop

    async def arun(team: Any, task: str) -> str:
        return str(await asyncio.to_thread(team, task))

    return Soaked(build, lambda team, task: str(team(task)), arun, None)


# --- AutoGen ---------------------------------------------------------------------------------------------------------
def autogen() -> Soaked:
    """A round robin."""
    from autogen_agentchat.agents import AssistantAgent
    from autogen_agentchat.teams import RoundRobinGroupChat
    from autogen_core import FunctionCall
    from autogen_core.models import CreateResult, ModelInfo, RequestUsage
    from autogen_core.tools import FunctionTool
    from autogen_ext.models.replay import ReplayChatCompletionClient

    usage = RequestUsage(prompt_tokens=60, completion_tokens=20)
    info: ModelInfo = {
        "vision": False, "function_calling": True, "json_output": False, "family": "unknown",
        "structured_output": False,
    }  # fmt: skip

    class Model(ReplayChatCompletionClient):
        calls_tool = False

        async def create(self, messages: Any, *, tools: Any = (), **kwargs: Any) -> CreateResult:
            await asyncio.sleep(0.0002)
            last = messages[-1]
            content = last.content if isinstance(last.content, str) else last.content[-1].content
            number = number_in(content)
            if self.calls_tool and not content.startswith("order"):
                call = FunctionCall(id=f"call_{number}", name=TOOL, arguments=json.dumps({"order": number}))
                return CreateResult(finish_reason="function_calls", content=[call], usage=usage, cached=False)
            return CreateResult(finish_reason="stop", content=f"For order {number}: 12.50", usage=usage, cached=False)

    def build() -> Any:
        clerk_model, writer_model = Model([], model_info=info), Model([], model_info=info)
        clerk_model.calls_tool = True
        clerk = AssistantAgent(
            "clerk",
            clerk_model,
            tools=[FunctionTool(price_of, description="The price of an order.", name=TOOL)],
            system_message="You look prices up.",
            reflect_on_tool_use=True,
        )
        writer = AssistantAgent("writer", writer_model, system_message="You write.")
        return RoundRobinGroupChat([clerk, writer], name="shop", max_turns=2)

    async def arun(team: Any, task: str) -> str:
        await team.reset()
        return str((await team.run(task=task)).messages[-1].content)

    async def break_off(team: Any, task: str) -> None:
        await team.reset()
        stream = team.run_stream(task=task)
        async for _ in stream:
            break
        await stream.aclose()

    loop = asyncio.new_event_loop()
    return Soaked(
        build,
        lambda team, task: str(loop.run_until_complete(arun(team, task))),
        arun,
        lambda team, task: loop.run_until_complete(break_off(team, task)),
    )


# --- LangGraph -------------------------------------------------------------------------------------------------------
def langgraph() -> Soaked:  # noqa: C901 - the classes of a framework that is imported late
    """Two ``create_agent`` graphs in a row."""
    from langchain.agents import create_agent
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import tool
    from langgraph.graph import END, START, MessagesState, StateGraph

    class Model(BaseChatModel):
        calls_tool: bool = False

        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

        def _reply(self, messages: Any) -> ChatResult:
            last = messages[-1]
            number = number_in(str(last.content))
            usage: Any = {"input_tokens": 60, "output_tokens": 20, "total_tokens": 80}
            if self.calls_tool and last.type != "tool":
                call: Any = {"name": TOOL, "args": {"order": number}, "id": f"call_{number}", "type": "tool_call"}
                message = AIMessage(content="", tool_calls=[call], usage_metadata=usage)
            else:
                message = AIMessage(content=f"For order {number}: 12.50", usage_metadata=usage)
            return ChatResult(generations=[ChatGeneration(message=message)])

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
            return self._reply(messages)

        async def _agenerate(
            self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
        ) -> ChatResult:
            await asyncio.sleep(0.0002)
            return self._reply(messages)

    def build() -> Any:
        clerk: Any = create_agent(
            Model(calls_tool=True), [tool(price_of)], system_prompt="You look prices up.", name="clerk"
        )
        writer: Any = create_agent(Model(), [], system_prompt="You write.", name="writer")
        graph = StateGraph(MessagesState)
        graph.add_node("clerk", clerk)
        graph.add_node("writer", writer)
        graph.add_edge(START, "clerk")
        graph.add_edge("clerk", "writer")
        graph.add_edge("writer", END)
        return graph.compile(name="shop")

    def asked(task: str) -> dict[str, Any]:
        return {"messages": [("user", task)]}

    async def arun(team: Any, task: str) -> str:
        return str((await team.ainvoke(asked(task)))["messages"][-1].content)

    def break_off(team: Any, task: str) -> None:
        stream = team.stream(asked(task))
        next(stream)
        stream.close()

    return Soaked(build, lambda team, task: str(team.invoke(asked(task))["messages"][-1].content), arun, break_off)


# --- CrewAI ----------------------------------------------------------------------------------------------------------
def crewai() -> Soaked:
    """Two tasks in a row."""
    from crewai import Agent, BaseLLM, Crew, Task
    from crewai.events import crewai_event_bus
    from crewai.tools import tool

    class Model(BaseLLM):
        calls_tool: bool = False

        def call(self, messages: Any, tools: Any = None, *args: Any, **kwargs: Any) -> Any:
            time.sleep(0.0002)
            said = messages if isinstance(messages, str) else "\n".join(str(one.get("content")) for one in messages)
            number = number_in(said)
            if self.calls_tool and "costs 12.50" not in said:
                function = {"name": TOOL, "arguments": json.dumps({"order": number})}
                return [{"id": f"call_{number}", "type": "function", "function": function}]
            return f"For order {number}: 12.50"

        def supports_function_calling(self) -> bool:
            return True

    def build() -> Any:
        clerk: Any = Agent(
            role="clerk",
            goal="Look up.",
            backstory="You look prices up.",
            llm=Model(model="scripted", calls_tool=True),
            tools=[tool(TOOL)(price_of)],
            verbose=False,
            max_retry_limit=0,
        )
        writer: Any = Agent(
            role="writer", goal="Write.", backstory="You write.", llm=Model(model="scripted"), verbose=False,
            max_retry_limit=0,
        )  # fmt: skip
        tasks = [Task(description="{task}", expected_output="One line.", agent=agent) for agent in (clerk, writer)]
        return Crew(name="shop", agents=[clerk, writer], tasks=tasks, verbose=False, tracing=False)

    def run(team: Any, task: str) -> str:
        result = str(team.kickoff(inputs={"task": task}).raw)
        crewai_event_bus.flush()
        return result

    async def arun(team: Any, task: str) -> str:
        return str(await asyncio.to_thread(run, team, task))

    return Soaked(build, run, arun, None)


TEAMS: dict[str, Callable[[], Soaked]] = {"plain": plain, "autogen": autogen, "langgraph": langgraph, "crewai": crewai}
