"""The text in whatever a function gives back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tracer_hooks.schema import to_json_value, to_text

_ANSWER_KEYS = ("answer", "output", "result", "final", "response", "text", "content")


def answer_text(value: Any) -> str:
    """``value`` as text.

    Text is taken as it is; None is no answer. Of a framework's result the answer is taken: CrewAI's ``raw``, the last
    message of AutoGen's and LangGraph's ``messages``, and one of the usual keys of a mapping. Anything else becomes
    JSON.
    """
    if value is None:
        return ""
    if isinstance(value, (str, bytes, bytearray)):
        return to_text(value)
    if isinstance(raw := getattr(value, "raw", None), str):
        return to_text(raw)
    messages = value.get("messages") if isinstance(value, Mapping) else getattr(value, "messages", None)
    if isinstance(messages, (list, tuple)) and messages:
        return _message_text(messages[-1])
    if isinstance(value, Mapping):
        key = answer_key(value)
        if key is not None:
            return to_text(value[key])
    if isinstance(content := getattr(value, "content", None), str):
        return to_text(content)
    return json.dumps(to_json_value(value), ensure_ascii=False)


def answer_key(value: Mapping[Any, Any]) -> str | None:
    """Under which of the usual keys a mapping holds its answer."""
    return next((key for key in _ANSWER_KEYS if isinstance(value.get(key), str)), None)


def _message_text(message: Any) -> str:
    content = message.get("content") if isinstance(message, Mapping) else getattr(message, "content", message)
    if isinstance(content, list):  # content blocks
        return "\n".join(text for text in map(_block_text, content) if text)
    return content if isinstance(content, str) else json.dumps(to_json_value(content), ensure_ascii=False)


def _block_text(block: Any) -> str:
    """The text of a content block; empty for an image or a call."""
    text = block.get("text") if isinstance(block, Mapping) else getattr(block, "text", block)
    return to_text(text) if isinstance(text, str) else ""
