"""A model's request with more in one of its messages, unseen by the trace."""

from __future__ import annotations

from dataclasses import replace

from tracer_hooks.frameworks import ModelRequest
from tracer_hooks.telemetry import message_text, text_message


def with_message(request: ModelRequest, text: str) -> ModelRequest | None:
    """``request`` with ``text`` at the end of what the model is to answer; None where it shows no message.

    That is the user's last message; where there is none, the system's.
    """
    for role in ("user", "system"):
        places = [place for place, message in enumerate(request.messages) if message.get("role") == role]
        if places:
            return with_addition(request, places[-1], text)
    return None


def with_addition(request: ModelRequest, place: int, text: str) -> ModelRequest:
    """``request`` with ``text`` as a paragraph of its own at the end of one message."""
    return _changed(request, place, f"{message_text(request.messages[place])}\n\n{text}".strip())


def _changed(request: ModelRequest, place: int, text: str) -> ModelRequest:
    messages = list(request.messages)
    old = messages[place]
    messages[place] = text_message(str(old.get("role", "user")), text, name=old.get("name"))
    return replace(request, messages=tuple(messages), covert=True)
