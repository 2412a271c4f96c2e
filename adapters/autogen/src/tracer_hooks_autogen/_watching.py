"""Noticing teams that are about to run, hooked or not."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

from tracer_hooks.frameworks import PatchSet, guard
from tracer_hooks_autogen._layers import Make, put_layer

_CLASSES = (("autogen_agentchat.teams", "BaseGroupChat"), ("autogen_agentchat.agents", "BaseChatAgent"))


class _Watcher:
    def __init__(self, on_team: Callable[[Any], None]) -> None:
        self.on_team = on_team
        self.patches = PatchSet()


def watch_teams(on_team: Callable[[Any], None]) -> PatchSet:
    """Call ``on_team`` with every team and agent whose ``run`` or ``run_stream`` is called, unless it is hooked.

    Watches both kinds as soon as one of their modules is imported (the other costs 25 ms), and nothing before.
    """
    watcher, patches = _Watcher(on_team), PatchSet()
    if not any(module in sys.modules for module, _ in _CLASSES):
        return patches
    for module, name in _CLASSES:
        with guard(f"watch for teams of {name!r}"):
            owner = getattr(importlib.import_module(module), name)
            put_layer(owner, "run", "watch", _watch_coroutine("run"), home=watcher)
            put_layer(owner, "run_stream", "watch", _watch_stream("run_stream"), home=watcher)
    patches.on_undo(lambda: watcher.patches.undo())  # holds the watcher, which a class holds weakly
    return patches


def _watch_coroutine(name: str) -> Make:
    def make(original: Any, watchers: list[Any]) -> Any:
        @functools.wraps(original)
        async def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            return await _noticed(self, name, original, watchers)(*args, **kwargs)

        return method

    return make


def _watch_stream(name: str) -> Make:
    def make(original: Any, watchers: list[Any]) -> Any:
        @functools.wraps(original)
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            return _noticed(self, name, original, watchers)(*args, **kwargs)

        return method

    return make


def _noticed(team: Any, name: str, original: Any, watchers: list[Any]) -> Any:
    """The method to call: the team's own replacement when a watcher has just hooked it."""
    if name not in vars(team):  # else it is hooked, and the replacement is what called us
        for watcher in list(watchers):
            with guard("look at a team that is about to run"):
                watcher.on_team(team)
        if name in vars(team):
            return getattr(team, name)
    return functools.partial(original, team)
