"""The seam at the chat model: replies that an intervention supplies or changes, in the model's own reply types.

The patch sits where ``invoke`` and ``stream`` meet, inside LangChain's callbacks: they still fire, and tell of the
reply that the agent finally gets.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from tracer_hooks import semconv
from tracer_hooks.adapters import ModelRequest, after_model, before_model, changed_texts
from tracer_hooks.telemetry import ChatInvocation, ChatReply, current_run
from tracer_hooks_langgraph._callbacks import observation, offered_tools
from tracer_hooks_langgraph._class_patches import ClassPatches
from tracer_hooks_langgraph._convert import as_chunks, reply_to_result, result_to_reply


def _wrap_generate(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def generate(self: Any, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        chat = _open_chat(run_manager)
        if chat is None:
            return original(self, messages, stop, run_manager, **kwargs)  # type: ignore[no-any-return]
        with chat.active():
            if chat.run.intervention is None:
                return original(self, messages, stop, run_manager, **kwargs)  # type: ignore[no-any-return]
            request, answer = _ask(chat, kwargs)
            if isinstance(answer, ChatReply):
                supplied = _supply(chat, request, answer, run_manager)
                for chunk in supplied.chunks():
                    run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                return supplied.result
            shown = _rewritten(messages, request, answer)
            return _change(chat, request, answer, original(_whole(self), shown, stop, run_manager, **kwargs))

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
            if chat.run.intervention is None:
                return await original(self, messages, stop, run_manager, **kwargs)  # type: ignore[no-any-return]
            request, answer = _ask(chat, kwargs)
            if isinstance(answer, ChatReply):
                supplied = _supply(chat, request, answer, run_manager)
                for chunk in supplied.chunks():
                    await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                return supplied.result
            shown = _rewritten(messages, request, answer)
            return _change(chat, request, answer, await original(_whole(self), shown, stop, run_manager, **kwargs))

    return agenerate


def _wrap_stream(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def stream(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        if not _is_intervened():
            return original(self, *args, **kwargs)  # type: ignore[no-any-return]
        replies = original(_whole(self), *args, **kwargs)
        return (chunk for reply in replies for chunk in as_chunks(reply, _pieces_of(reply)))

    return stream


def _wrap_astream(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def astream(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        if not _is_intervened():
            return original(self, *args, **kwargs)  # type: ignore[no-any-return]
        replies = original(_whole(self), *args, **kwargs)
        return (chunk async for reply in replies for chunk in as_chunks(reply, _pieces_of(reply)))

    return astream


def _is_intervened() -> bool:
    run = current_run()
    return run is not None and run.intervention is not None


def _whole(model: Any) -> Any:
    """A copy of the model that replies in one piece: a reply can only be changed before any of it is handed out."""
    return model.model_copy(update={"disable_streaming": True})


def _open_chat(run_manager: Any) -> ChatInvocation | None:
    seen = observation() if run_manager is not None else None
    return seen.chats.get(run_manager.run_id) if seen is not None else None


def _ask(chat: ChatInvocation, kwargs: Mapping[str, Any]) -> tuple[ModelRequest, ModelRequest | ChatReply | None]:
    request = ModelRequest(
        agent=chat.agent.spec.name,
        model=str(chat.attributes.get(semconv.REQUEST_MODEL) or ""),
        messages=tuple(chat.attributes.get(semconv.INPUT_MESSAGES) or ()),
        tools=tuple(offered_tools(kwargs)),
        step=chat.step,
    )
    return request, before_model(chat.run, request)


@dataclass(frozen=True)
class _Supplied:
    """A reply in place of the model's."""

    result: ChatResult
    pieces: tuple[str, ...]

    def chunks(self) -> Iterator[ChatGenerationChunk]:
        """What callbacks are told of it while it is streamed; nothing where it comes in one piece."""
        if self.pieces:
            for message in as_chunks(self.result.generations[0].message, self.pieces):
                yield ChatGenerationChunk(message=cast(AIMessageChunk, message))


def _supply(chat: ChatInvocation, request: ModelRequest, answer: ChatReply, run_manager: Any) -> _Supplied:
    reply = after_model(chat.run, request, answer)
    result = reply_to_result(reply)
    message = result.generations[0].message
    # As LangChain names replies: by this id LangGraph knows which replies it has streamed already.
    message.id = f"lc_run--{run_manager.run_id}"
    pieces = reply.chunks if "".join(reply.chunks) == reply.content else ()
    seen = observation()
    if pieces and seen is not None:
        seen.pieces[message.id] = pieces
    return _Supplied(result, pieces)


def _pieces_of(reply: BaseMessage) -> tuple[str, ...]:
    seen = observation()
    return seen.pieces.pop(reply.id, ()) if seen is not None and reply.id is not None else ()


def _rewritten(messages: Sequence[Any], request: ModelRequest, answer: ModelRequest | None) -> list[Any]:
    """The native messages with the texts that the intervention changed; the caller's own list stays as it is."""
    if answer is None:
        return list(messages)
    shown = list(messages)
    for index, text in changed_texts(request.messages, answer.messages).items():
        if isinstance(shown[index], BaseMessage):
            shown[index] = shown[index].model_copy(update={"content": text})
    return shown


def _change(chat: ChatInvocation, request: ModelRequest, answer: ModelRequest | None, result: ChatResult) -> ChatResult:
    if answer is not None and not answer.covert:
        request = answer
        chat.set(semconv.INPUT_MESSAGES, list(answer.messages) or None)
    reply = result_to_reply(result)
    changed = after_model(chat.run, request, reply)
    return result if changed is reply else reply_to_result(changed, result)


def _install(patches: ClassPatches) -> None:
    patches.wrap(BaseChatModel, "_generate_with_cache", _wrap_generate)
    patches.wrap(BaseChatModel, "_agenerate_with_cache", _wrap_agenerate)
    patches.wrap(BaseChatModel, "stream", _wrap_stream)
    patches.wrap(BaseChatModel, "astream", _wrap_astream)


model_patches = ClassPatches(_install)
