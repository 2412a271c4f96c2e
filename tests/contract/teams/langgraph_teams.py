"""The contract kit's teams in LangGraph: agents of ``create_agent`` as nodes, and nodes that call a model."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel
from langgraph.types import Command, interrupt
from pydantic import SecretStr

from tracer_hooks.testing import ScriptedLLM
from tracer_hooks_testing import PROMPTS, ContractTeams, lookup

Tool = Callable[..., Any]


class EchoModel(BaseChatModel):
    """A chat model as a user might write it: it says its texts one after the other."""

    texts: list[str]
    said: list[str] = []

    @property
    def _llm_type(self) -> str:
        return "echo"

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        text = self.texts[len(self.said) % len(self.texts)]
        self.said.append(text)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


def chat_model(llm: ScriptedLLM, *, streaming: bool = False) -> ChatOpenAI:
    """LangChain's client for OpenAI's API, pointed at the script."""
    return ChatOpenAI(
        model="scripted", base_url=llm.base_url, api_key=SecretStr(llm.api_key), max_retries=0, streaming=streaming,
        stream_usage=streaming,
    )  # fmt: skip


def as_tool(function: Tool) -> BaseTool:
    """A plain function, synchronous or not, as a LangChain tool."""
    return tool(function)


def agent(llm: ScriptedLLM, name: str, *, tools: Sequence[Any] = (), prompts=None, streaming: bool = False) -> Any:
    """An agent of ``create_agent``."""
    told = {**PROMPTS, **(prompts or {})}[name]
    return create_agent(chat_model(llm, streaming=streaming), [*tools], system_prompt=told, name=name)


def chain(name: str, *, checkpointer: Any = None, **nodes: Any) -> Any:
    """A graph whose nodes run one after the other."""
    graph = StateGraph(MessagesState)
    for key, node in nodes.items():
        graph.add_node(key, node)
    for before, after in itertools.pairwise([START, *nodes, END]):
        graph.add_edge(before, after)
    return graph.compile(name=name, checkpointer=checkpointer)


def last_message(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state update of an agent that keeps its tool calls to itself."""
    return {"messages": state["messages"][-1:]}


@tool
def transfer_to_billing(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[str]:
    """Hand the question over to billing."""
    result = ToolMessage("Transferred to billing.", tool_call_id=tool_call_id, name="transfer_to_billing")
    return Command(goto="billing", graph=Command.PARENT, update={"messages": [result]})


class Teams(ContractTeams):
    """LangGraph's teams."""

    adapter = "langgraph"
    runs_at_once = True

    def single(self, llm, *, tools=(), prompts=None, streaming=False, max_calls=100) -> Any:
        solo = agent(llm, "solo", tools=[as_tool(one) for one in tools], prompts=prompts, streaming=streaming)
        return chain("single", solo=solo).with_config({"recursion_limit": 2 * max_calls + 10})

    def pipeline(self, llm: ScriptedLLM, *, tools: Sequence[Tool] = (lookup,), prompts=None) -> Any:
        researcher = agent(llm, "researcher", tools=[as_tool(one) for one in tools], prompts=prompts)
        writer, reviewer = agent(llm, "writer", prompts=prompts), agent(llm, "reviewer", prompts=prompts)
        # The graphs of the agents give the whole conversation; the others are to see what each one said in the end.
        agents = {"researcher": researcher, "writer": writer, "reviewer": reviewer}
        return chain("pipeline", **{name: one | last_message for name, one in agents.items()})

    def handoff(self, llm: ScriptedLLM) -> Any:
        graph = StateGraph(MessagesState)
        graph.add_node("triage", agent(llm, "triage", tools=[transfer_to_billing]), destinations=("billing", END))
        graph.add_node("billing", agent(llm, "billing"))
        graph.add_edge(START, "triage")
        graph.add_edge("billing", END)
        return graph.compile(name="handoff")

    def manager(self, llm: ScriptedLLM) -> Any:
        model = chat_model(llm)

        def manager(state: MessagesState) -> Command[str]:
            reply = model.invoke([SystemMessage(PROMPTS["manager"]), *state["messages"]])
            return Command(goto=str(reply.content).strip())

        graph = StateGraph(MessagesState)
        graph.add_node("manager", manager, destinations=("alpha", "beta"))
        for name in ("alpha", "beta"):
            graph.add_node(name, agent(llm, name))
            graph.add_edge(name, END)
        graph.add_edge(START, "manager")
        return graph.compile(name="manager")

    def parallel(self, llm: ScriptedLLM) -> Any:
        graph = StateGraph(MessagesState)
        for name in ("left", "right"):
            graph.add_node(name, agent(llm, name))
            graph.add_edge(START, name)
            graph.add_edge(name, END)
        return graph.compile(name="parallel")

    def nested(self, llm: ScriptedLLM) -> Any:
        return chain("nested", inner=chain("inner", expert=agent(llm, "expert")), lead=agent(llm, "lead"))

    def custom_model(self, texts: Sequence[str]) -> Any:
        model = EchoModel(texts=list(texts))

        def solo(state: MessagesState) -> dict[str, Any]:
            return {"messages": [model.invoke(state["messages"])]}

        return chain("single", solo=solo)

    def interrupting(self, llm: ScriptedLLM) -> Any:
        """The node after the agent asks a human."""

        def ask(state: MessagesState) -> dict[str, Any]:
            interrupt("Is this right?")
            return {}

        return chain("interrupting", checkpointer=InMemorySaver(), solo=agent(llm, "solo"), ask=ask)

    # --- running ---------------------------------------------------------------------------------------------------
    @staticmethod
    def _call(team: Any, task: str) -> tuple[dict[str, Any], dict[str, Any]]:
        config = {"configurable": {"thread_id": "contract"}} if team.checkpointer else {}
        return {"messages": [{"role": "user", "content": task}]}, config

    def run(self, team: Any, task: str) -> Any:
        return team.invoke(*self._call(team, task))

    async def arun(self, team: Any, task: str) -> Any:
        return await team.ainvoke(*self._call(team, task))

    def stream(self, team: Any, task: str) -> Iterator[Any]:
        return team.stream(*self._call(team, task))

    def astream(self, team: Any, task: str) -> AsyncIterator[Any]:
        return team.astream(*self._call(team, task))

    def tokens(self, team: Any, task: str) -> Iterator[Any]:
        """``graph.stream(..., stream_mode="messages", subgraphs=True)``, without what is said about each chunk."""
        inputs, config = self._call(team, task)
        for _where, (message, _about) in team.stream(inputs, config, stream_mode="messages", subgraphs=True):
            yield message

    async def atokens(self, team: Any, task: str) -> AsyncIterator[Any]:
        """``graph.astream(..., stream_mode="messages")`` likewise."""
        inputs, config = self._call(team, task)
        stream = team.astream(inputs, config, stream_mode="messages", subgraphs=True)
        async for _where, (message, _about) in stream:
            yield message

    # --- looking ---------------------------------------------------------------------------------------------------
    def plain(self, result: Any) -> Any:
        """Messages as role, text and calls; everything else as it is."""
        if isinstance(result, BaseMessage):
            calls = [(call["name"], call["args"]) for call in getattr(result, "tool_calls", ())]
            return [result.type, result.name, result.content, calls]
        if isinstance(result, Mapping):
            return {key: self.plain(value) for key, value in result.items() if key != "__interrupt__"}
        if isinstance(result, (list, tuple)):
            return [self.plain(item) for item in result]
        return result

    def joined(self, items: Sequence[Any]) -> Sequence[Any]:
        """Without chunks that hold no text: LangChain makes some for what a provider says beside the text."""
        return [item for item in items if not (isinstance(item, list) and item[0] == "AIMessageChunk" and not item[2])]

    def parts(self, team: Any) -> Sequence[Any]:
        """The graphs, and every class with a method that the adapter replaces."""
        inner = [node.bound for node in team.nodes.values() if isinstance(node.bound, Pregel)]
        tools = [node.bound for graph in inner for node in graph.nodes.values()]
        classes = [Pregel, type(team), BaseChatModel, ChatOpenAI, BaseTool, StructuredTool, ToolNode]
        return [*inner, *tools, *classes]

    @contextlib.contextmanager
    def broken_probe(self) -> Iterator[None]:
        """Chat models have no ``astream`` of their own, as if a version had moved it to ``Runnable``."""
        original = BaseChatModel.astream
        del BaseChatModel.astream
        try:
            yield
        finally:
            BaseChatModel.astream = original  # type: ignore[method-assign]
