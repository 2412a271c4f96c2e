"""What becomes of hooked teams over their life: second use, overlap, failure, and being forgotten.

Usage: python benchmarks/life_cycle.py [--at-once 20] [--json FILE]

For each framework a small team that answers without a model: used three times inside a hooked function; used by many
runs at once, all on one object where the framework allows that; failed with an exception, for the frames of ours in its
traceback; and failed, then forgotten without `unhook`, for what stays alive. Runs on version 0.1, too, to compare with.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import os
import traceback
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.update(
    TRACER_HOOKS_STORE="off",
    CREWAI_DISABLE_TELEMETRY="true",
    CREWAI_TRACING_ENABLED="false",
    CREWAI_DISABLE_VERSION_CHECK="true",
    AUTOGEN_DISABLE_RUNTIME_TRACING="true",
)

import tracer_hooks  # the frameworks read their settings when they are imported

ANSWER = "The answer is 42."
FORGOTTEN = 5


class NoModelError(Exception):
    """What a failing team raises."""


def langgraph_team(fails: bool) -> Any:
    """Two nodes in a row."""
    from langgraph.graph import END, START, MessagesState, StateGraph

    async def first(state: Any) -> Any:
        await asyncio.sleep(0.01)
        if fails:
            raise NoModelError
        return {"messages": [("ai", "Let me see.")]}

    graph = StateGraph(MessagesState)
    graph.add_node("first", first)
    graph.add_node("second", lambda state: {"messages": [("ai", ANSWER)]})
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    graph.add_edge("second", END)
    return graph.compile(name="pair")


def autogen_team(fails: bool) -> Any:
    """Two assistants in turn."""
    from autogen_agentchat.agents import AssistantAgent
    from autogen_agentchat.teams import RoundRobinGroupChat
    from autogen_ext.models.replay import ReplayChatCompletionClient

    # A client without replies left raises.
    clients = [ReplayChatCompletionClient([] if fails else [text] * 50) for text in ("Let me see.", ANSWER)]
    members = [AssistantAgent(name, client) for name, client in zip(("first", "second"), clients, strict=True)]
    return RoundRobinGroupChat(list(members), max_turns=2, name="pair")


def crewai_team(fails: bool) -> Any:
    """Two tasks in a row."""
    from crewai import Agent, BaseLLM, Crew, Task

    class Model(BaseLLM):
        text: str = ""

        def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
            if fails:
                raise NoModelError
            return f"Thought: I now can give a great answer\nFinal Answer: {self.text}"

    members = [
        Agent(role=role, goal="g", backstory="b", llm=Model(model="own", text=text), verbose=False, max_retry_limit=0)
        for role, text in (("first", "Let me see."), ("second", ANSWER))
    ]
    tasks = [Task(description="Do {task}", expected_output="text", agent=member) for member in members]
    return Crew(name="pair", agents=members, tasks=tasks, verbose=False)


async def use_langgraph(team: Any) -> str:
    """One run."""
    return str((await team.ainvoke({"messages": [("user", "x")]}))["messages"][-1].content)


async def use_autogen(team: Any) -> str:
    """One run, from the start."""
    await team.reset()
    return str((await team.run(task="x")).messages[-1].content)


async def use_crewai(team: Any) -> str:
    """One run."""
    return str((await team.akickoff(inputs={"task": "x"})).raw)


FRAMEWORKS: dict[str, tuple[Callable[[bool], Any], Callable[[Any], Any], bool]] = {
    "langgraph": (langgraph_team, use_langgraph, True),
    "autogen": (autogen_team, use_autogen, False),
    "crewai": (crewai_team, use_crewai, False),
}
"""How teams are built and used, and whether one object may run several times at once."""


def measure(name: str, at_once: int) -> dict[str, Any]:
    """The row of one framework."""
    build, use, shared = FRAMEWORKS[name]

    def office(team: Any) -> Any:
        async def solve(task: str) -> str:
            return str(await use(team))

        return tracer_hooks.hook(solve)

    async def one(solve: Any, steps: int = 2) -> bool:
        try:
            answer = await solve("x")
        except (Exception, RecursionError):
            return False
        run = tracer_hooks.last_run(solve)
        return answer == ANSWER and run is not None and len(run.trajectory.steps) == steps

    async def in_a_row() -> int:
        solve = office(build(False))
        return sum([await one(solve) for _ in range(3)])

    async def together() -> int:
        team = build(False)
        offices = [office(team if shared else build(False)) for _ in range(at_once)]
        return sum(await asyncio.gather(*(one(solve) for solve in offices)))

    frames, alive = forgotten(build, use)
    right, at_once_right = asyncio.run(in_a_row()), asyncio.run(together())
    return {
        "framework": name,
        "right of 3 in a row": right,
        f"right of {at_once} at once": at_once_right,
        "frames of ours": frames,
        f"alive of {FORGOTTEN} forgotten": alive,
    }


def forgotten(build: Callable[[bool], Any], use: Callable[[Any], Any]) -> tuple[int, int]:
    """The most frames of ours in a failed team's traceback, and how many failed teams stay alive."""
    references, frames = [], 0
    for _ in range(FORGOTTEN):
        team = tracer_hooks.hook(build(True))
        try:
            asyncio.run(use(team))
        except Exception as error:
            shown = "".join(traceback.format_exception(error, chain=False)).splitlines()
            frames = max(frames, sum("tracer_hooks" in line for line in shown if line.lstrip().startswith("File")))
        run = tracer_hooks.last_run(team)
        if run is not None:
            run.wait(10)
        references.append(weakref.ref(team))
        del team, run
    for _ in range(3):
        gc.collect()
    return frames, sum(reference() is not None for reference in references)


def main() -> None:
    """Print a table, and write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--at-once", type=int, default=20)
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    rows = [measure(name, given.at_once) for name in FRAMEWORKS]
    print(" | ".join(rows[0]))
    for row in rows:
        print(" | ".join(str(value) for value in row.values()))
    if given.json is not None:
        given.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
