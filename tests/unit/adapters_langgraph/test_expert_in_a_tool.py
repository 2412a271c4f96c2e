"""An agent of the module that a tool of a hooked graph asks: a part of every run, alone and in many runs at once."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

import tracer_hooks

RUNS = 20
STEPS = [("boss", "tool_call"), ("expert", "message"), ("boss", "message")]


class Model(BaseChatModel):
    """Asks the expert first where it has a tool for that, and then answers."""

    has_tool: bool = False

    @property
    def _llm_type(self) -> str:
        return "own"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        asks = self.has_tool and not isinstance(messages[-1], ToolMessage)
        calls: Any = [{"name": "ask_expert", "args": {"question": messages[-1].content}, "id": "c"}]
        reply = AIMessage("", tool_calls=calls) if asks else AIMessage("It is 42.")
        return ChatResult(generations=[ChatGeneration(message=reply)])


EXPERT = create_agent(Model(), [], name="expert")


@tool
def ask_expert(question: str) -> str:
    """Ask the expert."""
    return str(EXPERT.invoke({"messages": [("user", question)]})["messages"][-1].content)  # type: ignore[call-overload]


@pytest.fixture
def boss() -> Any:
    team = create_agent(Model(has_tool=True), [ask_expert], name="boss")
    yield tracer_hooks.hook(team, check=lambda result: "42" in result, store="off")
    tracer_hooks.unhook(team)


def steps(team: Any) -> list[tuple[str, str]]:
    run = tracer_hooks.last_run(team)
    assert run is not None
    return [(step.agent, step.kind.value) for step in run.trajectory.steps]


def test_many_runs_at_once_in_one_loop(boss: Any) -> None:
    async def one(at: int) -> list[tuple[str, str]]:
        await boss.ainvoke({"messages": [("user", f"question {at}")]})
        return steps(boss)

    async def together() -> Any:
        return await asyncio.gather(*(one(at) for at in range(RUNS)))

    assert asyncio.run(together()) == [STEPS] * RUNS


def test_many_runs_at_once_in_threads(boss: Any) -> None:
    def one(at: int) -> list[tuple[str, str]]:
        boss.invoke({"messages": [("user", f"question {at}")]})
        return steps(boss)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(RUNS))) == [STEPS] * RUNS
