"""The seam at the chat model: replies that an intervention supplies or changes, in the model's own reply types.

The patch sits where ``invoke`` and ``stream`` meet, inside LangChain's callbacks: they still fire, and tell of the
reply that the agent finally gets.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.outputs import ChatResult

from tracer_hooks.frameworks import may_change_replies
from tracer_hooks.telemetry import ChatInvocation
from tracer_hooks_langgraph._asking import Asked, Supplied, ask, whole
from tracer_hooks_langgraph._callbacks import observation
from tracer_hooks_langgraph._model_streams import wrap_astream, wrap_stream
from tracer_hooks_langgraph._shared_patches import SharedPatches


def _wrap_generate(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def generate(self: Any, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        chat = _open_chat(run_manager)
        if chat is None:
            return original(self, messages, stop, run_manager, **kwargs)  # type: ignore[no-any-return]
        with chat.active():
            asked = ask(chat, messages, kwargs)
            if asked is None:
                return original(self, messages, stop, run_manager, **kwargs)  # type: ignore[no-any-return]
            supplied = _named(asked, run_manager)
            if supplied is None:
                return asked.finish(original(_model(self, asked), asked.messages, stop, run_manager, **kwargs))
            for chunk in supplied.chunks() if supplied.pieces else ():
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            return supplied.result

    return generate


def _wrap_agenerate(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def agenerate(
        self: Any, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        chat = _open_chat(run_manager)
        if chat is None:
            return await original(self, messages, stop, run_manager, **kwargs)  # type: ignore[no-any-return]
        with chat.active():
            asked = ask(chat, messages, kwargs)
            if asked is None:
                return await original(self, messages, stop, run_manager, **kwargs)  # type: ignore[no-any-return]
            supplied = _named(asked, run_manager)
            if supplied is None:
                return asked.finish(await original(_model(self, asked), asked.messages, stop, run_manager, **kwargs))
            for chunk in supplied.chunks() if supplied.pieces else ():
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            return supplied.result

    return agenerate


def _open_chat(run_manager: Any) -> ChatInvocation | None:
    seen = observation() if run_manager is not None else None
    return seen.chats.get(run_manager.run_id) if seen is not None else None


def _model(model: Any, asked: Asked) -> Any:
    """The model to ask: with callbacks that want chunks it streams, unless the reply may be changed."""
    return whole(model) if may_change_replies(asked.chat.run) else model


def _named(asked: Asked, run_manager: Any) -> Supplied | None:
    """The supplied reply, named as LangChain names replies: by that LangGraph knows which ones it has streamed."""
    supplied = asked.supplied()
    if supplied is not None:
        message = supplied.result.generations[0].message
        message.id = f"lc_run--{run_manager.run_id}"
        seen = observation()
        if supplied.pieces and seen is not None:
            seen.pieces[message.id] = supplied.pieces
    return supplied


def _install(patches: SharedPatches) -> None:
    patches.wrap(BaseChatModel, "_generate_with_cache", _wrap_generate)
    patches.wrap(BaseChatModel, "_agenerate_with_cache", _wrap_agenerate)
    patches.wrap(BaseChatModel, "stream", wrap_stream)
    patches.wrap(BaseChatModel, "astream", wrap_astream)


model_patches = SharedPatches(_install)
