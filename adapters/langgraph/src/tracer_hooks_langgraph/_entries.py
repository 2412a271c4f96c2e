"""Entry points of compiled graphs, hooked for single graphs although the methods are replaced on the class.

``with_config`` and ``copy`` make a graph anew from its ``__dict__``: a wrapper that sits on the instance would be lost
in the copy, or run the original. So the class's methods are replaced, once for all hooked graphs, and ask whether the
graph that they are called on is hooked; a copy of a hooked graph is hooked too.
"""

from __future__ import annotations

import functools
import uuid
import weakref
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, get_type_hints

from langchain_core.messages import BaseMessage
from langgraph.errors import GraphBubbleUp
from langgraph.pregel import Pregel
from langgraph.types import Command

from tracer_hooks.errors import AdapterError
from tracer_hooks.frameworks import (
    EntryKind,
    PatchSet,
    RunHost,
    TeamCall,
    attach,
    attached,
    detach,
    guard,
    passes_through,
    wrap_entry,
)
from tracer_hooks.telemetry import current_run, message_text
from tracer_hooks_langgraph._callbacks import SharedPatches, observation, observe, register_observer, starting_graph
from tracer_hooks_langgraph._convert import MESSAGES, BubbledSignal, as_mapping, state_text, to_message
from tracer_hooks_langgraph._graphs import START
from tracer_hooks_langgraph._models import model_patches
from tracer_hooks_langgraph._tools import tool_patches

_TASK_KEYS = ("task", "question", "query", "topic", "input", "request", "prompt", "goal")


def task_text(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """Return the task of a graph, from an entry point's arguments: the user's last message, a known key, or JSON."""
    return _given_text(kwargs["input"] if "input" in kwargs else args[0] if args else None)


def _given_text(given: object) -> str:
    if given is None:
        return ""
    if isinstance(given, Command):
        return _given_text(given.resume if given.resume is not None else given.update)
    if isinstance(given, str):
        return given
    if isinstance(given, list):
        return _last_user_text(given) if given and isinstance(given[0], BaseMessage) else state_text(given)
    values = as_mapping(given)
    messages = values.get(MESSAGES)
    if messages:
        return _last_user_text(messages if isinstance(messages, (list, tuple)) else [messages])
    for key in _TASK_KEYS:
        if isinstance(values.get(key), str) and values[key]:
            return str(values[key])
    return state_text(dict(values) if values else given)


def _last_user_text(messages: Any) -> str:
    if isinstance(messages, tuple):
        messages = [messages]
    converted = [to_message(message) for message in messages]
    users = [message for message in converted if message["role"] == "user"]
    return message_text((users or converted)[-1])


def call_for_task(team: Any, task: str) -> TeamCall:
    """The ``invoke`` call that runs ``team`` on ``task``; a graph with a checkpointer gets a thread of its own.

    Raises:
        AdapterError: The graph's input is neither messages nor one text.
    """
    kwargs: dict[str, Any] = {}
    if team.checkpointer:
        kwargs["config"] = {"configurable": {"thread_id": f"tracer-hooks-{uuid.uuid4().hex}"}}
    return TeamCall(team=team, method="invoke", args=(_input(team, task),), kwargs=kwargs, task=task)


def _input(team: Any, task: str) -> Any:
    builder = getattr(team, "builder", None)
    if builder is None:
        return task  # the functional API hands the input to the function as it is
    if MESSAGES in team.channels:
        return {MESSAGES: [{"role": "user", "content": task}]}
    hints = get_type_hints(getattr(builder, "input_schema", None) or builder.state_schema)
    keys = [name for name, hint in hints.items() if hint is str]
    for key in _TASK_KEYS:
        if key in keys:
            return {key: task}
    if len(keys) == 1:
        return {keys[0]: task}
    names = ", ".join(repr(name) for name in team.channels if not name.startswith(("__", "branch:")) and name != START)
    raise AdapterError(
        f"cannot tell where the graph {team.get_name()!r} expects its task: its state has {names}; expected "
        f"'messages', one text, or one of {', '.join(map(repr, _TASK_KEYS))}. Call graph.invoke(...) yourself instead"
    )


_ENTRIES = {
    "invoke": EntryKind.CALL,
    "ainvoke": EntryKind.COROUTINE,
    "stream": EntryKind.GENERATOR,
    "astream": EntryKind.ASYNC_GENERATOR,
}
_TASK_ID = "__pregel_task_id"
"""In the config of a graph that runs as a node of another one (langgraph 1.x)."""


@dataclass(eq=False)
class _GraphHook:
    """Hook by which a graph, and its copies, go through a host."""

    host: RunHost
    active: bool = True


_awaited: ContextVar[Any] = ContextVar("tracer_hooks_awaited_graph", default=None)
"""The graph whose ``invoke`` a host was just asked to conduct."""
_watchers: list[Callable[[Any], None]] = []
_HOOKS = "__tracer_hooks__"
"""What is attached to a graph under this name: its hooks, the newest last; they are undone in any order."""


def hook_graph(graph: Any, host: RunHost) -> PatchSet:
    """Make the runs of ``graph`` and of its copies go through ``host``, until the patch set is undone."""
    patches = PatchSet()
    hook = _GraphHook(host)
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


def _hook_of(graph: Any) -> _GraphHook | None:
    return next((hook for hook in reversed(attached(graph, _HOOKS)) if hook.active), None)


def host_of(graph: Any) -> RunHost | None:
    """The host that the runs of ``graph`` go through, when it or the graph that it was copied from is hooked."""
    hook = _hook_of(graph)
    return hook.host if hook is not None else None


def _is_node(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Tell whether the call is made by a graph for one of its nodes."""
    config = kwargs["config"] if "config" in kwargs else args[1] if len(args) > 1 else None
    return isinstance(config, Mapping) and _TASK_ID in (config.get("configurable") or {})


def _hook_to_go_through(graph: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> _GraphHook | None:
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


def _through_host(graph: Any, method: str, hook: _GraphHook, original: Callable[..., Any]) -> Callable[..., Any]:
    bound = functools.partial(original, graph)
    return wrap_entry(graph, method, _ENTRIES[method], hook.host, original=bound, task_of=task_text)


def _wrap_invoke(original: Callable[..., Any]) -> Callable[..., Any]:
    def invoke(self: Any, *args: Any, **kwargs: Any) -> Any:
        hook = _hook_to_go_through(self, args, kwargs)
        if hook is not None:
            _awaited.set(self)
            return _result_or_signal(_through_host(self, "invoke", hook, original)(*args, **kwargs))
        is_awaited = _is_awaited(self)
        try:
            return original(self, *args, **kwargs)
        except GraphBubbleUp as signal:
            if not is_awaited:
                raise
            return BubbledSignal(signal)  # for the host; the caller gets the signal

    return invoke


def _wrap_ainvoke(original: Callable[..., Any]) -> Callable[..., Any]:
    async def ainvoke(self: Any, *args: Any, **kwargs: Any) -> Any:
        hook = _hook_to_go_through(self, args, kwargs)
        if hook is not None:
            _awaited.set(self)
            return _result_or_signal(await _through_host(self, "ainvoke", hook, original)(*args, **kwargs))
        is_awaited = _is_awaited(self)
        try:
            return await original(self, *args, **kwargs)
        except GraphBubbleUp as signal:
            if not is_awaited:
                raise
            return BubbledSignal(signal)

    return ainvoke


def _is_awaited(graph: Any) -> bool:
    """Tell whether this is the host's own call of ``graph``."""
    if _awaited.get() is not graph:
        return False
    _awaited.set(None)
    return True


def _result_or_signal(result: Any) -> Any:
    if isinstance(result, BubbledSignal):
        raise result.signal
    return result


def _wrap_streaming(method: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        if current_run() is not None:
            starting_graph.set(self)
        return original(self, *args, **kwargs)

    def stream(self: Any, *args: Any, **kwargs: Any) -> Any:
        hook = _hook_to_go_through(self, args, kwargs)
        return (
            noted(self, *args, **kwargs) if hook is None else _through_host(self, method, hook, noted)(*args, **kwargs)
        )

    return stream


def _wrap_copy(original: Callable[..., Any]) -> Callable[..., Any]:
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


_graph_patches = SharedPatches(
    (Pregel, "invoke", _wrap_invoke),
    (Pregel, "ainvoke", _wrap_ainvoke),
    (Pregel, "stream", functools.partial(_wrap_streaming, "stream")),
    (Pregel, "astream", functools.partial(_wrap_streaming, "astream")),
    (Pregel, "copy", _wrap_copy),
)
