"""Adapter for AutoGen AgentChat: hooking a team, each hook point probed on its own, and watching for teams.

AutoGen 0.7 opens ``invoke_agent`` and ``execute_tool`` spans on the global tracer provider. Inside a hooked run they
would say what our spans say once more. So they are left out where ours go to the same provider; and where there is no
provider, as they would be lost anyway. Where the run was given a provider of its own, AutoGen's spans go on to the
global one as without us. The runtime's messaging spans are never touched: ``AUTOGEN_DISABLE_RUNTIME_TRACING=true``
switches those off.
"""

from __future__ import annotations

import importlib
import os
import sys
import weakref
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import INVALID_SPAN, NoOpTracerProvider, ProxyTracerProvider

from tracer_hooks.frameworks import (
    Capability,
    EntryKind,
    PatchSet,
    RunHost,
    RunResult,
    StreamCollector,
    TeamCall,
    TeamInfo,
    guard,
    guarded,
    supported_version,
    warn_once,
    wrap_entry,
)
from tracer_hooks.telemetry import RunInvocation, ToolInvocation, current_invocation, current_run
from tracer_hooks_autogen._convert import AutoGenCollector, task_text, to_run_result
from tracer_hooks_autogen._members import Members, RosterEntry, find_members, types
from tracer_hooks_autogen._models import observe_create, observe_create_stream
from tracer_hooks_autogen._patching import HookedTeam, MakeMethod, patch_method
from tracer_hooks_autogen._tools import (
    keep_context,
    loses_context,
    observe_execution,
    observe_tool,
    observe_tool_stream,
    observe_workbench,
    show_supplied_text,
)
from tracer_hooks_autogen._turns import (
    find_manager,
    observe_call,
    observe_manager,
    observe_new_managers,
    observe_stream,
    observe_team,
)

_redundant: weakref.WeakKeyDictionary[RunInvocation, bool] = weakref.WeakKeyDictionary()


def suppress_agent_span(original: Any, hooked_teams: list[HookedTeam]) -> Any:
    """Replaces ``trace_invoke_agent_span``."""

    def trace_invoke_agent_span(agent_name: str, *args: Any, **kwargs: Any) -> Any:
        if _is_our_agent(hooked_teams, agent_name, kwargs.get("agent_id")):
            return nullcontext(INVALID_SPAN)
        return original(agent_name, *args, **kwargs)

    return trace_invoke_agent_span


def suppress_tool_span(original: Any, hooked_teams: list[HookedTeam]) -> Any:
    """Replaces ``trace_tool_span``."""

    def trace_tool_span(*args: Any, **kwargs: Any) -> Any:
        here = current_invocation()
        if isinstance(here, ToolInvocation) and _is_redundant(here.run):
            return nullcontext(INVALID_SPAN)
        return original(*args, **kwargs)

    return trace_tool_span


@guarded("see whether AutoGen's span repeats ours", False)
def _is_our_agent(hooked_teams: Sequence[HookedTeam], name: str, agent_id: str | None) -> bool:
    run = current_run()
    for hooked_team in hooked_teams:
        if name not in hooked_team.agent_names:
            continue
        # On a runtime that the user started our context is missing, but the agent's id ends with the team's.
        here = run if run is not None and run.is_subject(hooked_team.team) else hooked_team.run_of_team(agent_id)
        if here is not None:
            return _is_redundant(here)
    return False


def _is_redundant(run: RunInvocation) -> bool:
    known = _redundant.get(run)
    if known is None:
        known = _redundant[run] = _has_our_exporter(run)
    return known


def _has_our_exporter(run: RunInvocation) -> bool:
    provider = trace.get_tracer_provider()
    if isinstance(provider, (ProxyTracerProvider, NoOpTracerProvider)):
        return True
    theirs = getattr(provider.get_tracer("tracer_hooks"), "span_processor", None)
    return theirs is not None and theirs is getattr(run.tracer, "span_processor", None)


_ENTRIES = (("run", EntryKind.COROUTINE), ("run_stream", EntryKind.ASYNC_GENERATOR))
_AGENT_ENTRIES = (("on_messages", EntryKind.COROUTINE), ("on_messages_stream", EntryKind.ASYNC_GENERATOR))


def hook_team(team: Any, members: Members, roster: Sequence[RosterEntry], host: RunHost) -> PatchSet:
    """Hook a team, or a single agent; the patch set undoes everything, also what is patched while the team runs."""
    hooked_team = HookedTeam(team)
    teams = [team, *members.teams]
    hooked_team.external = any(getattr(inner, "_embedded_runtime", True) is False for inner in teams)
    hooked_team.agent_names = frozenset(agent.name for agent in members.agents)
    _observe_agents(roster, hooked_team)
    _observe_members(members, hooked_team)
    for inner in teams:
        _observe_team_internals(inner, hooked_team)
    _suppress_own_spans(hooked_team)
    _wrap_entries(team, hooked_team, host)
    patches = PatchSet()
    patches.on_undo(hooked_team.patches.undo)
    return patches


def _observe_agents(roster: Sequence[RosterEntry], hooked_team: HookedTeam) -> None:
    for profile in roster:
        _patch_if_there(hooked_team, profile.agent, "on_messages_stream", "turn", partial(observe_stream, profile))
        _patch_if_there(hooked_team, profile.agent, "on_messages", "turn", partial(observe_call, profile))
        if hasattr(profile.agent, "execute_code_block"):
            _patch_if_there(hooked_team, profile.agent, "execute_code_block", "tool", observe_execution)


def _observe_members(members: Members, hooked_team: HookedTeam) -> None:
    for inner in members.teams:
        _patch_if_there(hooked_team, inner, "run_stream", "turn", partial(observe_team, inner))
    for client in members.clients:
        _patch_if_there(hooked_team, client, "create", "chat", partial(observe_create, client))
        _patch_if_there(hooked_team, client, "create_stream", "chat", partial(observe_create_stream, client))
    for workbench in members.workbenches:
        _patch_if_there(hooked_team, workbench, "call_tool", "tool", partial(observe_workbench, workbench))
    for tool in members.tools:
        _observe_tool(tool, hooked_team)


def _observe_tool(tool: Any, hooked_team: HookedTeam) -> None:
    known = types()
    _patch_if_there(hooked_team, tool, "run_json", "tool", partial(observe_tool, tool))
    if isinstance(tool, known.stream_tool):
        _patch_if_there(hooked_team, tool, "run_json_stream", "tool", partial(observe_tool_stream, tool))
    if loses_context(tool):
        _patch_if_there(hooked_team, tool, "run", "context", partial(keep_context, tool))
    if type(tool).return_value_as_string is not known.tool.return_value_as_string:
        _patch_if_there(hooked_team, tool, "return_value_as_string", "supplied", show_supplied_text)


def _observe_team_internals(team: Any, hooked_team: HookedTeam) -> None:
    if not isinstance(team, types().team):
        return
    _patch_if_there(hooked_team, team, "_create_group_chat_manager_factory", "manager", observe_new_managers)
    if getattr(team, "_initialized", False):
        hooked_team.unprepared.append(team)


def _suppress_own_spans(hooked_team: HookedTeam) -> None:
    for module, name, make in (  # where AutoGen opens a span around a turn or a tool call; private in 0.7
        ("autogen_agentchat.teams._group_chat._chat_agent_container", "trace_invoke_agent_span", suppress_agent_span),
        ("autogen_agentchat.agents._base_chat_agent", "trace_invoke_agent_span", suppress_agent_span),
        ("autogen_core.tools._base", "trace_tool_span", suppress_tool_span),
    ):
        try:
            owner = importlib.import_module(module)
        except ImportError:
            _warn_missing(module, name)
        else:
            _patch_if_there(hooked_team, owner, name, "own spans", make)


def _wrap_entries(team: Any, hooked_team: HookedTeam, host: RunHost) -> None:
    is_team = isinstance(team, types().team)
    if is_team:
        _patch_if_there(hooked_team, team, "run_stream", f"runs {id(hooked_team)}", _follow_runs)
    for name, kind in _ENTRIES if is_team else (*_ENTRIES, *_AGENT_ENTRIES):
        _patch_if_there(
            hooked_team, team, name, f"entry {id(hooked_team)}", partial(_make_entry, team, name, kind, host)
        )


def _make_entry(
    team: Any, name: str, kind: EntryKind, host: RunHost, original: Any, hooked_teams: list[HookedTeam]
) -> Any:
    def task_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        return task_text(kwargs["task"] if "task" in kwargs else kwargs.get("messages", args[0] if args else None))

    return wrap_entry(team, name, kind, host, original=original, task_of=task_of)


def _patch_if_there(hooked_team: HookedTeam, owner: Any, name: str, key: str, make: MakeMethod) -> None:
    if not callable(getattr(owner, name, None)):
        _warn_missing(type(owner).__name__, name)
        return
    with guard(f"hook {type(owner).__name__}.{name}"):
        patch_method(owner, name, key, make, patch_owner=hooked_team)


def _warn_missing(owner: str, name: str) -> None:
    warn_once(
        f"autogen {owner}.{name}",
        "tracer-hooks finds no %r on AutoGen's %s; what happens there is not observed. Run: tracer-hooks doctor",
        name,
        owner,
    )


def _follow_runs(original: Any, hooked_teams: list[HookedTeam]) -> Any:
    """Replaces the hooked team's ``run_stream``, below its entry: for what cannot be known before a run begins."""

    def run_stream(*args: Any, **kwargs: Any) -> Any:
        run = current_run()
        for hooked_team in hooked_teams:
            if (
                run is not None
                and run.is_subject(hooked_team.team)
                and (hooked_team.external or hooked_team.unprepared)
            ):
                return _followed(hooked_team, run, original(*args, **kwargs))
        return original(*args, **kwargs)

    return run_stream


async def _followed(hooked_team: HookedTeam, run: RunInvocation, stream: Any) -> AsyncIterator[Any]:
    while hooked_team.unprepared:
        team = hooked_team.unprepared.pop()
        with guard(f"observe the manager of {team.name!r}"):
            observe_manager(await find_manager(team), hooked_team)
    hooked_team.runs.append(run)
    try:
        async for item in stream:
            yield item
    finally:
        hooked_team.runs.remove(run)
        await stream.aclose()


_WATCHED = (("autogen_agentchat.teams", "BaseGroupChat"), ("autogen_agentchat.agents", "BaseChatAgent"))


@dataclass(eq=False)
class _TeamWatcher:
    on_team: Callable[[Any], None]
    patches: PatchSet = field(default_factory=PatchSet)


def _watch_run(original: Any, watchers: list[Any]) -> Any:
    async def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        return await _method_after_watchers(self, "run", original, watchers)(*args, **kwargs)

    return run


def _watch_run_stream(original: Any, watchers: list[Any]) -> Any:
    def run_stream(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _method_after_watchers(self, "run_stream", original, watchers)(*args, **kwargs)

    return run_stream


def _method_after_watchers(team: Any, name: str, original: Any, watchers: list[Any]) -> Any:
    """Return the method to call: the team's own replacement when a watcher has just hooked it."""
    if name not in vars(team):  # else it is hooked, and the replacement is what called us
        for watcher in list(watchers):
            with guard("look at a team that is about to run"):
                watcher.on_team(team)
        if name in vars(team):
            return getattr(team, name)
    return partial(original, team)


_BASES = {("autogen_agentchat.base", "Team"), ("autogen_agentchat.base", "ChatAgent")}


class AutoGenAdapter:
    """Hooks AutoGen 0.7 teams (round robin, selector, swarm, Magentic-One, graph flow) and single agents.

    Entry points are ``run`` and ``run_stream``, for a single agent also ``on_messages`` and ``on_messages_stream``.
    Whatever belongs to the team when it is hooked is observed: participants, inner teams, the agents and teams behind
    ``AgentTool`` and ``TeamTool``, model clients, tools and workbenches.
    """

    name = "autogen"
    capabilities = frozenset(Capability) - {Capability.SYNC}

    def __init__(self) -> None:
        # Rosters of hooked teams: looking through a team costs more than a run's other bookkeeping together.
        # Weak: the agents lead to the team by way of their wrappers, and a hooked team must be able to die.
        self._rosters: weakref.WeakValueDictionary[int, _Roster] = weakref.WeakValueDictionary()

    def recognises(self, team: object) -> bool:
        """Tell whether ``team`` is an AutoGen team or agent."""
        return any(
            base.__name__ == name and base.__module__.startswith(module)
            for base in type(team).__mro__
            for module, name in _BASES
        )

    def framework_version(self) -> str:
        """The installed version of autogen-agentchat."""
        return supported_version("autogen-agentchat", adapter="tracer-hooks-autogen", extra="autogen")

    def describe(self, team: Any) -> TeamInfo:
        """The team's name and its agents, those of inner teams included; managers join when they first decide."""
        profiles = self._rosters.get(id(team)) or [RosterEntry(agent) for agent in find_members(team).agents]
        # With a span current, AutoGen's runtime propagates it in every message, also when it makes no spans of its own;
        # that alone costs a tenth of a run.
        shows_span = os.environ.get("AUTOGEN_DISABLE_RUNTIME_TRACING", "").lower() != "true"
        return TeamInfo(name=team.name, agents=tuple(profile.spec() for profile in profiles), shows_span=shows_span)

    def hook(self, team: Any, host: RunHost) -> PatchSet:
        """Make every run of ``team`` go through ``host``."""
        self.framework_version()
        members = find_members(team)
        roster = self._rosters[id(team)] = _Roster(RosterEntry(agent) for agent in members.agents)
        patches = hook_team(team, members, roster, host)
        patches.on_undo(lambda: self._forget(team, roster))
        return patches

    def result(self, call: TeamCall, native: Any) -> RunResult:
        """The last chat message that an agent wrote, and AutoGen's stop reason."""
        return to_run_result(call, native)

    def collector(self, call: TeamCall) -> StreamCollector:
        """A collector for ``run_stream`` and ``on_messages_stream``."""
        return AutoGenCollector(call)

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
        """Call ``on_team`` with every team and agent that is about to run and is not hooked.

        Watches both kinds as soon as one of their modules is imported (the other costs 25 ms), and nothing before.
        """
        watcher, patches = _TeamWatcher(on_team), PatchSet()
        if not any(module in sys.modules for module, _ in _WATCHED):
            return patches
        for module, name in _WATCHED:
            with guard(f"watch for teams of {name!r}"):
                owner = getattr(importlib.import_module(module), name)
                patch_method(owner, "run", "watch", _watch_run, patch_owner=watcher)
                patch_method(owner, "run_stream", "watch", _watch_run_stream, patch_owner=watcher)
        patches.on_undo(lambda: watcher.patches.undo())  # holds the watcher, which a class holds weakly
        return patches

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


class _Roster(list[RosterEntry]):
    """The entries of a hooked team's agents; unlike a plain list, it can be referred to weakly."""
