"""The bridge between AutoGen AgentChat and tracer-hooks."""

from __future__ import annotations

import os
import weakref
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
    supported_version,
)
from tracer_hooks_autogen._autogen import types
from tracer_hooks_autogen._hooking import hook_team
from tracer_hooks_autogen._members import Profile, find_members
from tracer_hooks_autogen._result import Collector, to_result
from tracer_hooks_autogen._watching import watch_teams

_BASES = {("autogen_agentchat.base", "Team"), ("autogen_agentchat.base", "ChatAgent")}


class AutoGenAdapter:
    """Hooks AutoGen 0.7 teams (round robin, selector, swarm, Magentic-One, graph flow) and single agents.

    Entry points are ``run`` and ``run_stream``, for a single agent also ``on_messages`` and ``on_messages_stream``.
    Whatever belongs to the team when it is hooked is observed: participants, inner teams, the agents and teams behind
    ``AgentTool`` and ``TeamTool``, model clients, tools and workbenches.
    """

    name = "autogen"
    capabilities = frozenset(
        {
            Capability.ASYNC,
            Capability.STREAM,
            Capability.INTERVENE_MODEL,
            Capability.INTERVENE_TOOL,
            Capability.READ_INSTRUCTIONS,
            Capability.WRITE_INSTRUCTIONS,
        }
    )

    def __init__(self) -> None:
        # Rosters of hooked teams: looking through a team costs more than a run's other bookkeeping together.
        # Weak: the agents lead to the team by way of their wrappers, and a hooked team must be able to die.
        self._rosters: weakref.WeakValueDictionary[int, _Roster] = weakref.WeakValueDictionary()

    def recognises(self, team: object) -> bool:
        """Whether ``team`` is an AutoGen team or agent."""
        return any(
            base.__name__ == name and base.__module__.startswith(module)
            for base in type(team).__mro__
            for module, name in _BASES
        )

    def framework_version(self) -> str:
        """The installed version of autogen-agentchat.

        Raises:
            MissingExtraError: It is not installed.
            UnsupportedVersionError: It is not 0.7.
        """
        return supported_version("autogen-agentchat", adapter="tracer-hooks-autogen", extra="autogen")

    def describe(self, team: Any) -> TeamInfo:
        """The team's name and its agents, those of inner teams included; managers join when they first decide."""
        profiles = self._rosters.get(id(team)) or _roster(team)
        # With a span current, AutoGen's runtime propagates it in every message, also when it makes no spans of its own;
        # that alone costs a tenth of a run.
        shows_span = os.environ.get("AUTOGEN_DISABLE_RUNTIME_TRACING", "").lower() != "true"
        return TeamInfo(name=team.name, agents=tuple(profile.spec() for profile in profiles), shows_span=shows_span)

    def hook(self, team: Any, host: RunHost) -> PatchSet:
        """Make every run of ``team`` go through ``host``."""
        self.framework_version()
        members = find_members(team)
        roster = self._rosters[id(team)] = _Roster(Profile(agent) for agent in members.agents)
        patches = hook_team(team, members, roster, host)
        patches.on_undo(lambda: self._forget(team, roster))
        return patches

    def result(self, call: TeamCall, native: Any) -> RunResult:
        """The last chat message that an agent wrote, and AutoGen's stop reason."""
        return to_result(call, native)

    def collector(self, call: TeamCall) -> StreamCollector:
        """A collector for ``run_stream`` and ``on_messages_stream``."""
        return Collector(call)

    def write_instructions(self, team: Any, instructions: Mapping[str, str]) -> PatchSet | None:
        """Replace the system messages of the named agents, from their next turn on."""
        patches = PatchSet()
        left = set(instructions)
        for agent in find_members(team).agents:
            text = instructions.get(agent.name)
            if text is None:
                continue
            if isinstance(getattr(agent, "_system_messages", None), list):
                patches.patch(agent, "_system_messages", [types().system_message(content=text)])
            elif isinstance(getattr(agent, "_instruction", None), str):
                patches.patch(agent, "_instruction", text)
            else:
                continue
            left.discard(agent.name)
        if left:  # all or none: the caller then rewrites them in the model requests
            patches.undo()
            return None
        return patches

    def entry(self, team: Any, task: str) -> TeamCall:
        """``team.run(task=task)``."""
        return TeamCall(team=team, method="run", kwargs={"task": task}, task=task)

    def watch(self, on_team: Callable[[Any], None]) -> PatchSet:
        """Call ``on_team`` with every team and agent that is about to run; nothing where AutoGen is not imported."""
        return watch_teams(on_team)

    async def reset(self, team: Any) -> None:
        """Empty the team's conversation, and its agents' memory of it."""
        if isinstance(team, types().team):
            await team.reset()
        else:
            await team.on_reset(types().cancellation_token())

    def _forget(self, team: Any, roster: _Roster) -> None:
        """Called with the roster, which lives as long as the patches that hold this call."""
        if self._rosters.get(id(team)) is roster:
            del self._rosters[id(team)]


class _Roster(list[Profile]):
    """The entries of a hooked team's agents."""


def _roster(team: Any) -> list[Profile]:
    return [Profile(agent) for agent in find_members(team).agents]
