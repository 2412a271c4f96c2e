"""Putting every layer on a team, each hook point probed on its own."""

from __future__ import annotations

import functools
import importlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from tracer_hooks.frameworks import EntryKind, PatchSet, RunHost, guard, warn_once, wrap_entry
from tracer_hooks.telemetry import RunInvocation, current_run
from tracer_hooks_autogen._autogen import types
from tracer_hooks_autogen._chats import observe_create, observe_create_stream
from tracer_hooks_autogen._code_execution import observe_execution
from tracer_hooks_autogen._convert import task_text
from tracer_hooks_autogen._home import Home
from tracer_hooks_autogen._intervene_tool import show_supplied_text
from tracer_hooks_autogen._layers import Make, put_layer
from tracer_hooks_autogen._managers import find_manager, observe_manager, observe_new_managers
from tracer_hooks_autogen._members import Members, Profile
from tracer_hooks_autogen._own_spans import AGENT_SPANS, TOOL_SPANS, leave_out_agent_span, leave_out_tool_span
from tracer_hooks_autogen._tools import (
    keep_context,
    loses_context,
    observe_tool,
    observe_tool_stream,
    observe_workbench,
)
from tracer_hooks_autogen._turns import observe_call, observe_stream, observe_team

_ENTRIES = (("run", EntryKind.COROUTINE), ("run_stream", EntryKind.ASYNC_GENERATOR))
_AGENT_ENTRIES = (("on_messages", EntryKind.COROUTINE), ("on_messages_stream", EntryKind.ASYNC_GENERATOR))


def hook_team(team: Any, members: Members, roster: Sequence[Profile], host: RunHost) -> PatchSet:
    """Hook a team, or a single agent; the patch set undoes everything, also what is patched while the team runs."""
    home = Home(team)
    teams = [team, *members.teams]
    home.external = any(getattr(inner, "_embedded_runtime", True) is False for inner in teams)
    home.agent_names = frozenset(agent.name for agent in members.agents)
    _observe_agents(roster, home)
    _observe_members(members, home)
    for inner in teams:
        _observe_team_internals(inner, home)
    _leave_out_own_spans(home)
    _wrap_entries(team, home, host)
    patches = PatchSet()
    patches.on_undo(home.patches.undo)
    return patches


def _observe_agents(roster: Sequence[Profile], home: Home) -> None:
    for profile in roster:
        _put(home, profile.agent, "on_messages_stream", "turn", observe_stream(profile))
        _put(home, profile.agent, "on_messages", "turn", observe_call(profile))
        if hasattr(profile.agent, "execute_code_block"):
            _put(home, profile.agent, "execute_code_block", "tool", observe_execution)


def _observe_members(members: Members, home: Home) -> None:
    for inner in members.teams:
        _put(home, inner, "run_stream", "turn", observe_team(inner))
    for client in members.clients:
        _put(home, client, "create", "chat", observe_create(client))
        _put(home, client, "create_stream", "chat", observe_create_stream(client))
    for workbench in members.workbenches:
        _put(home, workbench, "call_tool", "tool", observe_workbench(workbench))
    for tool in members.tools:
        _observe_tool(tool, home)


def _observe_tool(tool: Any, home: Home) -> None:
    known = types()
    _put(home, tool, "run_json", "tool", observe_tool(tool))
    if isinstance(tool, known.stream_tool):
        _put(home, tool, "run_json_stream", "tool", observe_tool_stream(tool))
    if loses_context(tool):
        _put(home, tool, "run", "context", keep_context(tool))
    if type(tool).return_value_as_string is not known.tool.return_value_as_string:
        _put(home, tool, "return_value_as_string", "supplied", show_supplied_text)


def _observe_team_internals(team: Any, home: Home) -> None:
    if not isinstance(team, types().team):
        return
    _put(home, team, "_create_group_chat_manager_factory", "manager", observe_new_managers)
    if getattr(team, "_initialized", False):
        home.unprepared.append(team)


def _leave_out_own_spans(home: Home) -> None:
    for places, make in ((AGENT_SPANS, leave_out_agent_span), (TOOL_SPANS, leave_out_tool_span)):
        for module, name in places:
            try:
                owner = importlib.import_module(module)
            except ImportError:
                _warn_missing(module, name)
                continue
            _put(home, owner, name, "own spans", make)


def _wrap_entries(team: Any, home: Home, host: RunHost) -> None:
    is_team = isinstance(team, types().team)
    if is_team:
        _put(home, team, "run_stream", f"runs {id(home)}", _follow_runs)
    for name, kind in _ENTRIES if is_team else (*_ENTRIES, *_AGENT_ENTRIES):
        _put(home, team, name, f"entry {id(home)}", _entry(team, name, kind, host))


def _entry(team: Any, name: str, kind: EntryKind, host: RunHost) -> Make:
    def task_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        return task_text(kwargs["task"] if "task" in kwargs else kwargs.get("messages", args[0] if args else None))

    def make(original: Any, homes: list[Home]) -> Any:
        return wrap_entry(team, name, kind, host, original=original, task_of=task_of)

    return make


def _put(home: Home, owner: Any, name: str, key: str, make: Make) -> None:
    if not callable(getattr(owner, name, None)):
        _warn_missing(type(owner).__name__, name)
        return
    with guard(f"hook {type(owner).__name__}.{name}"):
        put_layer(owner, name, key, make, home=home)


def _warn_missing(owner: str, name: str) -> None:
    warn_once(
        f"autogen {owner}.{name}",
        "tracer-hooks finds no %r on AutoGen's %s; what happens there is not observed. Run: tracer-hooks doctor",
        name,
        owner,
    )


def _follow_runs(original: Any, homes: list[Home]) -> Any:
    """Replaces the hooked team's ``run_stream``, below its entry: for what cannot be known before a run begins."""

    @functools.wraps(original)
    def run_stream(*args: Any, **kwargs: Any) -> Any:
        run = current_run()
        for home in homes:
            if run is not None and run.is_subject(home.team) and (home.external or home.unprepared):
                return _followed(home, run, original(*args, **kwargs))
        return original(*args, **kwargs)

    return run_stream


async def _followed(home: Home, run: RunInvocation, stream: Any) -> AsyncIterator[Any]:
    while home.unprepared:
        team = home.unprepared.pop()
        with guard(f"observe the manager of {team.name!r}"):
            observe_manager(await find_manager(team), home)
    home.runs.append(run)
    try:
        async for item in stream:
            yield item
    finally:
        home.runs.remove(run)
        await stream.aclose()
