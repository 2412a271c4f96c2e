"""The demo's team in LangGraph: three agents as the nodes of a graph."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import SecretStr

from tracer_hooks.testing.ticket_office import Endpoint, instructions, ticket_price


def build_team(endpoint: Endpoint, prompts: Mapping[str, str] | None = None) -> Any:
    """Researcher, calculator and writer, one after the other, on a common list of messages."""
    model = ChatOpenAI(model=endpoint.model, base_url=endpoint.base_url, api_key=SecretStr(endpoint.api_key))
    agent_instructions = instructions(prompts)
    graph = StateGraph(MessagesState)
    for name, text in agent_instructions.items():
        tools = [tool(ticket_price)] if name == "researcher" else []
        graph.add_node(name, create_agent(model, tools=tools, system_prompt=text, name=name))
    for before, after in pairwise([START, *agent_instructions, END]):
        graph.add_edge(before, after)
    return graph.compile(name="ticket_office")
