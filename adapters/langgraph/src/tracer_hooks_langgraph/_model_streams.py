"""The seam at ``stream`` and ``astream`` of chat models.

A reply that an intervention may change is fetched whole. Any other comes as the model streams it: LangChain's own
``stream`` runs, callbacks and message ids included, on a stand-in for the model that asks the intervention where
LangChain asks the model for its chunks.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from typing import Any
from uuid import UUID

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk

from tracer_hooks.frameworks import guard, may_change_replies
from tracer_hooks.telemetry import AsyncSteps, RunInvocation, current_run, drive
from tracer_hooks_langgraph._asking import Asked, ask, whole
from tracer_hooks_langgraph._callbacks import observation
from tracer_hooks_langgraph._convert import as_chunks

try:
    from langchain_core.utils.uuid import uuid7
except ImportError:  # releases before it name their runs by the other kind
    from uuid import uuid4 as uuid7  # type: ignore[assignment]


def wrap_stream(original: Callable[..., Any]) -> Callable[..., Any]:
    """``stream``, with the run's intervention asked."""

    @functools.wraps(original)
    def stream(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        run = _intervened()
        if run is None:
            return original(self, *args, **kwargs)  # type: ignore[no-any-return]
        if may_change_replies(run):
            replies = original(whole(self), *args, **kwargs)
            return (chunk for reply in replies for chunk in as_chunks(reply, _pieces_of(reply)))
        if not _streams(self, kwargs, is_async=False):
            return (chunk for reply in original(self, *args, **kwargs) for chunk in _supplied_in_pieces(reply))
        model, args, kwargs = _asking(self, args, kwargs)
        return original(model, *args, **kwargs)  # type: ignore[no-any-return]

    return stream


def wrap_astream(original: Callable[..., Any]) -> Callable[..., Any]:
    """``astream`` likewise."""

    @functools.wraps(original)
    def astream(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        run = _intervened()
        if run is None:
            return original(self, *args, **kwargs)  # type: ignore[no-any-return]
        if may_change_replies(run):
            replies = original(whole(self), *args, **kwargs)
            return _apieces(replies, lambda reply: as_chunks(reply, _pieces_of(reply)))
        if not _streams(self, kwargs, is_async=True):
            replies = original(self, *args, **kwargs)
            return _apieces(replies, _supplied_in_pieces)
        model, args, kwargs = _asking(self, args, kwargs)
        return original(model, *args, **kwargs)  # type: ignore[no-any-return]

    return astream


async def _apieces(replies: Any, pieces_of: Callable[[Any], Iterable[Any]]) -> AsyncIterator[Any]:
    async with aclosing(replies):  # also where the caller breaks it off
        async for reply in replies:
            for piece in pieces_of(reply):
                yield piece


def _intervened() -> RunInvocation | None:
    run = current_run()
    return run if run is not None and run.intervention is not None else None


def _streams(model: Any, kwargs: Mapping[str, Any], *, is_async: bool) -> bool:
    """Whether LangChain will ask the model for chunks; else it invokes it, and gives the reply as one item."""
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


def _asking(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
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

    def ask(self, messages: Any, kwargs: Mapping[str, Any]) -> Asked | None:
        """Ask about the call, which is open by now; None where nothing observes it."""
        seen = observation()
        chat = seen.chats.get(self._run_id) if seen is not None else None
        if chat is None:
            return None
        with chat.active():
            return ask(chat, messages, kwargs)


class _AskedChunks:
    """The chunks of an asynchronous stream. No generator, for the reason that :class:`AsyncSteps` gives."""

    def __init__(
        self, stream: _AskedStream, messages: Any, live: Callable[[Any], AsyncIterator[Any]], kwargs: dict[str, Any]
    ) -> None:
        self._stream, self._messages, self._live, self._kwargs = stream, messages, live, kwargs
        self._is_begun = False
        self._asked: Asked | None = None
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
