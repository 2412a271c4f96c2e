"""Model calls: replies that an intervention supplies or changes, whole or streamed, in the model's own reply types.

A reply that an intervention may change is fetched whole. Any other comes as the model streams it: LangChain's own
``stream`` runs, callbacks and message ids included, on a stand-in for the model that asks the intervention where
LangChain asks the model for its chunks.

The patch sits where ``invoke`` and ``stream`` meet, inside LangChain's callbacks: they still fire, and tell of the
reply that the agent finally gets.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from tracer_hooks.errors import ReplayError
from tracer_hooks.frameworks import (
    ModelRequest,
    after_model,
    after_stream,
    ask_model,
    guard,
    may_change_replies,
    report,
)
from tracer_hooks.telemetry import AsyncSteps, ChatInvocation, ChatReply, RunInvocation, current_run, drive
from tracer_hooks_langgraph._callbacks import SharedPatches, observation, offered_tools
from tracer_hooks_langgraph._convert import as_chunks, reply_to_result, result_to_reply


@dataclass(frozen=True)
class AskedModelCall:
    """Answer to asking before a call: a reply that makes it needless, or the messages to show the model."""

    chat: ChatInvocation
    request: ModelRequest
    reply: ChatReply | None
    messages: list[Any]

    def supplied(self) -> SuppliedReply | None:
        """The reply in place of the model's, after the intervention has seen it as one; None where it is asked."""
        if self.reply is None:
            return None
        reply = after_model(self.chat.run, self.request, self.reply)
        return SuppliedReply(reply_to_result(reply), reply.chunks if "".join(reply.chunks) == reply.content else ())

    def finish(self, result: ChatResult) -> ChatResult:
        """The result to use in place of the model's, which may be the same."""
        reply = result_to_reply(result)
        changed = after_model(self.chat.run, self.request, reply)
        return result if changed is reply else reply_to_result(changed, result)

    def finish_stream(self, chunks: Sequence[ChatGenerationChunk]) -> None:
        """Show the intervention what was streamed."""
        reply = None
        with guard("read a streamed reply"):
            if chunks:
                whole = chunks[0] + list(chunks[1:]) if len(chunks) > 1 else chunks[0]
                reply = result_to_reply(ChatResult(generations=[whole]))
        if reply is not None:
            after_stream(self.chat.run, self.request, reply)


@dataclass(frozen=True)
class SuppliedReply:
    """A reply in place of the model's."""

    result: ChatResult
    pieces: tuple[str, ...]

    def chunks(self) -> Iterator[ChatGenerationChunk]:
        """It as a stream: in its pieces, or in one."""
        for message in as_chunks(self.result.generations[0].message, self.pieces):
            yield ChatGenerationChunk(message=cast(AIMessageChunk, message))


def ask_before_call(chat: ChatInvocation, messages: Sequence[Any], kwargs: Mapping[str, Any]) -> AskedModelCall | None:
    """Ask before a call; a changed request goes into the record unless it is covert. None: it is to go on unasked."""
    if chat.run.intervention is None:
        return None
    try:
        asked = ask_model(chat, offered_tools(kwargs))
        natives = list(messages)  # the caller's own list stays as it is
        for index, text in asked.texts.items():
            if isinstance(natives[index], BaseMessage):
                natives[index] = natives[index].model_copy(update={"content": text})
        return AskedModelCall(chat, asked.request, asked.reply, natives)
    except ReplayError:
        raise
    except Exception as error:
        report("change a model request", error)
        return None


def without_streaming(model: Any) -> Any:
    """A copy of the model that replies in one piece: a reply can only be changed before any of it is handed out."""
    quiet: dict[str, Any] = {"disable_streaming": True}
    if "streaming" in type(model).model_fields:
        quiet["streaming"] = False  # clients ask their provider for a stream by it, whatever LangChain has disabled
    return model.model_copy(update=quiet)


try:
    from langchain_core.utils.uuid import uuid7
except ImportError:  # releases before it name their runs by the other kind
    from uuid import uuid4 as uuid7  # type: ignore[assignment]


def wrap_stream(original: Callable[..., Any]) -> Callable[..., Any]:
    """``stream``, with the run's intervention asked."""

    def stream(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        run = _run_with_intervention()
        if run is None:
            return original(self, *args, **kwargs)  # type: ignore[no-any-return]
        if may_change_replies(run):
            replies = original(without_streaming(self), *args, **kwargs)
            return (chunk for reply in replies for chunk in as_chunks(reply, _pieces_of(reply)))
        if not _is_streaming_model(self, kwargs, is_async=False):
            return (chunk for reply in original(self, *args, **kwargs) for chunk in _supplied_in_pieces(reply))
        model, args, kwargs = _stand_in_for(self, args, kwargs)
        return original(model, *args, **kwargs)  # type: ignore[no-any-return]

    return stream


def wrap_astream(original: Callable[..., Any]) -> Callable[..., Any]:
    """``astream`` likewise."""

    def astream(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        run = _run_with_intervention()
        if run is None:
            return original(self, *args, **kwargs)  # type: ignore[no-any-return]
        if may_change_replies(run):
            replies = original(without_streaming(self), *args, **kwargs)
            return _aiter_pieces(replies, lambda reply: as_chunks(reply, _pieces_of(reply)))
        if not _is_streaming_model(self, kwargs, is_async=True):
            return _aiter_pieces(original(self, *args, **kwargs), _supplied_in_pieces)
        model, args, kwargs = _stand_in_for(self, args, kwargs)
        return original(model, *args, **kwargs)  # type: ignore[no-any-return]

    return astream


async def _aiter_pieces(replies: Any, pieces_of: Callable[[Any], Iterable[Any]]) -> AsyncIterator[Any]:
    async with aclosing(replies):  # also where the caller breaks it off
        async for reply in replies:
            for piece in pieces_of(reply):
                yield piece


def _run_with_intervention() -> RunInvocation | None:
    run = current_run()
    return run if run is not None and run.intervention is not None else None


def _is_streaming_model(model: Any, kwargs: Mapping[str, Any], *, is_async: bool) -> bool:
    """Tell whether LangChain will ask the model for chunks; else it invokes it, and gives the reply as one item."""
    with guard("see whether a model streams"):
        return bool(model._should_stream(async_api=is_async, **{**kwargs, "stream": True}))
    return False


def _supplied_in_pieces(reply: BaseMessage) -> Iterator[BaseMessage]:
    """A whole reply: as it is when the model gave it, in pieces when it was supplied so."""
    pieces = _pieces_of(reply)
    return as_chunks(reply, pieces) if pieces and isinstance(reply, AIMessage) else iter((reply,))


def _pieces_of(reply: BaseMessage) -> tuple[str, ...]:
    seen = observation()
    return seen.pieces.pop(reply.id, ()) if seen is not None and reply.id is not None else ()


def _stand_in_for(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """A stand-in for the model, and the arguments with an id by which it will find the call that they make.

    The stand-in is a copy that lends itself to ``stream`` only: what produces replies is the model's own, whose state
    must not be left behind in a copy.
    """
    with guard("ask about a streamed model call"):
        config = dict((args[1] if len(args) > 1 else kwargs.get("config")) or {})
        config["run_id"] = config.get("run_id") or uuid7()
        stream = _AskedStream(model, config["run_id"])
        stand_in = model.model_copy()
        # In the instance's dictionary: LangChain looks at the type to see whether a model can stream.
        stand_in.__dict__.update(
            _stream=stream.stream,
            _astream=stream.astream,
            _generate_with_cache=model._generate_with_cache,
            _agenerate_with_cache=model._agenerate_with_cache,
        )
        if len(args) > 1:
            return stand_in, (args[0], config, *args[2:]), kwargs
        return stand_in, args, {**kwargs, "config": config}
    return model, args, kwargs


class _AskedStream:
    """``_stream`` and ``_astream`` of a model, for one call, with the run's intervention asked before and after."""

    def __init__(self, model: Any, run_id: UUID) -> None:
        self._model = model
        self._run_id = run_id

    def stream(self, messages: Any, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        """In place of ``_stream``."""
        asked = self.ask(messages, kwargs)
        if asked is None:
            yield from self._model._stream(messages, *args, **kwargs)
        elif (supplied := asked.supplied()) is not None:
            yield from supplied.chunks()
        else:
            chunks: list[ChatGenerationChunk] = []
            source = self._model._stream(asked.messages, *args, **kwargs)
            yield from drive(source, asked.chat, on_item=chunks.append, fails=False)  # LangChain tells of failures
            asked.finish_stream(chunks)

    def astream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        """In place of ``_astream``."""
        return _AskedChunks(self, messages, lambda shown: self._model._astream(shown, *args, **kwargs), kwargs)

    def ask(self, messages: Any, kwargs: Mapping[str, Any]) -> AskedModelCall | None:
        """Ask about the call, which is open by now; None where nothing observes it."""
        seen = observation()
        chat = seen.chats.get(self._run_id) if seen is not None else None
        if chat is None:
            return None
        with chat.active():
            return ask_before_call(chat, messages, kwargs)


class _AskedChunks:
    """The chunks of an asynchronous stream. No generator, for the reason that :class:`AsyncSteps` gives."""

    def __init__(
        self, stream: _AskedStream, messages: Any, live: Callable[[Any], AsyncIterator[Any]], kwargs: dict[str, Any]
    ) -> None:
        self._stream, self._messages, self._live, self._kwargs = stream, messages, live, kwargs
        self._is_begun = False
        self._asked: AskedModelCall | None = None
        self._supplied: Iterator[ChatGenerationChunk] | None = None
        self._source: AsyncIterator[ChatGenerationChunk]
        self._chunks: list[ChatGenerationChunk] = []

    def __aiter__(self) -> AsyncIterator[ChatGenerationChunk]:
        return self

    async def __anext__(self) -> ChatGenerationChunk:
        if not self._is_begun:
            self._is_begun = True
            self._begin()
        if self._supplied is not None:
            for chunk in self._supplied:
                return chunk
            raise StopAsyncIteration
        try:
            return await anext(self._source)
        except StopAsyncIteration:
            if self._asked is not None:
                self._asked.finish_stream(self._chunks)
            raise

    def _begin(self) -> None:
        asked = self._asked = self._stream.ask(self._messages, self._kwargs)
        supplied = asked.supplied() if asked is not None else None
        if supplied is not None:
            self._supplied = supplied.chunks()
        elif asked is None:
            self._source = self._live(self._messages)
        else:
            self._source = AsyncSteps(self._live(asked.messages), asked.chat, self._chunks.append)


def _wrap_generate(original: Callable[..., Any]) -> Callable[..., Any]:
    def generate(self: Any, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        chat = _open_chat(run_manager)
        if chat is None:
            return original(self, messages, stop, run_manager, **kwargs)  # type: ignore[no-any-return]
        with chat.active():
            asked = ask_before_call(chat, messages, kwargs)
            if asked is None:
                return original(self, messages, stop, run_manager, **kwargs)  # type: ignore[no-any-return]
            supplied = _supply_named(asked, run_manager)
            if supplied is None:
                return asked.finish(original(_model_to_ask(self, asked), asked.messages, stop, run_manager, **kwargs))
            for chunk in supplied.chunks() if supplied.pieces else ():
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            return supplied.result

    return generate


def _wrap_agenerate(original: Callable[..., Any]) -> Callable[..., Any]:
    async def agenerate(
        self: Any, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        chat = _open_chat(run_manager)
        if chat is None:
            return await original(self, messages, stop, run_manager, **kwargs)  # type: ignore[no-any-return]
        with chat.active():
            asked = ask_before_call(chat, messages, kwargs)
            if asked is None:
                return await original(self, messages, stop, run_manager, **kwargs)  # type: ignore[no-any-return]
            supplied = _supply_named(asked, run_manager)
            if supplied is None:
                return asked.finish(
                    await original(_model_to_ask(self, asked), asked.messages, stop, run_manager, **kwargs)
                )
            for chunk in supplied.chunks() if supplied.pieces else ():
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            return supplied.result

    return agenerate


def _open_chat(run_manager: Any) -> ChatInvocation | None:
    seen = observation() if run_manager is not None else None
    return seen.chats.get(run_manager.run_id) if seen is not None else None


def _model_to_ask(model: Any, asked: AskedModelCall) -> Any:
    """The model to ask: with callbacks that want chunks it streams, unless the reply may be changed."""
    return without_streaming(model) if may_change_replies(asked.chat.run) else model


def _supply_named(asked: AskedModelCall, run_manager: Any) -> SuppliedReply | None:
    """The supplied reply, named as LangChain names replies: by that LangGraph knows which ones it has streamed."""
    supplied = asked.supplied()
    if supplied is not None:
        message = supplied.result.generations[0].message
        message.id = f"lc_run--{run_manager.run_id}"
        seen = observation()
        if supplied.pieces and seen is not None:
            seen.pieces[message.id] = supplied.pieces
    return supplied


model_patches = SharedPatches(
    (BaseChatModel, "_generate_with_cache", _wrap_generate),
    (BaseChatModel, "_agenerate_with_cache", _wrap_agenerate),
    (BaseChatModel, "stream", wrap_stream),
    (BaseChatModel, "astream", wrap_astream),
)
