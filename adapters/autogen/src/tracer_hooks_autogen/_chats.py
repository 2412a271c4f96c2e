"""Model calls: ``create`` and ``create_stream`` of the model clients, on the instances that the team uses."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from tracer_hooks import semconv
from tracer_hooks.frameworks import guard, guarded
from tracer_hooks.telemetry import (
    AgentInvocation,
    ChatInvocation,
    RunInvocation,
    current_invocation,
    drive_async,
    enclosing_agent,
)
from tracer_hooks_autogen._autogen import types
from tracer_hooks_autogen._convert import conversions_of, from_create_result
from tracer_hooks_autogen._home import Home, run_for
from tracer_hooks_autogen._intervene_model import create_under_intervention, end_chat, stream_under_intervention
from tracer_hooks_autogen._layers import Make
from tracer_hooks_autogen._managers import manager_turn
from tracer_hooks_autogen._members import model_name

_PROVIDERS = {
    "openai": "openai",
    "anthropic": "anthropic",
    "azure": "azure.ai.inference",
    "ollama": "ollama",
}
"""Packages under ``autogen_ext.models`` and the conventions' names for whom they call."""


@dataclass(frozen=True)
class _Client:
    """What of a client goes onto each of its spans."""

    model: str
    attributes: dict[str, Any] = field(default_factory=dict)


def observe_create(client: Any) -> Make:
    """Replaces ``create``."""
    known = _describe(client)

    def make(original: Any, homes: list[Home]) -> Any:
        @functools.wraps(original)
        async def create(*args: Any, **kwargs: Any) -> Any:
            chat = _begin_chat(known, homes, args, kwargs)
            if chat is None:
                return await original(*args, **kwargs)
            try:
                if chat.run.intervention is not None:
                    return await create_under_intervention(chat, original, args, kwargs)
                with chat.active():
                    result = await original(*args, **kwargs)
            except BaseException as error:
                chat.fail(error)
                raise
            with guard("record a model's reply"):
                _end_chat(chat, result)
            return result

        return create

    return make


def observe_create_stream(client: Any) -> Make:
    """Replaces ``create_stream``."""
    known = _describe(client, streams=True)

    def make(original: Any, homes: list[Home]) -> Any:
        @functools.wraps(original)
        def create_stream(*args: Any, **kwargs: Any) -> Any:
            chat = _begin_chat(known, homes, args, kwargs)
            if chat is None:
                return original(*args, **kwargs)
            if chat.run.intervention is not None:
                return stream_under_intervention(chat, original, args, kwargs)
            create_result = types().create_result

            def see(item: Any) -> None:
                if isinstance(item, str):
                    chat.chunk(item)
                elif isinstance(item, create_result):
                    _end_chat(chat, item)

            return drive_async(original(*args, **kwargs), chat, on_item=see)

        return create_stream

    return make


def _end_chat(chat: ChatInvocation, result: Any) -> None:
    end_chat(chat, from_create_result(result))


@guarded("begin a model call", cast("ChatInvocation | None", None))
def _begin_chat(
    known: _Client, homes: Sequence[Home], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> ChatInvocation | None:
    run = run_for(homes)
    # A client inside a client (ChatCompletionCache) makes the same call, not another one.
    if run is None or isinstance(current_invocation(), ChatInvocation):
        return None
    natives = args[0] if args else kwargs.get("messages") or ()
    messages = conversions_of(run).model_messages(natives)
    return ChatInvocation(run, known.model, messages=messages, agent=_speaker(run), attributes=known.attributes)


def _speaker(run: RunInvocation) -> AgentInvocation:
    manager = manager_turn(run)
    if manager is not None:
        return manager
    return enclosing_agent(None, run) or run.manager()


def _describe(client: Any, *, streams: bool = False) -> _Client:
    attributes: dict[str, Any] = {}
    with guard("describe a model client"):
        module = type(client).__module__.split(".")
        if module[:2] == ["autogen_ext", "models"] and module[2] in _PROVIDERS:
            attributes[semconv.PROVIDER_NAME] = _PROVIDERS[module[2]]
        if streams:
            attributes[semconv.REQUEST_STREAM] = True
        return _Client(model_name(client), attributes)
    return _Client(type(client).__name__, attributes)
