"""The architectures as LangGraph's own graphs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import SecretStr

from tracer_hooks.endpoint import Endpoint
from tracer_hooks_lab.teams import Blueprint, TeamUtterance, Tool, blueprint

__all__ = ["build_team"]

MAX_TOOL_REPLIES: Final = 3
"""How many replies of one turn may call tools."""


class LastReplyWithoutTools(AgentMiddleware[Any, Any]):
    """Offers the tools for :data:`MAX_TOOL_REPLIES` replies, then asks for words."""

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Ask the model, with the tools or without."""
        return handler(_limited(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Ask the model, with the tools or without."""
        return await handler(_limited(request))


def _limited(request: ModelRequest[Any]) -> ModelRequest[Any]:
    called = sum(bool(message.tool_calls) for message in request.messages if isinstance(message, AIMessage))
    return request.override(tools=[]) if called >= MAX_TOOL_REPLIES else request


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


def said(messages: Sequence[BaseMessage]) -> list[TeamUtterance]:
    """Collect what the agents said, from the state without the task."""
    return [TeamUtterance(message.name or "", str(message.text)) for message in messages]


def next_node(plan: Blueprint, state: MessagesState) -> str:
    """The node of the agent that acts next."""
    return plan.next_agent(said(state["messages"][1:])) or END


def debate(plan: Blueprint) -> Any:
    """One debater after the other, not in one super-step: the steps of equal runs then have equal numbers."""

    def after_round(state: MessagesState) -> str:
        return next_node(plan, state)

    *debaters, aggregator = plan.instructions
    graph = new_graph(plan)
    for before, after in pairwise([START, *debaters]):
        graph.add_edge(before, after)
    graph.add_conditional_edges(debaters[-1], after_round, [debaters[0], aggregator])
    graph.add_edge(aggregator, END)
    return compiled(plan, graph)


def planner_solver_checker(plan: Blueprint) -> Any:
    """After the checker comes the solver again, or the end."""

    def after_check(state: MessagesState) -> str:
        return next_node(plan, state)

    graph = new_graph(plan)
    graph.add_edge(START, "planner")
    graph.add_edge("planner", "solver")
    graph.add_edge("solver", "checker")
    graph.add_conditional_edges("checker", after_check, ["solver", END])
    return compiled(plan, graph)


def sop_pipeline(plan: Blueprint) -> Any:
    """Each hands its document on to the next."""
    graph = new_graph(plan)
    for before, after in pairwise([START, *plan.instructions, END]):
        graph.add_edge(before, after)
    return compiled(plan, graph)


def supervisor(plan: Blueprint) -> Any:
    """Each worker reports to the supervisor."""

    def ordered(state: MessagesState) -> str:
        return next_node(plan, state)

    chief, *workers = plan.instructions
    graph = new_graph(plan)
    graph.add_edge(START, chief)
    graph.add_conditional_edges(chief, ordered, [*workers, END])
    for worker in workers:
        graph.add_edge(worker, chief)
    return compiled(plan, graph)


_BUILDERS: Final[Mapping[str, Callable[[Blueprint], Any]]] = {
    "planner_solver_checker": planner_solver_checker,
    "debate": debate,
    "sop_pipeline": sop_pipeline,
    "supervisor": supervisor,
}


def build_team(
    architecture: str,
    endpoint: Endpoint,
    *,
    tools: Sequence[Tool] = (),
    prompts: Mapping[str, str] | None = None,
    rounds: int | None = None,
) -> Any:
    """A compiled graph on a list of messages, the first of which is the task.

    Two calls with equal arguments give two teams that share nothing and ask their model the same.

    Args:
        architecture: One of :data:`tracer_hooks_lab.teams.ARCHITECTURES`.
        endpoint: Where the model is.
        tools: Plain functions with a docstring, for the agents that use tools.
        prompts: Instructions in place of the architecture's own, by agent.
        rounds: How often the loop may go round; see :func:`tracer_hooks_lab.teams.blueprint`.

    Raises:
        ConfigError: An argument cannot be used; see :func:`tracer_hooks_lab.teams.blueprint`.
    """
    plan = blueprint(architecture, endpoint, tools=tools, prompts=prompts, rounds=rounds)
    return _BUILDERS[plan.name](plan)
