"""Rules of the scripted model: requests as it sees them, conditions on them, and the replies that they call for."""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeAlias

from tracer_hooks.errors import ConfigError


@dataclass(frozen=True)
class ToolCallReply:
    """One tool call inside a `Reply`.

    `ToolCallReply("add", {"a": 6, "b": 7})`. Raises `ConfigError` when the name is empty or the arguments are no JSON.
    """

    name: str
    """Name of the tool.

    It is not checked against the tools on offer, so that a wrong call can be scripted."""
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
class _Delayed:
    """Base of the answers."""

    delay_s: float = field(default=0.0, kw_only=True)
    """Seconds before the first byte is sent, or the connection closes. Closing the server ends the wait."""

    def __post_init__(self) -> None:
        """Check what could only fail later, inside the server."""
        if self.delay_s < 0:
            raise ConfigError(f"{type(self).__name__}(delay_s={self.delay_s!r}): expected seconds >= 0")


@dataclass(frozen=True)
class Reply(_Delayed):
    """A model reply: text, tool calls, or both.

    `Reply("42")`, `Reply(tool_calls=[ToolCallReply("add", {"a": 1})])`. A plain `str` in a script is a `Reply` with
    that text. Raises `ConfigError` when a number is negative, or when `chunks` does not add up to `text`.
    """

    text: str | None = None
    """Text of the reply. None: no text beside tool calls, else the empty text."""
    _: KW_ONLY
    tool_calls: Sequence[ToolCallReply] = ()
    """Calls of this reply; several are parallel calls."""
    usage: tuple[int, int] | None = None
    """Input and output tokens.

    None: a quarter of the characters of the request and of the reply, rounded up."""
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
        super().__post_init__()
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
class ErrorReply(_Delayed):
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

    OpenAI's clients ignore 0: take 0.001 for a retry at once."""

    def __post_init__(self) -> None:
        """Check what could only fail later, inside the server."""
        super().__post_init__()
        if not 400 <= self.status <= 599:
            raise ConfigError(f"ErrorReply(status={self.status!r}): expected 400 to 599; else use Reply")
        if self.retry_after is not None and self.retry_after < 0:
            raise ConfigError(f"ErrorReply(retry_after={self.retry_after!r}): expected seconds >= 0")


@dataclass(frozen=True)
class Drop(_Delayed):
    """A connection that breaks off in the middle of a reply.

    The OpenAI clients retry a whole reply and then raise `APIConnectionError`; a stream breaks off with an
    error of their HTTP library. Raises `ConfigError` when `sent` is not in [0, 1).
    """

    text: str = "This reply breaks off before its end."
    """The reply of which only the beginning is sent."""
    _: KW_ONLY
    sent: float = 0.5
    """Part of the body (streaming: of the events) that is sent. 0: the connection closes without any answer."""

    def __post_init__(self) -> None:
        """Check what could only fail later, inside the server."""
        super().__post_init__()
        if not 0 <= self.sent < 1:
            raise ConfigError(f"Drop(sent={self.sent!r}): expected a part >= 0 and < 1; else use Reply")


@dataclass(frozen=True)
class Garbage(_Delayed):
    """A body that is not what the API promises, such as a proxy's HTML page or half a JSON document."""

    text: str
    """The whole body; in a streaming answer, the data of its one event."""
    _: KW_ONLY
    content_type: str = "application/json"
    """Content type of an answer that is not streamed."""


Answer: TypeAlias = Reply | ErrorReply | Drop | Garbage
"""What goes back to the client."""
ReplyLike: TypeAlias = "str | Answer | Callable[[ScriptedRequest], str | Answer]"
"""What a script may hold: text, an answer, or a function from the request to one of the two."""


def as_answer(value: object) -> Answer:
    """Give the answer that a script's `value` stands for; text is a `Reply`."""
    if isinstance(value, str):
        return Reply(value)
    if isinstance(value, Reply | ErrorReply | Drop | Garbage):
        return value
    raise ConfigError(f"{value!r} is no scripted reply: expected text, Reply, ErrorReply, Drop or Garbage")


def check_reply_like(value: object) -> None:
    """Refuse at script time what could only fail inside the server."""
    if isinstance(value, type):
        raise ConfigError(f"{value.__name__!r} is a class, expected a reply; write {value.__name__}(...)")
    if not callable(value):
        as_answer(value)


def split_evenly(text: str, count: int) -> list[str]:
    """Give `text` in `count` pieces of nearly equal length; fewer when the text is shorter."""
    bounds = [len(text) * i // count for i in range(count + 1)]
    return [text[a:b] for a, b in itertools.pairwise(bounds) if b > a]


AGENT_HEADER = "x-scripted-agent"
"""Request header by which a client can say which agent it works for (see `ScriptedRequest.is_from`)."""
_KEPT_HEADERS = frozenset(
    {"accept", "baggage", "content-type", "traceparent", "tracestate", "user-agent", "x-stainless-retry-count"}
)
_SYSTEM_ROLES = ("system", "developer")


class MalformedRequestError(ValueError):
    """The client sent a body that is no request of the API; it becomes an HTTP 400."""


@dataclass(frozen=True)
class ScriptedRequest:
    """One model request that reached a `ScriptedLLM`.

    A request to the Responses API is given in the form of chat messages too; `raw` has what was really sent.
    """

    index: int
    """Number of the request, 0-based, in order of arrival."""
    endpoint: str
    """`chat/completions` or `responses`."""
    messages: tuple[Mapping[str, Any], ...]
    """Messages in chat form, oldest first."""
    model: str
    """Model name that was asked for; empty when none was."""
    stream: bool
    """Whether the client asked for a stream."""
    tools: tuple[str, ...]
    """Names of the tools that were offered."""
    raw: Mapping[str, Any]
    """The JSON body as sent."""
    headers: Mapping[str, str]
    """Trace context, user agent and `x-scripted-*` headers, in lower case; never the API key."""

    @property
    def system(self) -> str:
        """Text of the system and developer messages."""
        return "\n".join(text_of(m) for m in self.messages if m.get("role") in _SYSTEM_ROLES)

    @property
    def last(self) -> str:
        """Text of the last message."""
        return text_of(self.messages[-1])

    @property
    def text(self) -> str:
        """Text of all messages, one a line, with the names and arguments of tool calls."""
        return "\n".join(part for m in self.messages for part in (text_of(m), _calls_of(m)) if part)

    @property
    def tool_results(self) -> tuple[str, ...]:
        """Texts of the tool results that came since the model's last reply.

        CrewAI 1.15 adds a user message after them, so they need not be the last messages.
        """
        results: list[str] = []
        for message in reversed(self.messages):
            if message.get("role") == "assistant":
                break
            if message.get("role") == "tool":
                results.append(text_of(message))
        return tuple(reversed(results))

    def is_from(self, agent: str) -> bool:
        """Tell whether the request is `agent`'s, in any case.

        The header `x-scripted-agent` decides where the client sends one (`default_headers=` of OpenAI's
        clients). Without it the system text must begin with the name, alone or after "You are" ("You are the
        Planner.", "Planner: ...").
        """
        declared = self.headers.get(AGENT_HEADER)
        if declared is not None:
            return declared.casefold() == agent.casefold()
        opening = r"\W*(?:(?:you are|your name is|act as)\b\W*)?(?:(?:the|an?)\b\W*)?"
        return re.match(rf"{opening}{re.escape(agent)}(?!\w)", self.system, re.IGNORECASE) is not None

    def input_tokens(self) -> int:
        """Give the tokens of the request where the script does not say, as `count_tokens` counts."""
        return count_tokens(self.text)


def count_tokens(text: str) -> int:
    """Give the stand-in token count of `text`: a quarter of its characters, rounded up, at least 1."""
    return max(1, -(-len(text) // 4))


def text_of(message: Mapping[str, Any]) -> str:
    """Give the text of a message whose content is text, a list of parts, or absent."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [p.get("text") or p.get("refusal") or "" if isinstance(p, dict) else p for p in parts]
    return "\n".join(t for t in texts if isinstance(t, str) and t)


def read_request(index: int, endpoint: str, raw: Any, headers: Mapping[str, str]) -> ScriptedRequest:
    """Give the request in `raw`, the decoded JSON body sent to `endpoint`."""
    if not isinstance(raw, dict):
        raise MalformedRequestError("The body is not a JSON object.")
    field = "messages" if endpoint == "chat/completions" else "input"
    messages = _chat_messages(raw.get("messages")) if field == "messages" else _input_messages(raw)
    if not messages:
        raise MalformedRequestError(f"Missing required parameter: {field!r}, a list of messages.")
    kept = {k.lower(): v for k, v in headers.items() if _is_kept(k.lower())}
    return ScriptedRequest(
        index=index,
        endpoint=endpoint,
        messages=tuple(messages),
        model=str(raw.get("model") or ""),
        stream=bool(raw.get("stream")),
        tools=tuple(_tool_names(raw.get("tools"))),
        raw=raw,
        headers=kept,
    )


def _is_kept(header: str) -> bool:
    return header in _KEPT_HEADERS or header.startswith("x-scripted-")


def _chat_messages(value: Any) -> list[dict[str, Any]]:
    messages = value if isinstance(value, list) else []
    if not all(isinstance(m, dict) for m in messages):
        raise MalformedRequestError("Invalid 'messages': expected a list of objects.")
    return messages


def _input_messages(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give the Responses API's `instructions` and `input` as chat messages."""
    value = raw.get("input")
    items = [{"role": "user", "content": value}] if isinstance(value, str) else _chat_messages(value)
    messages = [_input_message(item) for item in items]
    if raw.get("instructions") and messages:
        messages.insert(0, {"role": "system", "content": raw["instructions"]})
    return messages


def _input_message(item: dict[str, Any]) -> dict[str, Any]:
    if item.get("type") == "function_call_output":
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")}
    if item.get("type") == "function_call":
        function = {"name": item.get("name"), "arguments": item.get("arguments")}
        call = {"id": item.get("call_id"), "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    return item


def _tool_names(tools: Any) -> list[str]:
    # Chat Completions nests the name under "function", the Responses API does not.
    listed = [t for t in tools if isinstance(t, dict)] if isinstance(tools, list) else []
    return [str((t.get("function") or t).get("name") or t.get("type")) for t in listed]


def _calls_of(message: Mapping[str, Any]) -> str:
    calls = message.get("tool_calls") or []
    functions = [c.get("function") or {} for c in calls if isinstance(c, dict)]
    return "\n".join(f"{f.get('name')}({f.get('arguments')})" for f in functions)


Pattern: TypeAlias = str | re.Pattern[str]
"""A regular expression, searched anywhere in the text; text is compiled without flags."""


@dataclass(frozen=True, kw_only=True)
class When:
    """The requests that a rule answers: all conditions given must hold; none given means every request.

    `When(system="planner", tool_result="42").then("done")`. Raises `ConfigError` when a pattern is no regular
    expression.
    """

    system: Pattern | None = None
    """Searched in the text of the system and developer messages."""
    last: Pattern | None = None
    """Searched in the text of the last message, whoever wrote it."""
    contains: Pattern | None = None
    """Searched in the text of all messages, including names and arguments of tool calls."""
    tool_result: Pattern | None = None
    """Searched in each tool result that came since the model's last reply; `""` means any result."""
    model: Pattern | None = None
    """Searched in the name of the model asked for."""
    agent: str | None = None
    """Name of the agent that asks, in any case (`ScriptedRequest.is_from` says how it is told)."""
    where: Callable[[ScriptedRequest], bool] | None = None
    """Anything else. Called from server threads."""

    def __post_init__(self) -> None:
        """Compile each pattern once, so that a bad one fails where it was written."""
        for name in ("system", "last", "contains", "tool_result", "model"):
            try:
                re.compile(getattr(self, name) or "")
            except (re.error, TypeError) as error:
                given = f"When({name}={getattr(self, name)!r})"
                raise ConfigError(
                    f"{given}: expected a regular expression ({error}); use re.escape for plain text"
                ) from error

    def then(self, *replies: ReplyLike, repeat_last: bool = True) -> Rule:
        """Give the rule that answers these requests with `replies`, in the order of the requests.

        Args:
            replies: Text, answers, or functions from the request to one of them.
            repeat_last: After the last reply, give it again. False: the rule is used up, and the next rule
                that matches answers.

        Raises:
            ConfigError: No reply is given, or one is neither text, nor an answer, nor a function.
        """
        return Rule(self, replies, repeat_last=repeat_last)

    def matches(self, request: ScriptedRequest) -> bool:
        """Tell whether all conditions hold for `request`."""
        return (
            _found(self.system, request.system)
            and _found(self.last, request.last)
            and _found(self.contains, request.text)
            and (self.tool_result is None or any(re.search(self.tool_result, t) for t in request.tool_results))
            and _found(self.model, request.model)
            and (self.agent is None or request.is_from(self.agent))
            and (self.where is None or self.where(request))
        )


@dataclass(frozen=True)
class Rule:
    """A condition and its replies; `When(...).then(...)` makes one.

    It holds no state: several scripts can share it.
    """

    when: When
    """The requests that the rule answers."""
    replies: Sequence[ReplyLike]
    """Replies in the order in which they are given."""
    _: KW_ONLY
    repeat_last: bool = True
    """Whether the last reply is given again and again."""

    def __post_init__(self) -> None:
        """Check each reply where it was written."""
        if not self.replies:
            raise ConfigError(f"{self.when!r}.then(): expected at least one reply")
        for reply in self.replies:
            check_reply_like(reply)


@dataclass(frozen=True)
class Turn:
    """The reply that a script chose for one request."""

    reply: ReplyLike
    """The reply, not yet called when it is a function."""
    key: str
    """Stem of all ids in the answer: `<rule>-<use>`, both from 1, or `<use>` for the ordered replies.

    It counts per rule: agents that work in parallel get the same ids in every run if they have rules of their own."""


class Script:
    """Rules with their counters, safe to ask from several threads."""

    def __init__(self, rules: Sequence[Rule], ordered: Sequence[ReplyLike], default: ReplyLike | None) -> None:
        """Take rules first, then the ordered replies, then the default; see `ScriptedLLM`."""
        for rule in rules:
            if not isinstance(rule, Rule):
                raise ConfigError(f"rules: {rule!r} is no rule, expected When(...).then(...)")
        self._rules = [(str(number), rule) for number, rule in enumerate(rules, start=1)]
        if ordered:
            self._rules.append(("", Rule(When(), tuple(ordered), repeat_last=False)))
        if default is not None:
            self._rules.append(("default", Rule(When(), (default,))))
        self._lock = threading.Lock()
        self._uses = [0] * len(self._rules)

    def choose(self, request: ScriptedRequest) -> Turn | None:
        """Give the reply of the first rule that matches `request` and is not used up, or None."""
        matching = [i for i, (_, rule) in enumerate(self._rules) if rule.when.matches(request)]
        with self._lock:
            for i in matching:
                label, rule = self._rules[i]
                use = self._uses[i]
                if use < len(rule.replies) or rule.repeat_last:
                    self._uses[i] += 1
                    key = f"{label}-{use + 1}" if label else str(use + 1)
                    return Turn(rule.replies[min(use, len(rule.replies) - 1)], key)
        return None

    def used_up(self, request: ScriptedRequest) -> int:
        """Give how many rules match `request` but have no reply left."""
        return sum(rule.when.matches(request) and not rule.repeat_last for _, rule in self._rules)

    def reset(self) -> None:
        """Start every rule at its first reply again."""
        with self._lock:
            self._uses = [0] * len(self._rules)


def _found(pattern: Pattern | None, text: str) -> bool:
    return pattern is None or re.search(pattern, text) is not None
