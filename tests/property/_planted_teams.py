"""Teams of the frameworks, every text of which holds something planted: triage looks something up and hands over."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ._planting import Planted

NAMES = ("triage", "billing")
LOOKUP = "lookup"


@dataclass
class Play:
    """What is planted in a run, and what goes wrong in it."""

    plant: Planted
    raises: str
    """``nothing``, ``tool``, ``model``, ``agent``, or something of the hook's."""

    def arguments(self) -> dict[str, Any]:
        """Of the call of the tool."""
        plant = self.plant
        return {"query": plant("tool argument"), "options": {"k": plant("nested argument"), plant("argument's key"): 1}}

    def lookup(self, query: str, options: dict[str, Any]) -> dict[str, Any]:
        """The tool."""
        plant = self.plant
        if self.raises == "tool":
            raise ValueError(f"cannot connect {plant('tool exception')}") from KeyError(plant("tool exception's cause"))
        return {"a": plant("tool result"), plant("key of a tool result"): [{"x": [plant("deep in a tool result")]}]}

    def asked(self) -> None:
        """The model is asked."""
        if self.raises == "model":
            error = RuntimeError(f"401 {self.plant('model exception')}")
            error.add_note(self.plant("note of an exception"))
            raise error from OSError(self.plant("cause of a model exception"))


class PlantedTeam:
    """One framework's team, and the ways to run it."""

    planted: frozenset[str]
    """Places that a recorded run must show when nothing is blanked, so that the search can find them."""

    def build(self, play: Play) -> Any:
        """The team."""
        raise NotImplementedError

    def run(self, team: Any, task: str, play: Play, how: str) -> None:
        """One run: ``run``, ``arun`` or ``astream``."""
        raise NotImplementedError


COMMON = frozenset({
    "task", "instructions", "tool argument", "nested argument", "argument's key", "tool result",
    "key of a tool result", "deep in a tool result", "reply",
})  # fmt: skip


# --- AutoGen ---------------------------------------------------------------------------------------------------------
class AutoGenTeam(PlantedTeam):
    """A swarm."""

    planted = COMMON | {"handoff message"}

    def build(self, play: Play) -> Any:
        from autogen_agentchat.agents import AssistantAgent
        from autogen_agentchat.base import Handoff
        from autogen_agentchat.teams import Swarm
        from autogen_core.tools import FunctionTool

        plant, client = play.plant, _autogen_client()

        def lookup(query: str, options: dict[str, Any]) -> dict[str, Any]:
            return play.lookup(query, options)

        handing = Handoff(target="billing", description=plant("handoff description"), message=plant("handoff message"))
        triage = AssistantAgent(
            "triage", client(play, "triage"), description=plant("agent description"),
            system_message=f"told {plant('instructions')}",
            tools=[FunctionTool(lookup, description=plant("tool description"), name=LOOKUP)], handoffs=[handing],
            max_tool_iterations=3, model_client_stream=play.raises == "nothing",
        )  # fmt: skip
        billing = AssistantAgent("billing", client(play, "billing"), system_message=plant("more instructions"))
        return Swarm([triage, billing], name="desk", max_turns=3)

    def run(self, team: Any, task: str, play: Play, how: str) -> None:
        async def go() -> None:
            if how == "astream":
                async for _ in team.run_stream(task=task):
                    pass
            else:
                await team.run(task=task)

        asyncio.run(go())


def _autogen_client() -> Any:
    from autogen_core import FunctionCall
    from autogen_core.models import ChatCompletionClient, CreateResult, RequestUsage

    class Client(ChatCompletionClient):
        component_type = "model"

        def __init__(self, play: Play, agent: str) -> None:
            self.play, self.agent, self.calls = play, agent, 0

        async def create(self, messages: Any, **options: Any) -> CreateResult:
            self.play.asked()
            self.calls += 1
            plant, usage = self.play.plant, RequestUsage(3, 2)
            if self.agent == "billing":
                said = f"no {plant('reply')}"
                return CreateResult(finish_reason="stop", content=said, usage=usage, cached=False)
            named = (LOOKUP, self.play.arguments()) if self.calls == 1 else ("transfer_to_billing", {})
            call = FunctionCall(id=f"c{self.calls}", name=named[0], arguments=json.dumps(named[1]))
            return CreateResult(
                finish_reason="function_calls", content=[call], usage=usage, cached=False, thought=plant("thought")
            )

        async def create_stream(self, messages: Any, **options: Any) -> AsyncGenerator[str | CreateResult, None]:
            yield self.play.plant("chunk")
            yield await self.create(messages, **options)

        async def close(self) -> None:
            return None

        def actual_usage(self) -> RequestUsage:
            return RequestUsage(0, 0)

        total_usage = actual_usage

        def count_tokens(self, messages: Any, **options: Any) -> int:
            return 0

        remaining_tokens = count_tokens

        @property
        def capabilities(self) -> Any:
            return self.model_info

        @property
        def model_info(self) -> Any:
            flags = ("vision", "json_output", "structured_output")
            return {**dict.fromkeys(flags, False), "function_calling": True, "family": "unknown"}

    return Client


# --- LangGraph -------------------------------------------------------------------------------------------------------
class LangGraphTeam(PlantedTeam):
    """A swarm of ``create_agent`` agents, in a graph with a node that may raise."""

    planted = COMMON | {"beside a call"}

    def build(self, play: Play) -> Any:
        from langchain.agents import create_agent
        from langchain_core.tools import StructuredTool
        from langgraph.graph import END, START, MessagesState, StateGraph
        from langgraph_swarm import create_handoff_tool, create_swarm

        plant, model = play.plant, _langgraph_model()

        def lookup(query: str, options: dict[str, Any]) -> dict[str, Any]:
            """Looks up."""
            return play.lookup(query, options)

        handing = create_handoff_tool(agent_name="billing", description=plant("handoff description"))
        tools = [StructuredTool.from_function(lookup, description=plant("tool description"), name=LOOKUP), handing]
        triage: Any = create_agent(
            model(play, "triage"), tools, system_prompt=f"told {plant('instructions')}", name="triage"
        )
        billing: Any = create_agent(
            model(play, "billing"), [], system_prompt=plant("more instructions"), name="billing"
        )
        swarm = create_swarm([triage, billing], default_active_agent="triage").compile(name="swarm")

        def close(state: MessagesState) -> dict[str, Any]:
            if play.raises == "agent":
                raise LookupError(plant("agent exception")) from ValueError(plant("given cause"))
            return {"messages": [("ai", plant("closing"))]}

        graph = StateGraph(MessagesState)
        graph.add_node("swarm", swarm)
        graph.add_node("close", close)
        graph.add_edge(START, "swarm")
        graph.add_edge("swarm", "close")
        graph.add_edge("close", END)
        return graph.compile(name="desk")

    def run(self, team: Any, task: str, play: Play, how: str) -> None:
        plant = play.plant
        asked = {"messages": [("user", task)]}
        config: Any = {"metadata": {"note": plant("metadata")}, "tags": [plant("tag")], "run_name": plant("run name")}

        async def go() -> None:
            if how == "astream":
                async for _ in team.astream(asked, config, stream_mode=["messages", "updates"], subgraphs=True):
                    pass
            else:
                await team.ainvoke(asked, config)

        if how == "run":
            team.invoke(asked, config)
        else:
            asyncio.run(go())


def _langgraph_model() -> Callable[[Play, str], Any]:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, AIMessageChunk
    from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

    class Model(BaseChatModel):
        play: Any
        agent: str
        calls: int = 0

        @property
        def _llm_type(self) -> str:
            return "planted"

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

        def _message(self) -> AIMessage:
            self.play.asked()
            self.calls += 1
            plant = self.play.plant
            if self.agent == "billing":
                return AIMessage(f"no {plant('reply')}", response_metadata={"header": plant("response metadata")})
            name, arguments = (LOOKUP, self.play.arguments()) if self.calls == 1 else ("transfer_to_billing", {})
            call: Any = {"name": name, "args": arguments, "id": f"c{self.calls}", "type": "tool_call"}
            return AIMessage(plant("beside a call"), tool_calls=[call])

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
            return ChatResult(generations=[ChatGeneration(message=self._message())])

        def _stream(
            self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
        ) -> Iterator[ChatGenerationChunk]:
            whole = self._message()
            half = len(str(whole.content)) // 2
            for text in (str(whole.content)[:half], str(whole.content)[half:]):
                yield ChatGenerationChunk(message=AIMessageChunk(content=text))
            if whole.tool_calls:
                call = whole.tool_calls[0]
                part: Any = {"name": call["name"], "args": json.dumps(call["args"]), "id": call["id"], "index": 0}
                yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[part]))

    return lambda play, agent: Model(play=play, agent=agent)


# --- CrewAI ----------------------------------------------------------------------------------------------------------
class CrewAITeam(PlantedTeam):
    """A crew whose first agent delegates, and two tasks, the second of which sees the first's answer."""

    planted = COMMON | {"goal", "expected output", "delegated work", "delegated context", "input"}

    def build(self, play: Play) -> Any:
        from crewai import Agent, Crew, Task
        from crewai.tools import BaseTool

        plant, model = play.plant, _crewai_model()

        class Lookup(BaseTool):
            name: str = LOOKUP
            description: str = "Looks up."

            def _run(self, query: str, options: dict[str, Any]) -> Any:
                return play.lookup(query, options)

        triage: Any = Agent(
            role="triage", goal=plant("goal"), backstory=f"told {plant('instructions')}", llm=model(play, "triage"),
            tools=[Lookup(description=plant("tool description"))], allow_delegation=True, verbose=False,
            max_retry_limit=0,
        )  # fmt: skip
        billing: Any = Agent(
            role="billing", goal=plant("goal"), backstory=plant("more instructions"), llm=model(play, "billing"),
            verbose=False, max_retry_limit=0,
        )  # fmt: skip
        first = Task(description="{task} for {customer}", expected_output=plant("expected output"), agent=triage)
        second = Task(description=plant("description"), expected_output="text", agent=billing, context=[first])

        def called(output: Any) -> None:
            if play.raises == "agent":
                raise LookupError(plant("agent exception")) from ValueError(plant("given cause"))

        return Crew(
            name="desk", agents=[triage, billing], tasks=[first, second], verbose=False, tracing=False,
            task_callback=called,
        )  # fmt: skip

    def run(self, team: Any, task: str, play: Play, how: str) -> None:
        inputs = {"task": task, "customer": play.plant("input")}

        async def go() -> None:
            if how == "arun":
                await team.akickoff(inputs=inputs)
                return
            team.stream = True
            async for _ in await team.akickoff(inputs=inputs):
                pass

        if how == "run":
            team.kickoff(inputs=inputs)
        else:
            asyncio.run(go())


def _crewai_model() -> Callable[[Play, str], Any]:
    from crewai import BaseLLM

    class Model(BaseLLM):
        play: Any
        agent: str
        calls: int = 0

        def call(self, messages: Any, tools: Any = None, *args: Any, **kwargs: Any) -> Any:
            self.play.asked()
            self.calls += 1
            plant = self.play.plant
            if self.agent == "triage" and self.calls == 1:
                return [_crewai_call("c1", LOOKUP, self.play.arguments())]
            if self.agent == "triage" and self.calls == 2:
                work = {"task": plant("delegated work"), "context": plant("delegated context"), "coworker": "billing"}
                return [_crewai_call("c2", "delegate_work_to_coworker", work)]
            return f"no {plant('reply')}"

        async def acall(self, messages: Any, tools: Any = None, *args: Any, **kwargs: Any) -> Any:
            return self.call(messages, tools)

        def supports_function_calling(self) -> bool:
            return True

    return lambda play, agent: Model(model="planted", play=play, agent=agent)


def _crewai_call(ident: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"id": ident, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


PLANTED_TEAMS: dict[str, PlantedTeam] = {"autogen": AutoGenTeam(), "crewai": CrewAITeam(), "langgraph": LangGraphTeam()}
