"""What a `ScriptedLLM` can answer: replies, and the ways in which an answer can go wrong."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tracer_hooks.errors import ConfigError

if TYPE_CHECKING:
    from tracer_hooks.testing._scripted_request import ScriptedRequest


@dataclass(frozen=True)
class ToolCallReply:
    """One tool call inside a `Reply`.

    `ToolCallReply("add", {"a": 6, "b": 7})`. Raises `ConfigError` when the name is empty or the arguments are
    no JSON.
    """

    name: str
    """Name of the tool.

    It is not checked against the tools on offer, so that a wrong call can be scripted.
    """

    arguments: Mapping[str, Any] | str = "{}"
    """A mapping is encoded as JSON; text is sent as it is, so that malformed arguments can be scripted."""

    id: str | None = None
    """Call id. None: `call_<rule>_<use>_<position>`, the same in every run of the same script."""

    def __post_init__(self) -> None:
        """Check what could only fail later, inside the server."""
        if not self.name:
            raise ConfigError(f"ToolCallReply(name={self.name!r}): expected the name of a tool; pass one")
        try:
            json.dumps(self.arguments)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"ToolCallReply(arguments={self.arguments!r}): expected JSON values ({error})") from error

    @property
    def arguments_json(self) -> str:
        """The arguments as they go over the wire."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True)
class Reply:
    """A model reply: text, tool calls, or both.

    `Reply("42")`, `Reply(tool_calls=[ToolCallReply("add", {"a": 1})])`. A plain `str` in a script is a
    `Reply` with that text. Raises `ConfigError` when a number is negative, or when `chunks` does not add up
    to `text`.
    """

    text: str | None = None
    """Text of the reply. None: no text beside tool calls, else the empty text."""

    _: KW_ONLY
    tool_calls: Sequence[ToolCallReply] = ()
    """Calls of this reply; several are parallel calls."""

    usage: tuple[int, int] | None = None
    """Input and output tokens.

    None: a quarter of the characters of the request and of the reply, rounded up.
    """

    delay_s: float = 0.0
    """Seconds before the first byte is sent. Closing the server ends the wait."""

    finish_reason: str | None = None
    """`stop`, `length`, `content_filter`, ... None: `tool_calls` when there are calls, else `stop`."""

    chunks: int | Sequence[str] | None = None
    """How a streamed reply is split: number of pieces, or the pieces. None: one piece a word."""

    pause_s: float = 0.0
    """Seconds between the pieces of a streamed reply. Closing the server ends the wait."""

    model: str | None = None
    """Model name in the reply. None: the name which the request asked for."""

    def __post_init__(self) -> None:
        """Check what could only fail later, inside the server."""
        _check_delay(self)
        if self.pause_s < 0:
            raise ConfigError(f"Reply(pause_s={self.pause_s!r}): expected seconds >= 0")
        if self.usage is not None and min(self.usage) < 0:
            raise ConfigError(f"Reply(usage={self.usage!r}): expected (input, output) tokens, both >= 0")
        if isinstance(self.chunks, int):
            if self.chunks < 1:
                raise ConfigError(f"Reply(chunks={self.chunks!r}): expected at least 1 piece, or the pieces")
        elif self.chunks is not None and "".join(self.chunks) != (self.text or ""):
            raise ConfigError(f"Reply(chunks={self.chunks!r}): expected pieces that join to {self.text!r}")

    @property
    def content(self) -> str | None:
        """The text as it goes over the wire: None only beside tool calls."""
        return "" if self.text is None and not self.tool_calls else self.text

    @property
    def reason(self) -> str:
        """The finish reason as it goes over the wire."""
        return self.finish_reason or ("tool_calls" if self.tool_calls else "stop")

    def pieces(self) -> list[str]:
        """The text as it is streamed; the pieces join to `text`."""
        if self.chunks is None:
            return re.findall(r"\s*\S+|\s+\Z", self.text or "")
        if isinstance(self.chunks, int):
            return split_evenly(self.text or "", self.chunks)
        return list(self.chunks)


@dataclass(frozen=True)
class ErrorReply:
    """An HTTP error in OpenAI's form, also to a streaming request.

    The OpenAI clients retry 408, 409, 429 and 5xx (twice by default), and each retry is a request of its own,
    which takes the next reply of the rule. Raises `ConfigError` when `status` is no error status.
    """

    status: int = 500
    """HTTP status, 400 to 599."""

    _: KW_ONLY
    message: str = "scripted error"
    """`error.message` of the body."""

    type: str | None = None
    """`error.type` of the body. None: OpenAI's name for the status, such as `rate_limit_error`."""

    code: str | None = None
    """`error.code` of the body."""

    retry_after: float | None = None
    """Seconds, in Retry-After and retry-after-ms.

    OpenAI's clients ignore 0: take 0.001 for a retry at once.
    """

    delay_s: float = 0.0
    """Seconds before the error is sent."""

    def __post_init__(self) -> None:
        """Check what could only fail later, inside the server."""
        _check_delay(self)
        if not 400 <= self.status <= 599:
            raise ConfigError(f"ErrorReply(status={self.status!r}): expected 400 to 599; else use Reply")
        if self.retry_after is not None and self.retry_after < 0:
            raise ConfigError(f"ErrorReply(retry_after={self.retry_after!r}): expected seconds >= 0")


@dataclass(frozen=True)
class Drop:
    """A connection that breaks off in the middle of a reply.

    The OpenAI clients retry a whole reply and then raise `APIConnectionError`; a stream breaks off with an
    error of their HTTP library. Raises `ConfigError` when `sent` is not in [0, 1).
    """

    text: str = "This reply breaks off before its end."
    """The reply of which only the beginning is sent."""

    _: KW_ONLY
    sent: float = 0.5
    """Part of the body (streaming: of the events) that is sent. 0: the connection closes without any answer.
    """

    delay_s: float = 0.0
    """Seconds before the first byte, or before the connection closes."""

    def __post_init__(self) -> None:
        """Check what could only fail later, inside the server."""
        _check_delay(self)
        if not 0 <= self.sent < 1:
            raise ConfigError(f"Drop(sent={self.sent!r}): expected a part >= 0 and < 1; else use Reply")


@dataclass(frozen=True)
class Garbage:
    """A body that is not what the API promises, such as a proxy's HTML page or half a JSON document."""

    text: str
    """The whole body; in a streaming answer, the data of its one event."""

    _: KW_ONLY
    content_type: str = "application/json"
    """Content type of an answer that is not streamed."""

    delay_s: float = 0.0
    """Seconds before the first byte."""

    def __post_init__(self) -> None:
        """Check what could only fail later, inside the server."""
        _check_delay(self)


Answer: TypeAlias = Reply | ErrorReply | Drop | Garbage
"""What goes back to the client."""

ReplyLike: TypeAlias = "str | Answer | Callable[[ScriptedRequest], str | Answer]"
"""What a script may hold: text, an answer, or a function from the request to one of the two."""


def as_answer(value: object) -> Answer:
    """Give the answer that a script's `value` stands for; text is a `Reply`.

    Raises:
        ConfigError: `value` is neither text nor an answer.
    """
    if isinstance(value, str):
        return Reply(value)
    if isinstance(value, Reply | ErrorReply | Drop | Garbage):
        return value
    raise ConfigError(f"{value!r} is no scripted reply: expected text, Reply, ErrorReply, Drop or Garbage")


def check_reply_like(value: object) -> None:
    """Refuse at script time what could only fail inside the server.

    Raises:
        ConfigError: `value` is neither text, nor an answer, nor callable; a class is a forgotten pair of
            brackets.
    """
    if isinstance(value, type):
        raise ConfigError(f"{value.__name__!r} is a class, expected a reply; write {value.__name__}(...)")
    if not callable(value):
        as_answer(value)


def split_evenly(text: str, count: int) -> list[str]:
    """Give `text` in `count` pieces of nearly equal length; fewer when the text is shorter."""
    bounds = [len(text) * i // count for i in range(count + 1)]
    return [text[a:b] for a, b in itertools.pairwise(bounds) if b > a]


def _check_delay(answer: Answer) -> None:
    if answer.delay_s < 0:
        raise ConfigError(f"{type(answer).__name__}(delay_s={answer.delay_s!r}): expected seconds >= 0")
