"""The benchmark's team in LangGraph: a supervisor that routes to two ``create_agent`` sub-graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import langchain.agents
from _overhead_script import ANSWER, FOUND, JUDGED, PROMPTS, QUOTES, TASK, TOOL, quote
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph

SUPERVISOR = "You are the supervisor. Name the agent that acts next, researcher or writer, and what it has to do."
LAST = "writer: write the order now. This is the last step; after it nobody has to act any more, so make it final."


class ScriptedModel(BaseChatModel):
    """Gives its replies one after the other."""

    replies: list[Any]
    asked: int = 0

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        reply = self.replies[self.asked]
        self.asked += 1
        usage = {"input_tokens": 60, "output_tokens": 20, "total_tokens": 80}
        if isinstance(reply, dict):
            call = {"name": TOOL, "args": reply, "id": f"call_{self.asked}", "type": "tool_call"}
            message = AIMessage(content="", tool_calls=[call], usage_metadata=usage)
        else:
            message = AIMessage(content=reply, usage_metadata=usage)
        message.response_metadata = {"model_name": "scripted", "finish_reason": "stop"}
        return ChatResult(generations=[ChatGeneration(message=message)])


class BenchTeam:
    """Builds and runs the graph."""

    framework = "langgraph"
    distribution = "langgraph"

    def __init__(self) -> None:
        self._models: list[ScriptedModel] = []

    def build(self, prompts: Mapping[str, str] | None = None) -> Any:
        told = {**PROMPTS, **(prompts or {})}
        self._models.clear()
        supervisor = self._model([JUDGED[0] + " researcher", JUDGED[1] + " researcher", LAST])

        def supervise(state: MessagesState) -> dict[str, Any]:
            return {"messages": [supervisor.invoke([SystemMessage(SUPERVISOR), *state["messages"]])]}

        graph = StateGraph(MessagesState)
        graph.add_node("supervisor", supervise)
        looks_up = [QUOTES[0], FOUND[0], QUOTES[1], FOUND[1]]
        graph.add_node("researcher", self._worker("researcher", looks_up, told["researcher"]))
        graph.add_node("writer", self._worker("writer", [ANSWER], told["writer"]))
        graph.add_edge(START, "supervisor")
        graph.add_conditional_edges("supervisor", _next, ["researcher", "writer"])
        graph.add_edge("researcher", "supervisor")
        graph.add_edge("writer", END)
        return graph.compile(name="purchasing")

    def run(self, team: Any) -> str:
        return str(team.invoke({"messages": [("user", TASK)]})["messages"][-1].content)

    def rewind(self, team: Any) -> None:
        for model in self._models:
            model.asked = 0

    def model_calls(self) -> int:
        return sum(model.asked for model in self._models)

    def _worker(self, name: str, replies: list[Any], prompt: str) -> Any:
        # Looked up at each call: an instrumentor may have replaced the function since this module was imported.
        return langchain.agents.create_agent(self._model(replies), [tool(quote)], system_prompt=prompt, name=name)

    def _model(self, replies: list[Any]) -> ScriptedModel:
        model = ScriptedModel(replies=replies)
        self._models.append(model)
        return model


def _next(state: MessagesState) -> str:
    return "writer" if "writer" in str(state["messages"][-1].content) else "researcher"
