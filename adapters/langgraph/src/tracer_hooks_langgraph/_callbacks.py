"""Callbacks of LangChain, handed to the run in progress, and the patches of classes that all hooked graphs share."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult
from langchain_core.tracers.context import register_configure_hook
from opentelemetry import context as otel_context

from tracer_hooks import semconv
from tracer_hooks.frameworks import ClassPatches, guard, guarded, is_strict, process_lock, warn_once
from tracer_hooks.telemetry import Message, RunInvocation, ToolInvocation, current_invocation, text_message
from tracer_hooks_langgraph._convert import content_text, result_to_reply
from tracer_hooks_langgraph._turns import Observation

Wrapper = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Makes a method's replacement from the method."""


class SharedPatches:
    """Class methods to replace for as long as somebody holds them: each with its class, its name and its wrapper."""

    def __init__(self, *methods: tuple[type, str, Wrapper]) -> None:
        self._methods = methods
        self._lock = process_lock()
        self._holders = 0
        self._patches = ClassPatches()

    def acquire(self) -> Callable[[], None]:
        """Make sure that the patches are in place; gives the function that lets go of them again."""
        with self._lock:
            self._holders += 1
            if self._holders == 1:
                with guard("patch the framework's classes"):
                    for owner, name, wrapper in self._methods:
                        self._wrap(owner, name, wrapper)
        return self._release

    def _release(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._patches.undo()

    def _wrap(self, owner: type, name: str, wrapper: Wrapper) -> None:
        """Replace ``owner.name``; where there is no such method, say so once and go on without."""
        if callable(vars(owner).get(name)):
            self._patches.wrap(owner, name, lambda before: functools.wraps(before)(wrapper(before)), purpose="run")
            return
        warn_once(
            f"langgraph {owner.__qualname__}.{name}",
            "tracer-hooks found no method %r on %s.%s; what hooks there is left out. Run: tracer-hooks doctor",
            name,
            owner.__module__,
            owner.__qualname__,
        )


@dataclass(slots=True, eq=False)
class CurrentToolCall:
    """A call of ``BaseTool.run`` or ``arun`` that is going on."""

    call_id: str | None
    tool: ToolInvocation | None = None


_current_call: ContextVar[CurrentToolCall | None] = ContextVar("tracer_hooks_tool_call", default=None)


def current_call_id() -> str | None:
    """The model's id of the tool call that is going on (langchain-core 1.0 does not tell it to callbacks)."""
    call = _current_call.get()
    return call.call_id if call is not None and call.tool is None else None


def begin_tool_context(tool: ToolInvocation) -> None:
    """Make ``tool`` the current operation until the tool's ``run`` is over.

    Called from the callback at the tool's start; LangChain copies the context for the tool's own code only after that.
    """
    call = _current_call.get()
    if call is not None and call.tool is None:  # else nobody would put the context back
        call.tool = tool
        otel_context.attach(tool.context())


@contextmanager
def tool_call_noted(call_id: str | None) -> Iterator[CurrentToolCall]:
    """Within the block a call of a tool is going on; afterwards the context is as it was."""
    before, outer = otel_context.get_current(), _current_call.get()
    call = CurrentToolCall(call_id)
    _current_call.set(call)
    try:
        yield call
    finally:
        _current_call.set(outer)
        otel_context.attach(before)


starting_graph: ContextVar[Any] = ContextVar("tracer_hooks_starting_graph", default=None)
"""The compiled graph whose run is about to start in this context: callbacks tell a graph's name only."""


def observation() -> Observation | None:
    """Return the observation of the run that the calling code is part of; None outside a hooked graph's runs."""
    here = current_invocation()  # not by current_run(): LangChain asks a hundred times in a short run
    if here is None or here.run.ended:
        return None
    seen = here.run.adapter_state
    return seen if isinstance(seen, Observation) else None


def observe(run: RunInvocation) -> None:
    """Begin to observe ``run``, in which a hooked graph runs. A second call does nothing."""
    if run.adapter_state is None:
        run.adapter_state = Observation(run)


def _observing(what: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a callback the observation of the run that the calling code is part of; elsewhere it does nothing."""

    def decorate(method: Callable[..., None]) -> Callable[..., None]:
        @guarded(what, None)
        @functools.wraps(method)
        def callback(self: RunObserver, *args: Any, **kwargs: Any) -> None:
            seen = observation()
            if seen is not None:
                method(self, seen, *args, **kwargs)

        return callback

    return decorate


class RunObserver(BaseCallbackHandler):
    """Hands LangChain's callbacks to the observation of the current run. It keeps no state of its own."""

    run_inline = True  # in the caller's context, also in async code: it says which run is current
    ignore_retriever = True
    ignore_custom_event = True

    @property
    def raise_error(self) -> bool:  # type: ignore[override]
        """LangChain logs what a handler raises; our own tests must see it."""
        return is_strict()

    @_observing("note the start of a runnable")
    def on_chain_start(self, seen: Observation, serialized: Any, inputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A graph, a node or another runnable starts."""
        graph, name, metadata = starting_graph.get(), kwargs.get("name") or "", kwargs.get("metadata") or {}
        used = seen.enter(run_id, kwargs.get("parent_run_id"), name, inputs, graph, metadata)
        if graph is not None and used:
            starting_graph.set(None)

    @_observing("note the end of a runnable")
    def on_chain_end(self, seen: Observation, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """It ends."""
        seen.leave(run_id, outputs)

    @_observing("note the failure of a runnable")
    def on_chain_error(self, seen: Observation, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """It raises."""
        seen.break_off(run_id, error)

    @_observing("note a model call")
    def on_chat_model_start(
        self, seen: Observation, serialized: Any, messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """A chat model is called."""
        request_messages = [seen.turns.convert(message) for message in (messages[0] if messages else ())]
        _open_chat(seen, run_id, request_messages, kwargs)

    @_observing("note a model call")
    def on_llm_start(
        self, seen: Observation, serialized: Any, prompts: list[str], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """A model that completes text is called."""
        _open_chat(seen, run_id, [text_message("user", prompt) for prompt in prompts], kwargs)

    @_observing("note a streamed token")
    def on_llm_new_token(self, seen: Observation, token: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A chunk of a streamed reply."""
        chat = seen.chats.get(run_id)
        if chat is not None:
            chat.chunk(token if isinstance(token, str) else content_text(token))

    @_observing("note a model's reply")
    def on_llm_end(self, seen: Observation, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """The model answered."""
        seen.close_chat(run_id, result_to_reply(response))

    @_observing("note the failure of a model call")
    def on_llm_error(self, seen: Observation, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """The model call failed."""
        seen.fail_chat(run_id, error)

    @_observing("note a tool call")
    def on_tool_start(self, seen: Observation, serialized: Any, input_str: str, *, run_id: UUID, **kwargs: Any) -> None:
        """A tool is called."""
        known: Mapping[str, Any] = serialized or {"name": kwargs.get("name")}
        inputs = kwargs.get("inputs") if kwargs.get("inputs") is not None else input_str
        call_id = kwargs.get("tool_call_id") or current_call_id()
        tool = seen.open_tool(run_id, kwargs.get("parent_run_id"), known, inputs, call_id)
        if tool is not None:
            begin_tool_context(tool)

    @_observing("note a tool's result")
    def on_tool_end(self, seen: Observation, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """The tool gave its result."""
        seen.close_tool(run_id, output)

    @_observing("note the failure of a tool")
    def on_tool_error(self, seen: Observation, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """The tool raised."""
        seen.fail_tool(run_id, error)


def _open_chat(seen: Observation, run_id: UUID, messages: list[Message], kwargs: Mapping[str, Any]) -> None:
    known: Mapping[str, Any] = kwargs.get("metadata") or {}
    params: Mapping[str, Any] = kwargs.get("invocation_params") or {}
    model = known.get("ls_model_name") or params.get("model") or params.get("model_name") or params.get("_type")
    attributes: dict[str, Any] = {}
    if known.get("ls_provider"):
        attributes[semconv.PROVIDER_NAME] = known["ls_provider"]
    if known.get("ls_temperature") is not None:
        attributes[semconv.REQUEST_TEMPERATURE] = known["ls_temperature"]
    tools = offered_tools(params)
    parent_id = kwargs.get("parent_run_id")
    seen.open_chat(run_id, parent_id, messages, str(model or ""), attributes=attributes, tools=tools)


def offered_tools(params: Mapping[str, Any]) -> list[str]:
    """Names of the tools in a model call's parameters."""
    names = []
    for tool in params.get("tools") or params.get("functions") or ():
        known = tool if isinstance(tool, Mapping) else {}
        inner = known.get("function")
        name = (inner if isinstance(inner, Mapping) else known).get("name") or getattr(tool, "name", None)
        if name:
            names.append(str(name))
    return names


class _ObserverVariable:
    """Stands in for the context variable that LangChain asks for a handler: it has one where a run is observed."""

    observer = RunObserver()

    def get(self) -> RunObserver | None:
        """Return the handler, or None elsewhere."""
        return self.observer if observation() is not None else None


_registering = threading.Lock()
_registered: list[_ObserverVariable] = []


def register_observer() -> None:
    """Let every callback manager that is made inside a run have the handler. Only the first call does anything."""
    with _registering:
        if not _registered:
            _registered.append(_ObserverVariable())
            register_configure_hook(cast("ContextVar[Any]", _registered[0]), True)
