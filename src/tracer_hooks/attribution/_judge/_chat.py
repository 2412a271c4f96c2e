"""What the judge needs of a language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from tracer_hooks.schema import Usage

BYTES_PER_TOKEN = 3
"""Bytes of text that are taken for one token where no tokenizer is at hand; low, so that prompts are not too long."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    """Who speaks."""
    content: str
    """The text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One question to a model."""

    messages: tuple[ChatMessage, ...]
    """The prompt, oldest message first."""
    schema: Mapping[str, Any]
    """JSON schema of the reply. A model that cannot be held to it is asked for it in the prompt anyway."""
    schema_name: str
    """What the schema is for: letters and underscores."""
    max_tokens: int
    """Tokens that the reply may take."""
    temperature: float | None = 0.0
    """Sampling temperature; None leaves it to the model."""
    seed: int | None = 0
    """Seed of the sampling, where the model takes one."""
    labels: tuple[str, ...] = ()
    """When the reply is ``{"choice": LABEL}``: the labels, whose log-probabilities are wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """What a model said."""

    text: str
    """The reply as it came; may be empty."""
    usage: Usage
    """Tokens of this call."""
    is_cut: bool = False
    """Whether the reply broke off at ``max_tokens``."""
    label_logprobs: Mapping[str, float] | None = None
    """Natural log-probability of each label of the request, up to a constant; None when the model does not tell."""


@runtime_checkable
class ChatModel(Protocol):
    """A language model behind any interface."""

    name: str
    """The model's name, for people."""
    identity: str
    """Everything that decides what it replies besides the request; part of the cache key."""
    context_tokens: int
    """Tokens that prompt and reply may take together."""

    def count_tokens(self, text: str) -> int:
        """Tokens of ``text``; an upper estimate where the tokenizer is not known."""
        ...

    def complete(self, request: ChatRequest, *, timeout_s: float | None = None) -> ChatReply:
        """Answer ``request``.

        Args:
            request: The question.
            timeout_s: Seconds that the answer may take, retries included; None sets no limit.

        Raises:
            AttributionError: There is no answer; the message says why.
        """
        ...


def estimated_tokens(text: str) -> int:
    """An upper estimate of the tokens of ``text`` for an unknown tokenizer."""
    return len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN + 1
