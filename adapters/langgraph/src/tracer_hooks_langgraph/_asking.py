"""Asking the run's intervention about one model call, in the model's own messages and reply types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from tracer_hooks import semconv
from tracer_hooks.errors import ReplayError
from tracer_hooks.frameworks import ModelRequest, after_model, after_stream, before_model, changed_texts, guard, report
from tracer_hooks.telemetry import ChatInvocation, ChatReply
from tracer_hooks_langgraph._callbacks import offered_tools
from tracer_hooks_langgraph._convert import as_chunks, reply_to_result, result_to_reply


@dataclass(frozen=True)
class Asked:
    """What came of asking before a call: a reply that makes it needless, or the messages to show the model."""

    chat: ChatInvocation
    request: ModelRequest
    reply: ChatReply | None
    messages: list[Any]

    def supplied(self) -> Supplied | None:
        """The reply in place of the model's, after the intervention has seen it as one; None where it is asked."""
        if self.reply is None:
            return None
        reply = after_model(self.chat.run, self.request, self.reply)
        return Supplied(reply_to_result(reply), reply.chunks if "".join(reply.chunks) == reply.content else ())

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
class Supplied:
    """A reply in place of the model's."""

    result: ChatResult
    pieces: tuple[str, ...]

    def chunks(self) -> Iterator[ChatGenerationChunk]:
        """It as a stream: in its pieces, or in one."""
        for message in as_chunks(self.result.generations[0].message, self.pieces):
            yield ChatGenerationChunk(message=cast(AIMessageChunk, message))


def ask(chat: ChatInvocation, messages: Sequence[Any], kwargs: Mapping[str, Any]) -> Asked | None:
    """Ask before a call; a changed request goes into the record unless it is covert. None: it is to go on unasked."""
    if chat.run.intervention is None:
        return None
    try:
        return _ask(chat, messages, kwargs)
    except ReplayError:
        raise
    except Exception as error:
        report("change a model request", error)
        return None


def _ask(chat: ChatInvocation, messages: Sequence[Any], kwargs: Mapping[str, Any]) -> Asked:
    request = ModelRequest(
        agent=chat.agent.spec.name,
        model=str(chat.attributes.get(semconv.REQUEST_MODEL) or ""),
        messages=tuple(chat.attributes.get(semconv.INPUT_MESSAGES) or ()),
        tools=tuple(offered_tools(kwargs)),
        step=chat.step,
    )
    answer = before_model(chat.run, request)
    if isinstance(answer, ChatReply):
        return Asked(chat, request, answer, [*messages])
    if answer is None:
        return Asked(chat, request, None, [*messages])
    shown = _rewritten(messages, request, answer)
    if answer.covert:
        return Asked(chat, request, None, shown)
    chat.set(semconv.INPUT_MESSAGES, list(answer.messages) or None)
    return Asked(chat, answer, None, shown)


def _rewritten(messages: Sequence[Any], request: ModelRequest, answer: ModelRequest) -> list[Any]:
    """The native messages with the texts that the intervention changed; the caller's own list stays as it is."""
    shown = list(messages)
    for index, text in changed_texts(request.messages, answer.messages).items():
        if isinstance(shown[index], BaseMessage):
            shown[index] = shown[index].model_copy(update={"content": text})
    return shown


def whole(model: Any) -> Any:
    """A copy of the model that replies in one piece: a reply can only be changed before any of it is handed out."""
    quiet: dict[str, Any] = {"disable_streaming": True}
    if "streaming" in type(model).model_fields:
        quiet["streaming"] = False  # clients ask their provider for a stream by it, whatever LangChain has disabled
    return model.model_copy(update=quiet)
