"""The entry points of compiled graphs, hooked for single graphs although the methods are replaced on the class.

``with_config`` and ``copy`` make a graph anew from its ``__dict__``: a wrapper that sits on the instance would be lost
in the copy, or run the original. So the class's methods are replaced, once for all hooked graphs, and ask whether the
graph that they are called on is hooked; a copy of a hooked graph is hooked too.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from langgraph.errors import GraphBubbleUp
from langgraph.pregel import Pregel

from tracer_hooks.frameworks import (
    EntryKind,
    PatchSet,
    RunHost,
    attach,
    attached,
    detach,
    guard,
    passes_through,
    wrap_entry,
)
from tracer_hooks.telemetry import current_run
from tracer_hooks_langgraph._callbacks import observation, observe, register_observer, starting_graph
from tracer_hooks_langgraph._model_calls import model_patches
from tracer_hooks_langgraph._results import BubbledUp
from tracer_hooks_langgraph._shared_patches import SharedPatches
from tracer_hooks_langgraph._tasks import task_text
from tracer_hooks_langgraph._tool_calls import tool_patches

_ENTRIES = {
    "invoke": EntryKind.CALL,
    "ainvoke": EntryKind.COROUTINE,
    "stream": EntryKind.GENERATOR,
    "astream": EntryKind.ASYNC_GENERATOR,
}
_TASK_ID = "__pregel_task_id"
"""In the config of a graph that runs as a node of another one (langgraph 1.x)."""


class _Hook:
    """That a graph, and its copies, go through a host."""

    __slots__ = ("__weakref__", "active", "host")

    def __init__(self, host: RunHost) -> None:
        self.host = host
        self.active = True


_awaited: ContextVar[Any] = ContextVar("tracer_hooks_awaited_graph", default=None)
"""The graph whose ``invoke`` a host was just asked to conduct."""

_watchers: list[Callable[[Any], None]] = []

_HOOKS = "__tracer_hooks__"
"""What is attached to a graph under this name: its hooks, the newest last; they are undone in any order."""


def hook_graph(graph: Any, host: RunHost) -> PatchSet:
    """Make the runs of ``graph`` and of its copies go through ``host``, until the patch set is undone."""
    patches = PatchSet()
    hook = _Hook(host)
    attach(graph, _HOOKS, hook)
    reference = weakref.ref(graph)

    def unhook() -> None:
        hook.active = False  # for its copies
        detach(reference(), _HOOKS, hook)

    with guard("let LangChain's callbacks report"):
        register_observer()
    for shared in (_graph_patches, tool_patches, model_patches):
        # Let go once: when the set is undone, or when the graph and all its copies are gone without that.
        let_go = weakref.finalize(hook, shared.acquire())
        let_go.atexit = False
        patches.on_undo(let_go)
    patches.on_undo(unhook)
    return patches


def watch_graphs(on_team: Callable[[Any], None]) -> PatchSet:
    """Call ``on_team`` with every graph that is about to run and is not hooked, until the patch set is undone."""
    patches = PatchSet()
    patches.on_undo(_graph_patches.acquire())
    _watchers.append(on_team)
    patches.on_undo(lambda: _watchers.remove(on_team))
    return patches


def _hook_of(graph: Any) -> _Hook | None:
    return next((hook for hook in reversed(attached(graph, _HOOKS)) if hook.active), None)


def host_of(graph: Any) -> RunHost | None:
    """The host that the runs of ``graph`` go through, when it or the graph that it was copied from is hooked."""
    hook = _hook_of(graph)
    return hook.host if hook is not None else None


def _config_of(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    return kwargs["config"] if "config" in kwargs else args[1] if len(args) > 1 else None


def _is_node(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether the call is made by a graph for one of its nodes."""
    config = _config_of(args, kwargs)
    return isinstance(config, Mapping) and _TASK_ID in (config.get("configurable") or {})


def _conductor(graph: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> _Hook | None:
    """The hook through which a call has to go; none for a node of an observed graph, which is a part of that."""
    is_node, hook = _is_node(args, kwargs), _hook_of(graph)
    if hook is None and _watchers and not is_node:
        for on_team in list(_watchers):
            with guard("look at a graph that is about to run"):
                on_team(graph)
        hook = _hook_of(graph)
    if hook is None or (is_node and observation() is not None):
        return None
    if not passes_through(graph, hook.host):
        return hook
    run = current_run()
    if run is not None and run.is_subject(graph):  # the call is a part of this run
        observe(run)
    return None


def _wrapped(graph: Any, method: str, hook: _Hook, original: Callable[..., Any]) -> Callable[..., Any]:
    bound = functools.partial(original, graph)
    return wrap_entry(graph, method, _ENTRIES[method], hook.host, original=bound, task_of=task_text)


def _wrap_invoke(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def invoke(self: Any, *args: Any, **kwargs: Any) -> Any:
        hook = _conductor(self, args, kwargs)
        if hook is not None:
            _awaited.set(self)
            return _result_or_signal(_wrapped(self, "invoke", hook, original)(*args, **kwargs))
        is_awaited = _is_awaited(self)
        try:
            return original(self, *args, **kwargs)
        except GraphBubbleUp as signal:
            if not is_awaited:
                raise
            return BubbledUp(signal)  # for the host; the caller gets the signal

    return invoke


def _wrap_ainvoke(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def ainvoke(self: Any, *args: Any, **kwargs: Any) -> Any:
        hook = _conductor(self, args, kwargs)
        if hook is not None:
            _awaited.set(self)
            return _result_or_signal(await _wrapped(self, "ainvoke", hook, original)(*args, **kwargs))
        is_awaited = _is_awaited(self)
        try:
            return await original(self, *args, **kwargs)
        except GraphBubbleUp as signal:
            if not is_awaited:
                raise
            return BubbledUp(signal)

    return ainvoke


def _is_awaited(graph: Any) -> bool:
    """Whether this is the host's own call of ``graph``."""
    if _awaited.get() is not graph:
        return False
    _awaited.set(None)
    return True


def _result_or_signal(result: Any) -> Any:
    if isinstance(result, BubbledUp):
        raise result.signal
    return result


def _wrap_streaming(method: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
            if current_run() is not None:
                starting_graph.set(self)
            return original(self, *args, **kwargs)

        @functools.wraps(original)
        def stream(self: Any, *args: Any, **kwargs: Any) -> Any:
            hook = _conductor(self, args, kwargs)
            if hook is None:
                return noted(self, *args, **kwargs)
            return _wrapped(self, method, hook, noted)(*args, **kwargs)

        return stream

    return wrapper


def _wrap_copy(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def copy(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = original(_without_hooks(self), *args, **kwargs)
        with guard("hook a copy of a graph"):
            hook = _hook_of(self)
            if hook is not None:
                attach(made, _HOOKS, hook)
        return made

    return copy


def _without_hooks(graph: Any) -> Any:
    """``graph``, or a stand-in without what is attached to it: langgraph 1 hands every attribute to the constructor."""
    if not attached(graph, _HOOKS):
        return graph
    bare = object.__new__(type(graph))
    bare.__dict__.update({name: value for name, value in vars(graph).items() if name != _HOOKS})
    return bare


def _install(patches: SharedPatches) -> None:
    patches.wrap(Pregel, "invoke", _wrap_invoke)
    patches.wrap(Pregel, "ainvoke", _wrap_ainvoke)
    patches.wrap(Pregel, "stream", _wrap_streaming("stream"))
    patches.wrap(Pregel, "astream", _wrap_streaming("astream"))
    patches.wrap(Pregel, "copy", _wrap_copy)


_graph_patches = SharedPatches(_install)
