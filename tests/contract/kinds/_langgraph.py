"""What LangGraph's kinds share."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage

from tracer_hooks.testing import ScriptedLLM
from tracer_hooks_testing import PROMPTS

from ..teams.langgraph_teams import Teams, chat_model
from ._kind import BlockingKind


class LangGraphKind(BlockingKind):
    """A graph on messages that is run with ``graph.invoke(...)``."""

    teams = Teams()

    def run(self, team: Any, task: str) -> Any:
        """Run the graph."""
        return team.invoke(messages_of(task))


def messages_of(task: str) -> dict[str, Any]:
    """The input of a graph on messages."""
    return {"messages": [{"role": "user", "content": task}]}


def asking(llm: ScriptedLLM, name: str) -> Any:
    """A function that asks a model as one of the scripted agents: from what it is to work on to the reply's text."""
    model = chat_model(llm)

    def ask(text: str) -> str:
        return str(model.invoke([SystemMessage(PROMPTS[name]), HumanMessage(text)]).content)

    return ask
