"""The intervene seam at the models of plain Python teams."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracer_hooks import semconv
from tracer_hooks.frameworks._intervention import (
    ModelRequest,
    after_model,
    after_stream,
    before_model,
    changed_texts,
    may_change_replies,
)
from tracer_hooks.frameworks.plain._reply_shape import ReplyShape, in_shape_of
from tracer_hooks.frameworks.plain._seam import Arguments, agent_of
from tracer_hooks.frameworks.plain._stream_seam import StreamSeam
from tracer_hooks.telemetry import ChatInvocation, ChatReply, Invocation, Message, current_invocation


class ModelSeam(StreamSeam[ModelRequest, ChatReply]):
    """Around the function that calls a model; a supplied reply reaches the caller in the shape of a real one.

    Args:
        function: The function.
        name: The model's name.
        to_messages: Reads the prompt.
        to_reply: Reads what the function returned.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        *,
        to_messages: Callable[[Any], list[Message]],
        to_reply: Callable[[Any], ChatReply],
    ) -> None:
        self._function = function
        self._name = name
        self._to_messages = to_messages
        self._to_reply = to_reply
        self.shape = ReplyShape(function)

    def ask(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[ModelRequest, ModelRequest | ChatReply | None] | None:
        current = current_invocation()
        if not isinstance(current, ChatInvocation) or current.run.intervention is None:
            return None
        request = ModelRequest(
            agent=agent_of(current),
            model=self._name,
            messages=tuple(self._to_messages(self._prompt(self._bound(args, kwargs)))),
            tools=current.agent.spec.tools,
            step=current.step,
        )
        return request, before_model(current.run, request)

    def change(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], request: ModelRequest, changed: ModelRequest
    ) -> Arguments:
        bound = self._bound(args, kwargs)
        texts = changed_texts(request.messages, changed.messages)
        bound.arguments[self._prompt_name()] = _with_texts(self._prompt(bound), texts)
        if not changed.covert and (current := current_invocation()) is not None:
            current.set(semconv.INPUT_MESSAGES, list(changed.messages))
        return bound.args, bound.kwargs

    def supplied(self, answer: ModelRequest | ChatReply | None) -> ChatReply | None:
        return answer if isinstance(answer, ChatReply) else None

    def returned(self, request: ModelRequest, value: Any) -> ChatReply | None:
        return self._other_than(request, self._to_reply(value))

    def replaced(self, request: ModelRequest, reply: ChatReply) -> ChatReply:
        return self._other_than(request, reply) or reply

    def give(self, reply: ChatReply, value: Any) -> Any:
        return self.shape.of(reply) if value is None else in_shape_of(reply, value)

    def pieces(self, reply: ChatReply) -> Sequence[str]:
        return reply.chunks if "".join(reply.chunks) == reply.content else (reply.content,)

    def streaming(self) -> Invocation | None:
        current = current_invocation()
        return None if current is None or may_change_replies(current.run) else current

    def streamed(self, request: ModelRequest, value: Any) -> None:
        current = current_invocation()
        if current is not None:
            after_stream(current.run, request, self._to_reply(value))

    def _other_than(self, request: ModelRequest, reply: ChatReply) -> ChatReply | None:
        current = current_invocation()
        changed = after_model(current.run, request, reply) if current is not None else reply
        return None if changed is reply else changed

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        return inspect.signature(self._function).bind_partial(*args, **kwargs)

    def _prompt(self, bound: inspect.BoundArguments) -> Any:
        return bound.arguments.get(self._prompt_name(), "")

    def _prompt_name(self) -> str:
        return next((name for name in inspect.signature(self._function).parameters if name not in ("self", "cls")), "")


def _with_texts(prompt: Any, texts: Mapping[int, str]) -> Any:
    if not texts:
        return prompt
    if isinstance(prompt, (list, tuple)):
        return [_with_text(item, texts[place]) if place in texts else item for place, item in enumerate(prompt)]
    return texts[0]


def _with_text(message: Any, text: str) -> Any:
    if isinstance(message, Mapping):
        return {**message, "content": text}
    if isinstance(getattr(message, "content", None), str):  # a client's own message class
        changed = copy.copy(message)
        changed.content = text
        return changed
    return text
