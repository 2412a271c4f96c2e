"""The adapter itself: what the protocol asks for, put together from this package's parts."""

from __future__ import annotations

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
from tracer_hooks.schema import to_text
from tracer_hooks_crewai._installation import installation
from tracer_hooks_crewai._kickoffs import run_result, text_call
from tracer_hooks_crewai._roster import agent_name, agent_spec, is_team, members, write_backstories
from tracer_hooks_crewai._streams import Collector


class CrewAIAdapter:
    """Hooks CrewAI crews, flows, and single agents.

    A run is a call of ``kickoff``, ``kickoff_async`` or ``akickoff``, and each input of ``kickoff_for_each`` and its
    asynchronous twins. Crews and agents inside a hooked flow belong to the flow's run.
    """

    name = "crewai"
    capabilities = frozenset(Capability)

    def recognises(self, team: object) -> bool:
        """Whether ``team`` is a crew, a flow or an agent of CrewAI."""
        return is_team(team)

    def framework_version(self) -> str:
        """The installed version of CrewAI.

        Raises:
            MissingExtraError: CrewAI is not installed.
            UnsupportedVersionError: It is older than 1.15.3, the first with documented hooks, or 2 or newer.
        """
        return supported_version("crewai", adapter="tracer-hooks-crewai", extra="crewai")

    def describe(self, team: Any) -> TeamInfo:
        """Name and members. A flow builds its agents while it runs; they join the roster with their first turn."""
        name = agent_name(team) if hasattr(team, "backstory") else getattr(team, "name", None) or type(team).__name__
        specs = {spec.name: spec for spec in (agent_spec(agent) for agent in members(team))}
        return TeamInfo(name=to_text(name), agents=tuple(specs.values()))

    def hook(self, team: Any, host: RunHost) -> PatchSet:
        """Make every kickoff of ``team`` a run of ``host``. The team itself keeps who its host is, and nothing else."""
        self.framework_version()
        return installation.hook(team, host)

    def result(self, call: TeamCall, native: Any) -> RunResult:
        """What a kickoff returned: a crew's ``raw``, an agent's, or a flow's last output as text."""
        return run_result(native)

    def collector(self, call: TeamCall) -> StreamCollector:
        """A collector for a crew or flow with ``stream=True``."""
        return Collector(call)

    def write_instructions(self, team: Any, instructions: Mapping[str, str]) -> PatchSet | None:
        """Change the backstory of the named agents; None for a flow, which builds its agents itself."""
        return write_backstories(team, instructions)

    def entry(self, team: Any, task: str) -> TeamCall:
        """The kickoff that runs ``team`` on a task given as text.

        CrewAI's tasks are templates: the text goes into the placeholders ``{task}``, ``{question}``, ``{topic}`` and
        ``{query}`` that a crew's tasks and agents hold, or into the only placeholder there is. A crew whose templates
        hold no placeholder does not see the text at all. A flow gets it as an input under the one of these names that
        its state has, else under ``task``; an agent gets it as its message.
        """
        return text_call(team, task)

    def watch(self, on_team: Callable[[Any], None]) -> PatchSet:
        """Call ``on_team`` with every crew, flow or agent that is about to run inside a run, and is not hooked."""
        return installation.watch(on_team)

    async def reset(self, team: Any) -> None:
        """Forget outputs, spent retries and spent tool uses, which CrewAI carries from one kickoff to the next."""
        for task in getattr(team, "tasks", None) or ():
            task.output = None
            task.retry_count = 0
        for agent in members(team):
            with guard("reset an agent"):
                # Counts failed tries over the agent's whole life: a second run would get fewer of them (1.15.30).
                if getattr(agent, "_times_executed", 0):
                    agent._times_executed = 0
                for tool in getattr(agent, "tools", None) or ():
                    if getattr(tool, "current_usage_count", 0):
                        tool.current_usage_count = 0
