"""The adapter for LangGraph. It imports the framework only when a team is at hand."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from tracer_hooks.frameworks import (
    Capability,
    PatchSet,
    RunHost,
    RunResult,
    StreamCollector,
    TeamCall,
    TeamInfo,
    guard,
    supported_version,
)
from tracer_hooks.schema import AgentSpec

_DISTRIBUTION = "tracer-hooks-langgraph"


class LangGraphAdapter:
    """Observes and steers compiled LangGraph graphs, those of ``create_agent`` and of the functional API included."""

    name = "langgraph"
    capabilities = frozenset(Capability) - {Capability.WRITE_INSTRUCTIONS}

    def recognises(self, team: object) -> bool:
        """Tell whether ``team`` is a compiled graph."""
        return any(
            base.__name__ == "Pregel" and base.__module__.startswith("langgraph.pregel") for base in type(team).__mro__
        )

    def framework_version(self) -> str:
        """The installed version of langgraph."""
        supported_version("langchain-core", adapter=_DISTRIBUTION, extra="langgraph")
        return supported_version("langgraph", adapter=_DISTRIBUTION, extra="langgraph")

    def describe(self, team: Any) -> TeamInfo:
        """The graph's name, and its agents as far as they show before a run.

        Instructions of agents made by ``create_agent`` are read from the graph; those that a function passes to a model
        are seen with the first model call.
        """
        from tracer_hooks_langgraph._graphs import members

        agents: tuple[AgentSpec, ...] = ()
        with guard("look at a graph's nodes"):
            agents = members(team)
        return TeamInfo(name=str(team.get_name()), agents=agents)

    def hook(self, team: Any, host: RunHost) -> PatchSet:
        """Make every run of the graph, and of copies such as ``graph.with_config(...)``, go through ``host``."""
        self.framework_version()
        from tracer_hooks_langgraph._entries import hook_graph

        return hook_graph(team, host)

    def result(self, call: TeamCall, native: Any) -> RunResult:
        """Return the result of a call that returned ``native``: the answer is the text of the team's last message."""
        from tracer_hooks_langgraph._convert import to_run_result

        return to_run_result(call, native)

    def collector(self, call: TeamCall) -> StreamCollector:
        """A collector that understands every stream mode."""
        from tracer_hooks_langgraph._convert import LangGraphCollector

        return LangGraphCollector(call)

    def write_instructions(self, team: Any, instructions: Mapping[str, str]) -> PatchSet | None:
        """None: a compiled graph keeps its prompts in closures; they are rewritten in every model request instead."""
        return None

    def entry(self, team: Any, task: str) -> TeamCall:
        """The ``invoke`` call that runs the graph on a task given as text."""
        from tracer_hooks_langgraph._entries import call_for_task

        return call_for_task(team, task)

    def watch(self, on_team: Callable[[Any], None]) -> PatchSet:
        """Call ``on_team`` with every compiled graph that is about to run, until the patch set is undone."""
        if "langgraph.pregel" not in sys.modules:
            return PatchSet()
        from tracer_hooks_langgraph._entries import watch_graphs

        return watch_graphs(on_team)

    def host_of(self, team: Any) -> RunHost | None:
        """The host of a graph or of the graph that it was copied from, as ``with_config`` does."""
        if "langgraph.pregel" not in sys.modules:
            return None
        from tracer_hooks_langgraph._entries import host_of

        return host_of(team)

    async def reset(self, team: Any) -> None:
        """Nothing to do: runs share state only through a thread of a checkpointer, which the user names."""
