"""Messages as the text that a model of transformers reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracer_hooks.endpoint import ChatMessage


def prompt_text(tokenizer: Any, messages: Sequence[ChatMessage]) -> tuple[str, bool]:
    """The prompt as text, and whether it is the work of a chat template."""
    if not tokenizer.chat_template:
        return "\n\n".join(message.content for message in messages) + "\n\nReply:\n", False
    try:
        return _templated(tokenizer, messages), True
    except Exception:  # templates raise what they like; those without a system role want it with the question
        first, second, *rest = messages
        joined = ChatMessage("user", f"{first.content}\n\n{second.content}")
        return _templated(tokenizer, (joined, *rest)), True


def prompt_ids(tokenizer: Any, messages: Sequence[ChatMessage], begun: str = "") -> list[int]:
    """The token ids of the prompt, and of what the reply begins with."""
    text, is_templated = prompt_text(tokenizer, messages)
    # A template writes the special tokens itself.
    return [int(token) for token in tokenizer.encode(text + begun, add_special_tokens=not is_templated)]


def _templated(tokenizer: Any, messages: Sequence[ChatMessage]) -> str:
    return str(
        tokenizer.apply_chat_template(
            [{"role": message.role, "content": message.content} for message in messages],
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=False,  # templates that know no thinking ignore it
        )
    )
