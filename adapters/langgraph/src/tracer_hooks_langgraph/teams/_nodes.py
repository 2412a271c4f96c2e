"""What the graphs of all architectures share: the state, the model, and an agent as a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, MessagesState, StateGraph
from pydantic import SecretStr

from tracer_hooks.suites.architectures import Blueprint, Said
from tracer_hooks_langgraph.teams._tool_limit import LastReplyWithoutTools


def new_graph(plan: Blueprint) -> Any:
    """A graph whose nodes are the plan's agents, still without edges."""
    graph = StateGraph(MessagesState)
    for name in plan.instructions:
        graph.add_node(name, agent_node(plan, name))
    return graph


def compiled(plan: Blueprint, graph: Any) -> Any:
    """The graph as a team; what a model makes go round without end is stopped."""
    return graph.compile(name=plan.name).with_config(recursion_limit=30 + 10 * plan.rounds)


def agent_node(plan: Blueprint, name: str) -> Runnable[Any, Any]:
    """An agent of ``create_agent`` that is shown the others' words as text, and adds its last words to the state."""
    tools = [tool(function) for function in plan.tools_of(name)]
    limits = [LastReplyWithoutTools()] if tools else []
    agent: Any = create_agent(
        chat_model(plan), tools=tools, system_prompt=plan.instructions[name], middleware=limits, name=name
    )

    def shown(state: MessagesState) -> dict[str, Any]:
        task, *others = state["messages"]
        return {"messages": [HumanMessage(plan.prompt(name, str(task.text), said(others)))]}

    def spoken(result: Mapping[str, Any]) -> dict[str, Any]:
        return {"messages": [AIMessage(str(result["messages"][-1].text), name=name)]}

    node: Runnable[Any, Any] = RunnableLambda(shown) | agent | RunnableLambda(spoken)
    return node


def chat_model(plan: Blueprint) -> ChatOpenAI:
    """LangChain's client for OpenAI's API, pointed at the plan's endpoint."""
    endpoint = plan.endpoint
    # ChatOpenAI sends its own ``max_tokens`` as ``max_completion_tokens``, which not every local server reads.
    limit = {} if endpoint.max_tokens is None else {"max_tokens": endpoint.max_tokens}
    return ChatOpenAI(
        model=endpoint.model,
        base_url=endpoint.base_url,
        api_key=SecretStr(endpoint.api_key),
        temperature=endpoint.temperature,
        extra_body=limit or None,
        max_retries=0,
    )


def said(messages: Sequence[BaseMessage]) -> list[Said]:
    """What the agents said, from the state without the task."""
    return [Said(message.name or "", str(message.text)) for message in messages]


def next_node(plan: Blueprint, state: MessagesState) -> str:
    """The node of the agent that acts next."""
    return plan.next_agent(said(state["messages"][1:])) or END
