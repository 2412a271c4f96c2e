"""The entry points of compiled graphs, hooked for single graphs although the methods are replaced on the class.

``with_config`` and ``copy`` make a graph anew from its ``__dict__``: a wrapper that sits on the instance would be lost in
the copy, or run the original. So the class's methods are replaced, once for all hooked graphs, and ask whether the graph
that they are called on is hooked; a copy of a hooked graph is hooked too.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from langgraph.errors import GraphBubbleUp
from langgraph.pregel import Pregel

from tracer_hooks._guard import guard
from tracer_hooks.adapters import EntryKind, PatchSet, RunHost, wrap_entry
from tracer_hooks.telemetry import current_run
from tracer_hooks_langgraph._callbacks import observation, register_observer, starting_graph
from tracer_hooks_langgraph._class_patches import ClassPatches
from tracer_hooks_langgraph._model_calls import model_patches
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

    __slots__ = ("active", "host")

    def __init__(self, host: RunHost) -> None:
        self.host = host
        self.active = True


class BubbledUp:
    """Stands for a result where a nested graph passes control to the graph around it, which is no failure."""

    def __init__(self, signal: GraphBubbleUp) -> None:
        self.signal = signal


_hooks: weakref.WeakKeyDictionary[Any, _Hook] = weakref.WeakKeyDictionary()


def hook_graph(graph: Any, host: RunHost) -> PatchSet:
    """Make the runs of ``graph`` and of its copies go through ``host``, until the patch set is undone."""
    patches = PatchSet()
    hook, before = _Hook(host), _hooks.get(graph)
    _hooks[graph] = hook

    def unhook() -> None:
        hook.active = False
        _hooks.pop(graph, None)
        if before is not None:
            _hooks[graph] = before

    with guard("let LangChain's callbacks report"):
        register_observer()
    for shared in (_graph_patches, tool_patches, model_patches):
        patches.on_undo(shared.acquire())
    patches.on_undo(unhook)
    return patches


def _hook_of(graph: Any) -> _Hook | None:
    hook = _hooks.get(graph)
    return hook if hook is not None and hook.active else None


def _config_of(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    return kwargs["config"] if "config" in kwargs else args[1] if len(args) > 1 else None


def _is_node(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether the call is made by a graph for one of its nodes."""
    config = _config_of(args, kwargs)
    return isinstance(config, Mapping) and _TASK_ID in (config.get("configurable") or {})


def _conducted(graph: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> _Hook | None:
    """The hook through which a call has to go; none for a node of a graph that is observed itself: it is part of that."""
    hook = _hook_of(graph)
    if hook is not None and _is_node(args, kwargs) and observation() is not None:
        return None
    return hook


def _wrapped(graph: Any, method: str, hook: _Hook, original: Callable[..., Any]) -> Callable[..., Any]:
    bound = functools.partial(original, graph)
    return wrap_entry(graph, method, _ENTRIES[method], hook.host, original=bound, task_of=task_text)


def _wrap_invoke(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def invoke(self: Any, *args: Any, **kwargs: Any) -> Any:
        hook = _conducted(self, args, kwargs)
        if hook is None:
            return original(self, *args, **kwargs)
        inner = _signals_as_results(original) if _is_node(args, kwargs) else original
        return _result_or_signal(_wrapped(self, "invoke", hook, inner)(*args, **kwargs))

    return invoke


def _wrap_ainvoke(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def ainvoke(self: Any, *args: Any, **kwargs: Any) -> Any:
        hook = _conducted(self, args, kwargs)
        if hook is None:
            return await original(self, *args, **kwargs)
        inner = _async_signals_as_results(original) if _is_node(args, kwargs) else original
        return _result_or_signal(await _wrapped(self, "ainvoke", hook, inner)(*args, **kwargs))

    return ainvoke


def _signals_as_results(original: Callable[..., Any]) -> Callable[..., Any]:
    def invoke(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        except GraphBubbleUp as signal:
            return BubbledUp(signal)

    return invoke


def _async_signals_as_results(original: Callable[..., Any]) -> Callable[..., Any]:
    async def ainvoke(*args: Any, **kwargs: Any) -> Any:
        try:
            return await original(*args, **kwargs)
        except GraphBubbleUp as signal:
            return BubbledUp(signal)

    return ainvoke


def _result_or_signal(result: Any) -> Any:
    # The host's own call passes through this wrapper too, and must still get the stand-in: only the outermost raises.
    if isinstance(result, BubbledUp) and current_run_is_over(result):
        raise result.signal
    return result


def current_run_is_over(result: BubbledUp) -> bool:
    """Whether the host is done with the call that ``result`` came from."""
    return observation() is None


def _wrap_streaming(method: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
            if current_run() is not None:
                starting_graph.set(self)
            return original(self, *args, **kwargs)

        @functools.wraps(original)
        def stream(self: Any, *args: Any, **kwargs: Any) -> Any:
            hook = _conducted(self, args, kwargs)
            if hook is None:
                return noted(self, *args, **kwargs)
            return _wrapped(self, method, hook, noted)(*args, **kwargs)

        return stream

    return wrapper


def _wrap_copy(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def copy(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = original(self, *args, **kwargs)
        with guard("hook a copy of a graph"):
            hook = _hook_of(self)
            if hook is not None:
                _hooks[made] = hook
        return made

    return copy


def _install(patches: ClassPatches) -> None:
    patches.wrap(Pregel, "invoke", _wrap_invoke)
    patches.wrap(Pregel, "ainvoke", _wrap_ainvoke)
    patches.wrap(Pregel, "stream", _wrap_streaming("stream"))
    patches.wrap(Pregel, "astream", _wrap_streaming("astream"))
    patches.wrap(Pregel, "copy", _wrap_copy)


_graph_patches = ClassPatches(_install)
