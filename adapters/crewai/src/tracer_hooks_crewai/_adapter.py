"""Adapter for CrewAI, and the patches and hooks that are in place while at least one team is hooked."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial, wraps
from typing import Any

from tracer_hooks.errors import AdapterError
from tracer_hooks.frameworks import (
    Capability,
    ClassPatches,
    PatchSet,
    RunHost,
    RunResult,
    StreamCollector,
    TeamCall,
    TeamInfo,
    guard,
    process_lock,
    supported_version,
    warn_once,
)
from tracer_hooks.schema import to_text
from tracer_hooks_crewai import _entries, _models, _tools, _turns
from tracer_hooks_crewai._convert import (
    agent_name,
    agent_spec,
    call_for_task,
    is_team,
    members,
    models_of,
    own_models,
    to_run_result,
    write_backstories,
)
from tracer_hooks_crewai._entries import CrewAICollector, HookedKickoffs, HookedTeams


class Installation:
    """CrewAI's classes and hooks as long as teams are hooked."""

    def __init__(self) -> None:
        self._lock = process_lock()
        self._count = 0
        self._patches = ClassPatches()
        self._hooks: PatchSet = PatchSet()
        self._known_models: set[type] = set()
        self.teams = HookedTeams()

    def hook(self, team: Any, host: RunHost) -> PatchSet:
        """Make the kickoffs of ``team`` runs of ``host``."""
        hooked = HookedKickoffs(team, host)
        with self._lock:
            release = self._retain()
            try:
                self._wrap_entries(type(team))
            except BaseException:
                release()
                raise
            self._cover_team(team)
        self.teams.add(team, hooked, on_loss=release)
        patches = PatchSet()
        patches.on_undo(release)
        patches.on_undo(lambda: self.teams.remove(hooked))
        return patches

    def watch(self, on_team: Callable[[Any], None]) -> PatchSet:
        """Call ``on_team`` with every team that is about to run inside a run and is not hooked."""
        patches = PatchSet()
        if "crewai" not in sys.modules:
            return patches
        from crewai import Agent, Crew, Flow

        with self._lock:
            patches.on_undo(self._retain())
            for cls in (Crew, Flow, Agent):
                self._wrap_entries(cls)
        self.teams.watchers.append(on_team)
        patches.on_undo(lambda: self.teams.watchers.remove(on_team))
        return patches

    def _retain(self) -> Callable[[], None]:
        """Have the patches in place; gives the function that lets go of them, at its first call."""
        if self._count == 0:
            self._install()
        self._count += 1
        return partial(self._release, threading.Event())

    def cover_models(self, agent: Any) -> None:
        """Wrap the classes of an agent's models, which may have been made after the team was hooked."""
        for model in own_models(agent):
            if type(model) not in self._known_models:
                self._cover_model(type(model))

    def _release(self, released: threading.Event) -> None:
        with self._lock:
            if released.is_set():
                return
            released.set()
            self._count -= 1
            if self._count == 0:
                self._hooks.undo()
                self._patches.undo()
                self._known_models.clear()

    # --- put in place ------------------------------------------------------------------------------------------------
    def _install(self) -> None:
        probes: dict[str, Callable[[], None]] = {
            "agents' turns": self._wrap_turns,
            "tool hooks": self._register_hooks,
            "attempts at tools": self._wrap_attempts,
            "models": self._cover_loaded_models,
        }
        for what, probe in probes.items():
            try:
                probe()
            except Exception as error:
                warn_once(
                    f"crewai {what}",
                    "tracer-hooks cannot observe %s in this CrewAI (%s: %s); the rest is observed",
                    what,
                    type(error).__name__,
                    error,
                )

    def _wrap_entries(self, cls: type) -> None:
        found = [self._entry(cls, "kickoff", _entries.wrap_sync_entry)]
        found += [self._entry(cls, name, _entries.wrap_async_entry) for name in ("kickoff_async", "akickoff")]
        if not any(found):
            raise AdapterError(f"{cls.__name__!r} has no kickoff; expected a Crew, Flow or Agent of CrewAI 1.x")
        if hasattr(cls, "kickoff_for_each"):
            for name in ("kickoff_for_each", "kickoff_for_each_async", "akickoff_for_each"):
                self._wrap_within(cls, name, _entries.copied_for_each, purpose="entry")
            self._wrap(cls, "copy", lambda before: _entries.wrap_copy(before, self.teams), purpose="entry")

    def _entry(self, cls: type, name: str, make: Callable[..., Any]) -> bool:
        return self._wrap(cls, name, lambda before: make(before, name, self.teams), purpose="entry")

    def _wrap(self, cls: type, name: str, make: Callable[[Any], Any], *, purpose: str) -> bool:
        return self._patches.wrap(cls, name, lambda before: wraps(before)(make(before)), purpose=purpose)

    def _wrap_within(
        self, cls: type, name: str, enter: Callable[[Any], AbstractContextManager[None]], *, purpose: str
    ) -> None:
        is_async = name.startswith("a") or name.endswith("_async")
        self._wrap(cls, name, lambda before: _turns.within(before, enter, is_async=is_async), purpose=purpose)

    def _wrap_turn(self, cls: type, name: str, read_inputs: _turns.ReadInputs) -> bool:
        make = _turns.observed_async_turn if name in ("aexecute_task", "kickoff_async") else _turns.observed_turn
        return self._wrap(cls, name, lambda before: make(before, read_inputs, self.cover_models), purpose="turn")

    def _wrap_turns(self) -> None:
        from crewai import Agent

        self._wrap_agent(Agent)
        self._wrap_turn(Agent, "kickoff", _turns.kickoff_inputs)
        self._wrap_turn(Agent, "kickoff_async", _turns.kickoff_inputs)
        with guard("look for LiteAgent"):
            try:
                from crewai.lite_agent import LiteAgent
            except ImportError:  # deprecated since 1.0; nothing to observe where it is gone
                return
            self._wrap_turn(LiteAgent, "kickoff", _turns.kickoff_inputs)

    def _wrap_agent(self, cls: type) -> None:
        found = self._wrap_turn(cls, "execute_task", _turns.task_inputs)
        self._wrap_turn(cls, "aexecute_task", _turns.task_inputs)
        if not found:
            raise AttributeError(f"{cls.__name__}.execute_task")

    def _register_hooks(self) -> None:
        from crewai.hooks import InterceptionPoint, register_hook, unregister_hook

        points = (
            (InterceptionPoint.PRE_TOOL_CALL, _tools.before_tool_call),
            (InterceptionPoint.POST_TOOL_CALL, _tools.after_tool_call),
        )
        for point, hook in points:
            register_hook(point, hook)
            self._hooks.on_undo(partial(_call, unregister_hook, point, hook))

    def _wrap_attempts(self) -> None:
        from crewai.tools.structured_tool import CrewStructuredTool

        self._wrap_within(CrewStructuredTool, "invoke", _tools.attempt, purpose="attempt")
        self._wrap_within(CrewStructuredTool, "ainvoke", _tools.attempt, purpose="attempt")

    # --- models and agents of other classes --------------------------------------------------------------------------
    def _cover_team(self, team: Any) -> None:
        with guard("look at a team's agents and models"):
            for agent in members(team):
                if hasattr(agent, "execute_task"):
                    self._wrap_agent(type(agent))
            for model in models_of(team):
                self._cover_model(type(model))
            self._cover_loaded_models()

    def _cover_loaded_models(self) -> None:
        from crewai import BaseLLM

        for cls in _subclasses(BaseLLM):
            self._cover_model(cls)

    def _cover_model(self, cls: type) -> None:
        if cls not in self._known_models:
            self._wrap(cls, "call", _models.wrap_call, purpose="chat")
            self._wrap(cls, "acall", _models.wrap_acall, purpose="chat")
            self._known_models.add(cls)


def _call(function: Callable[..., Any], *args: Any) -> None:
    function(*args)


def _subclasses(cls: type) -> Iterator[type]:
    sub: type
    for sub in cls.__subclasses__():
        yield sub
        yield from _subclasses(sub)


installation = Installation()
"""The only one: CrewAI's classes and hook lists are shared by the whole process."""


class CrewAIAdapter:
    """Hooks CrewAI crews, flows, and single agents.

    A run is a call of ``kickoff``, ``kickoff_async`` or ``akickoff``, and each input of ``kickoff_for_each`` and its
    asynchronous twins. Crews and agents inside a hooked flow belong to the flow's run.
    """

    name = "crewai"
    capabilities = frozenset(Capability)

    def recognises(self, team: object) -> bool:
        """Tell whether ``team`` is a crew, a flow or an agent of CrewAI."""
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
        """Return the result of a kickoff: a crew's ``raw``, an agent's, or a flow's last output as text."""
        return to_run_result(native)

    def collector(self, call: TeamCall) -> StreamCollector:
        """A collector for a crew or flow with ``stream=True``."""
        return CrewAICollector(call)

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
        return call_for_task(team, task)

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
