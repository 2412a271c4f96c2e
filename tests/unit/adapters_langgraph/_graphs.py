"""Scripted chat models and small graphs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, TypedDict

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph

from tracer_hooks.schema import Step, StepKind
from tracer_hooks.testing import RecordingHost, observed

QUESTION: Any = {"messages": [{"role": "user", "content": "What is six times seven?"}]}


class Scripted(BaseChatModel):
    """Gives its replies in turn; one that is an exception is raised."""

    replies: list[Any]
    shown: list[list[BaseMessage]] = []
    turn: Any = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        self.shown[:] = [*self.shown[-20:], messages]
        reply = next(self.turn)
        if isinstance(reply, Exception):
            raise reply
        message = AIMessage(reply) if isinstance(reply, str) else reply.model_copy()
        message.usage_metadata = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
        return message

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[Any, Any]:
        return self.bind(tools=[{"name": one.name} for one in tools], **kwargs)


class Streaming(Scripted):
    """Gives its replies word by word."""

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        message = self._next(messages)
        words = str(message.content).split(" ")
        for index, word in enumerate(words):
            text = word if index == len(words) - 1 else word + " "
            usage = message.usage_metadata if index == len(words) - 1 else None
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=text, usage_metadata=usage))
            if run_manager is not None:
                run_manager.on_llm_new_token(text, chunk=chunk)
            yield chunk


def scripted(*replies: Any, kind: type[Scripted] = Scripted) -> Scripted:
    """A chat model with a script; the last reply is given again and again."""
    return kind(replies=list(replies), shown=[], turn=itertools.chain(replies, itertools.repeat(replies[-1])))


def calling(*calls: tuple[str, dict[str, Any], str], text: str = "") -> AIMessage:
    """A reply that calls tools: name, arguments, id."""
    return AIMessage(text, tool_calls=[{"name": name, "args": args, "id": ident} for name, args, ident in calls])


@tool
def lookup(query: str) -> str:
    """Look something up."""
    return f"found {query}"


@tool
def broken(query: str) -> str:
    """Fail."""
    raise ValueError("the table is gone")


class Plain(TypedDict, total=False):
    """A state without messages."""

    topic: str
    draft: str
    score: int


def speaker(model: Any) -> Any:
    """A node that calls a chat model itself."""

    def speak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    return speak


def chain(
    state: Any = MessagesState, *, name: str = "team", compiled: dict[str, Any] | None = None, **nodes: Any
) -> Any:
    """A graph whose nodes run one after the other."""
    graph = StateGraph(state)
    for key, node in nodes.items():
        graph.add_node(key, node)
    for before, after in itertools.pairwise([START, *nodes, END]):
        graph.add_edge(before, after)
    return graph.compile(name=name, **(compiled or {}))


def watched(team: Any, given: Any = QUESTION, **options: Any) -> RecordingHost:
    """Run the team once under an observer."""
    with observed(team, **options) as observer:
        team.invoke(given)
    return observer


def told(observer: RecordingHost) -> list[tuple[str, StepKind, str]]:
    """Agent, kind and text of every step of the only run."""
    return [(step.agent, step.kind, step.content) for step in observer.trajectory.steps]


def calls(step: Step) -> list[tuple[str, Any, str | None, bool]]:
    """Name, arguments, result, and whether it failed, of every tool call of a step."""
    return [(call.name, call.arguments, call.result, call.error is not None) for call in step.tool_calls]
