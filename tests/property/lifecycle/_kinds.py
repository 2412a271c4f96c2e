"""Small teams of each framework that answer without a model or a network, and count how often they were really run."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol

import tracer_hooks

ANSWER = "The answer is 42."


class Kind(Protocol):
    """One kind of team."""

    runs_on: bool
    """Whether a team runs on after a call of it was cancelled or broken off."""
    lets_go: bool
    """Whether the framework itself lets go of a team that nobody refers to any more."""
    streams: bool
    """Whether it can be run item by item."""
    calls_stream: bool
    """Whether its calls are streams, too."""

    def build(self) -> Any:
        """A new team."""

    def calls(self, team: Any) -> int:
        """How often the first member of the team has acted."""

    async def call(self, team: Any) -> str:
        """Run the team and give its answer."""

    def stream(self, team: Any) -> AsyncIterator[Any]:
        """Run the team item by item."""

    def classes(self) -> Sequence[type]:
        """The framework's classes that may be patched."""


class PlainKind:
    """A function, hooked as a team object; one that is not hooked is called as it is."""

    runs_on, lets_go, streams, calls_stream = True, True, False, False

    def build(self) -> Any:
        return _PlainTeam()

    def calls(self, team: Any) -> int:
        return int(team.calls)

    async def call(self, team: Any) -> str:
        return str(await team.run("x"))

    def stream(self, team: Any) -> AsyncIterator[Any]:
        raise AssertionError("not asked where it does not stream")

    def classes(self) -> Sequence[type]:
        return []


class _PlainTeam:
    def __init__(self) -> None:
        from tracer_hooks.frameworks.plain import PlainTeam

        self.calls = 0
        self.hooked = PlainTeam(self._run, "plain")

    async def run(self, task: str) -> Any:
        return await self.hooked.run(task)

    async def _run(self, task: str) -> str:
        @tracer_hooks.agent
        async def solo(task: str) -> str:
            self.calls += 1
            await asyncio.sleep(0)
            return ANSWER

        return await solo(task)


class PlainStreamKind:
    """An asynchronous generator function."""

    runs_on, lets_go, streams, calls_stream = True, True, True, True

    def build(self) -> Any:
        return _PlainStreamTeam()

    def calls(self, team: Any) -> int:
        return int(team.calls)

    async def call(self, team: Any) -> str:
        words: list[str] = []
        async for item in team.hooked.run("x"):
            if isinstance(item, tracer_hooks.RetryBoundary):
                words.clear()
            else:
                words.append(item)
        return "".join(words)

    def stream(self, team: Any) -> AsyncIterator[Any]:
        items: AsyncIterator[Any] = team.hooked.run("x")
        return items

    def classes(self) -> Sequence[type]:
        return []


class _PlainStreamTeam:
    def __init__(self) -> None:
        from tracer_hooks.frameworks.plain import PlainTeam

        self.calls = 0
        self.hooked = PlainTeam(self._run, "plain stream")

    async def _run(self, task: str) -> AsyncIterator[str]:
        @tracer_hooks.agent
        async def solo(task: str) -> AsyncIterator[str]:
            self.calls += 1
            for word in ("The ", "answer ", "is ", "42."):
                await asyncio.sleep(0)
                yield word

        items = solo(task)
        try:
            async for item in items:
                yield item
        finally:
            await items.aclose()  # type: ignore[attr-defined]


class LangGraphKind:
    """Two nodes, one after the other."""

    runs_on, lets_go, streams, calls_stream = True, True, True, False

    def __init__(self) -> None:
        self._calls: dict[int, list[int]] = {}

    def build(self) -> Any:
        from langgraph.graph import END, START, MessagesState, StateGraph

        calls = [0]

        async def first(state: MessagesState) -> dict[str, Any]:
            calls[0] += 1
            await asyncio.sleep(0)
            return {"messages": [("ai", "Let me see.")]}

        def second(state: MessagesState) -> dict[str, Any]:
            return {"messages": [("ai", ANSWER)]}

        graph = StateGraph(MessagesState)
        graph.add_node("first", first)
        graph.add_node("second", second)
        graph.add_edge(START, "first")
        graph.add_edge("first", "second")
        graph.add_edge("second", END)
        team: Any = graph.compile(name="pair")
        self._calls[id(team)] = calls
        return team

    def calls(self, team: Any) -> int:
        return self._calls[id(team)][0]

    async def call(self, team: Any) -> str:
        return str((await team.ainvoke({"messages": [("user", "x")]}))["messages"][-1].content)

    def stream(self, team: Any) -> AsyncIterator[Any]:
        items: AsyncIterator[Any] = team.astream({"messages": [("user", "x")]})
        return items

    def classes(self) -> Sequence[type]:
        from langchain_core.language_models.chat_models import BaseChatModel
        from langchain_core.tools import BaseTool
        from langgraph.prebuilt import ToolNode
        from langgraph.pregel import Pregel

        return [Pregel, BaseChatModel, BaseTool, ToolNode]


class AutoGenKind:
    """Two assistants in turn, on a client of our own."""

    runs_on, lets_go, streams, calls_stream = False, True, True, False

    def build(self) -> Any:
        from autogen_agentchat.agents import AssistantAgent
        from autogen_agentchat.teams import RoundRobinGroupChat
        from autogen_ext.models.replay import ReplayChatCompletionClient

        clients = [ReplayChatCompletionClient([text] * 200) for text in ("Let me see.", ANSWER)]
        members = [AssistantAgent(name, client) for name, client in zip(("first", "second"), clients, strict=True)]
        return RoundRobinGroupChat(list(members), max_turns=2, name="pair")

    def calls(self, team: Any) -> int:
        return int(team._participants[0]._model_client._current_index)

    async def call(self, team: Any) -> str:
        await team.reset()
        return str((await team.run(task="x")).messages[-1].content)

    async def stream(self, team: Any) -> AsyncIterator[Any]:
        await team.reset()
        items = team.run_stream(task="x")
        try:
            async for item in items:
                yield item
        finally:
            await items.aclose()

    def classes(self) -> Sequence[type]:
        from autogen_agentchat.agents import AssistantAgent, BaseChatAgent
        from autogen_agentchat.teams import BaseGroupChat, RoundRobinGroupChat
        from autogen_ext.models.replay import ReplayChatCompletionClient

        return [BaseGroupChat, RoundRobinGroupChat, BaseChatAgent, AssistantAgent, ReplayChatCompletionClient]


class CrewAIKind:
    """A crew of two, on a model of our own."""

    runs_on, lets_go, streams, calls_stream = True, False, False, False  # CrewAI 1.15 keeps one that failed

    def build(self) -> Any:
        from crewai import Agent, BaseLLM, Crew, Task

        class Model(BaseLLM):
            replies: int = 0
            text: str = ""

            def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
                self.replies += 1
                return f"Thought: I now can give a great answer\nFinal Answer: {self.text}"

        members = [
            Agent(role=role, goal="g", backstory="b", llm=Model(model="own", text=text), verbose=False)
            for role, text in (("first", "Let me see."), ("second", ANSWER))
        ]
        tasks = [Task(description="Do {task}", expected_output="text", agent=member) for member in members]
        return Crew(name="pair", agents=members, tasks=tasks, verbose=False)  # type: ignore[arg-type]

    def calls(self, team: Any) -> int:
        return int(team.agents[0].llm.replies)

    async def call(self, team: Any) -> str:
        return str((await team.akickoff(inputs={"task": "x"})).raw)

    def stream(self, team: Any) -> AsyncIterator[Any]:
        raise AssertionError("not asked where it does not stream")

    def classes(self) -> Sequence[type]:
        from crewai import Agent, BaseLLM, Crew, Flow
        from crewai.tools.structured_tool import CrewStructuredTool

        return [Agent, Crew, Flow, BaseLLM, CrewStructuredTool]


KINDS: dict[str, type[Kind]] = {
    "plain": PlainKind,
    "plain stream": PlainStreamKind,
    "langgraph": LangGraphKind,
    "autogen": AutoGenKind,
    "crewai": CrewAIKind,
}
