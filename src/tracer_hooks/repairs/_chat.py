"""Asking the language model that writes a repair, and what it took."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tracer_hooks.schema import Usage

Chat = Callable[[Sequence[dict[str, str]]], Any]
"""Asks a language model: messages with ``role`` and ``content`` in, the reply out.

The reply is its text, or an object with ``text`` (or ``content``) and ``usage``: ``input_tokens`` and
``output_tokens``, or ``prompt_tokens`` and ``completion_tokens``, as fields or in a mapping."""

_BYTES_PER_TOKEN = 4


class Written(NamedTuple):
    """What a language model wrote."""

    text: str
    """Its reply, without what it thought aloud."""
    usage: Usage
    """Tokens that it took; at four bytes each where it does not say."""


def ask(chat: Chat, messages: Sequence[dict[str, str]]) -> Written:
    """What the model replies to ``messages``."""
    reply = chat(messages)
    text = reply if isinstance(reply, str) else _field(reply, "text") or _field(reply, "content")
    said = text if isinstance(text, str) else ""
    return Written(_without_thoughts(said), _usage(reply) or _estimated(messages, said))


def _field(reply: object, name: str) -> Any:
    return reply.get(name) if isinstance(reply, Mapping) else getattr(reply, name, None)


def _usage(reply: object) -> Usage | None:
    usage = None if isinstance(reply, str) else _field(reply, "usage")
    if usage is None or isinstance(usage, Usage):
        return usage
    for read, written in (("input_tokens", "output_tokens"), ("prompt_tokens", "completion_tokens")):
        counts = _field(usage, read), _field(usage, written)
        if all(isinstance(count, int) and count >= 0 for count in counts):
            return Usage(input_tokens=counts[0], output_tokens=counts[1])
    return None


def _estimated(messages: Sequence[dict[str, str]], said: str) -> Usage:
    shown = "".join(message.get("content", "") for message in messages)
    return Usage(input_tokens=_tokens(shown), output_tokens=_tokens(said))


def _tokens(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)


def _without_thoughts(text: str) -> str:
    """What stands behind the thoughts of a model that thinks aloud."""
    return text.rpartition("</think>")[2].strip()
