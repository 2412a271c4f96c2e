"""Language models behind an OpenAI-compatible endpoint: vLLM, SGLang, Ollama, the llama.cpp server, or a cloud.

Everything of ours that asks a model goes through here: the judge, the writers of prompts, guidance and faults, and the
suites' plain teams. The client needs ``openai``, which the extra ``judge`` brings.
"""

from __future__ import annotations

import itertools
import math
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, Literal, Protocol, runtime_checkable

from tracer_hooks._flight import CALLS, REQUESTS, Calls, GivenUp, gate_of
from tracer_hooks._lazy import require
from tracer_hooks.errors import ConfigError, EndpointError
from tracer_hooks.schema import Usage, to_text
from tracer_hooks.telemetry import suppressed

__all__ = [
    "BYTES_PER_TOKEN",
    "OPENAI",
    "Chat",
    "ChatCompletion",
    "ChatMessage",
    "ChatModel",
    "ChatRequest",
    "Endpoint",
    "EndpointClient",
    "ask",
    "endpoint_chat",
    "estimated_tokens",
]

OPENAI = "https://api.openai.com/v1"
"""OpenAI's own endpoint."""
BYTES_PER_TOKEN = 3
"""Bytes of text that are taken for one token where no tokenizer is at hand; low, so that prompts are not too long."""
_REFUSALS = (400, 415, 422, 501)
"""Statuses with which servers refuse a parameter that they do not know."""
_MOST_WAIT_S = 60.0
_SHOWN = 300


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Endpoint of a model: the scripted server, a local one, or any OpenAI-compatible one."""

    base_url: str
    """Up to and including ``/v1``."""
    model: str
    """The model's name there."""
    api_key: str = "unused"
    """Its key."""
    temperature: float | None = None
    """Sampling temperature; None leaves it to the server."""
    max_tokens: int | None = None
    """How long a reply may be, in tokens; None leaves it to the server."""
    concurrency: int | None = None
    """Requests that may be under way there, of all clients in this process together; None sets no limit."""

    def __post_init__(self) -> None:
        if self.concurrency is not None and self.concurrency < 1:
            raise ConfigError(f"concurrency of an endpoint is {self.concurrency!r}, expected 1 or more, or None")

    @classmethod
    def from_env(cls, *, base_url: str = "", model: str = "") -> Endpoint:
        """A real endpoint from the arguments, else from ``OPENAI_BASE_URL``, ``OPENAI_MODEL``, ``OPENAI_API_KEY``."""
        return cls(
            base_url=base_url or os.environ.get("OPENAI_BASE_URL", OPENAI),
            model=model or os.environ.get("OPENAI_MODEL", "gpt-4o-mini"),
            api_key=os.environ.get("OPENAI_API_KEY") or "unused",
            concurrency=REQUESTS.get(),
        )


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    """The speaker."""
    content: str
    """The text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One question to a model."""

    messages: tuple[ChatMessage, ...]
    """The prompt, oldest message first."""
    schema: Mapping[str, Any] | None = None
    """JSON schema of the reply. A model that cannot be held to it has to be asked for it in the prompt."""
    schema_name: str = "reply"
    """The schema's name: letters and underscores."""
    max_tokens: int | None = None
    """Tokens that the reply may take; None leaves it to the model."""
    temperature: float | None = 0.0
    """Sampling temperature; None leaves it to the model."""
    seed: int | None = 0
    """Seed of the sampling, where the model takes one."""
    labels: tuple[str, ...] = ()
    """When the reply is ``{"choice": LABEL}``: the labels, whose log-probabilities are wanted."""


@dataclass(frozen=True, slots=True)
class ChatCompletion:
    """The answer of a model."""

    text: str
    """The reply as it came; may be empty."""
    usage: Usage
    """Tokens of this call; estimated where the server does not count."""
    is_cut: bool = False
    """The reply broke off at ``max_tokens``."""
    label_logprobs: Mapping[str, float] | None = None
    """Natural log-probability of each label of the request, up to a constant; None when the model does not tell."""


@runtime_checkable
class ChatModel(Protocol):
    """A language model behind any interface, as the judge asks it."""

    name: str
    """The model's name, for people."""
    identity: str
    """Everything that decides what it replies besides the request; part of the cache key."""
    context_tokens: int
    """Tokens that prompt and reply may take together."""

    def count_tokens(self, text: str) -> int:
        """Tokens of ``text``; an upper estimate where the tokenizer is not known."""
        ...

    def complete(self, request: ChatRequest, *, timeout_s: float | None = None) -> ChatCompletion:
        """Answer ``request``.

        Args:
            request: The question.
            timeout_s: Seconds that the answer may take, retries included; None sets no limit.

        Raises:
            AttributionError: There is no answer; the message says why.
        """
        ...


Chat = Callable[[list[dict[str, str]]], Any]
"""Asks a language model: messages with ``role`` and ``content`` in, the reply out.

The reply is its text, or an object with ``text`` (or ``content``) and ``usage``: ``input_tokens`` and
``output_tokens``, or ``prompt_tokens`` and ``completion_tokens``, as fields or in a mapping."""


def ask(chat: Chat, messages: Sequence[dict[str, str]]) -> ChatCompletion:
    """The reply of ``chat`` without thoughts aloud; its tokens at four bytes each where it does not count them."""
    reply = chat(list(messages))
    text = reply if isinstance(reply, str) else _field(reply, "text") or _field(reply, "content")
    written = text if isinstance(text, str) else ""
    return ChatCompletion(written.rpartition("</think>")[2].strip(), _usage_in(reply) or _estimated(messages, written))


def endpoint_chat(endpoint: Endpoint, *, needed_by: str, timeout_s: float = 120.0, attempts: int = 3) -> Chat:
    """A :data:`Chat` with the model at ``endpoint``; its calls are not traced as the team's.

    Args:
        endpoint: Where the model is.
        needed_by: What asks the model; begins the message when the client is not installed.
        timeout_s: Seconds that one request may take.
        attempts: How often a request is sent that fails for the moment.

    Raises:
        MissingExtraError: The client is not installed. The returned function raises EndpointError for no answer.
    """
    client = EndpointClient(endpoint, needed_by=needed_by, timeout_s=timeout_s, attempts=attempts)

    def chat(messages: Sequence[dict[str, str]]) -> ChatCompletion:
        request = ChatRequest(
            messages=tuple(ChatMessage(message["role"], message["content"]) for message in messages),  # type: ignore[arg-type]
            max_tokens=endpoint.max_tokens,
            temperature=endpoint.temperature,
            seed=None,
        )
        with suppressed():
            return client.complete(request)

    return chat


class EndpointClient:
    """Speaks OpenAI's Chat Completions API with one endpoint; may be shared by threads.

    Requests that are refused with 429 or 5xx, time out or are broken off are sent again with growing pauses, and so are
    those that cannot be sent to an endpoint which has answered before; no others. A parameter that the server does not
    take is left out from then on, and one that refuses a JSON schema is asked for any JSON object, then for plain text.

    Requests of all clients of one endpoint and key pass one gate, the oldest call first: ``endpoint.concurrency`` of
    them may be under way. A 429, or a 503 with Retry-After, halves that number, which grows again with the answers,
    and Retry-After holds all requests back. Such a refusal is no attempt while others are answered.

    Args:
        endpoint: Where the model is.
        needed_by: What asks the model; begins the message when the client is not installed.
        timeout_s: Seconds that one request may take.
        attempts: How often a request is sent at most.
        backoff_s: Seconds before the second attempt, doubled for each further one; a server's Retry-After goes before.
        extra_body: Further fields of each request.

    Raises:
        MissingExtraError: ``openai`` is not installed.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        needed_by: str,
        timeout_s: float = 120.0,
        attempts: int = 3,
        backoff_s: float = 1.0,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        self._again = partial(
            EndpointClient, endpoint, needed_by=needed_by, timeout_s=timeout_s, attempts=attempts, backoff_s=backoff_s,
            extra_body=extra_body,
        )  # fmt: skip
        self._openai = require("openai", extra="judge", feature=needed_by)
        self._client = self._openai.OpenAI(base_url=endpoint.base_url, api_key=endpoint.api_key, max_retries=0)
        self._model, self._timeout_s, self._attempts = endpoint.model, timeout_s, attempts
        self._backoff_s, self._extra_body = backoff_s, dict(extra_body or {})
        self._parameters, self._has_answered = ApiParameters(), False
        self.address = str(self._client.base_url)
        """The endpoint's URL as requests use it."""
        self._gate, self._most = gate_of(self.address, endpoint.api_key), endpoint.concurrency

    def __reduce__(self) -> tuple[Callable[[], EndpointClient], tuple[()]]:
        """Sent to another process, it opens connections of its own."""
        return self._again, ()

    def complete(self, request: ChatRequest, *, timeout_s: float | None = None) -> ChatCompletion:
        """Answer ``request``, within ``timeout_s`` seconds if they are given, retries included.

        Raises:
            EndpointError: The endpoint cannot be reached, refuses the request, or answers with something else.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        parameters = self._parameters
        while True:
            try:
                answer = self._send(parameters.fields(request), parameters, deadline)
            except EndpointError as error:
                cause = error.__cause__
                refused = isinstance(cause, self._openai.APIStatusError) and self._is_refusal(cause, parameters)
                fewer = parameters.without_refused(request, *_complaint(cause)) if refused else None
                if fewer is None:
                    raise
                parameters = fewer
            else:
                self._parameters = parameters  # they work: later calls begin with them
                return self._reply(answer, request)

    def send(self, fields: Mapping[str, Any]) -> Any:
        """The endpoint's chat completion for a body of OpenAI's form, the model's name aside.

        Raises:
            EndpointError: As in :meth:`complete`.
        """
        return self._send(fields, ApiParameters(), None)

    def _send(self, fields: Mapping[str, Any], parameters: ApiParameters, deadline: float | None) -> Any:
        calls = CALLS.get()
        work = partial(self._answered, fields, parameters, deadline, calls)
        answer = work() if calls is None else calls.run(work)
        choice = next(iter(getattr(answer, "choices", None) or ()), None)
        if getattr(choice, "message", None) is None:
            raise self._error("odd reply", f"gave no chat completion: {str(answer)[:_SHOWN]!r}")
        self._has_answered = True
        return answer

    def _answered(
        self, fields: Mapping[str, Any], parameters: ApiParameters, deadline: float | None, calls: Calls | None
    ) -> Any:
        """The answer of the attempt that gets one."""
        ticket, failed, seen = self._gate.ticket(), 0, self._gate.answers
        for number in itertools.count():
            try:
                return self._sent_once(ticket, fields, deadline, calls)
            except (self._openai.OpenAIError, ValueError, TimeoutError) as error:  # ValueError: a body that is no JSON
                failed += not (self._is_limit(error) and self._gate.answers > seen)
                seen = self._gate.answers
                left = math.inf if deadline is None else deadline - time.monotonic()
                if failed >= self._attempts or left <= 0 or not self._is_passing(error, parameters):
                    raise self._readable(error) from error
                time.sleep(min(left, self._pause(error, number)))

    def _sent_once(self, ticket: int, fields: Mapping[str, Any], deadline: float | None, calls: Calls | None) -> Any:
        with self._gate.passage(ticket, self._most, deadline) as begun:
            if calls is not None and calls.are_given_up:
                raise GivenUp
            left = self._timeout_s if deadline is None else max(0.001, deadline - begun)
            try:
                answer = self._client.chat.completions.create(
                    model=self._model, timeout=min(self._timeout_s, left), extra_body=self._extra_body, **fields
                )
            except self._openai.APIStatusError as error:
                if self._is_limit(error):
                    self._gate.refused(begun, min(_MOST_WAIT_S, retry_after(error.response) or 0.0))
                raise
            self._gate.answered()
        return answer

    def _pause(self, error: Exception, number: int) -> float:
        """Seconds before this call is sent again; the gate waits besides."""
        asked = retry_after(getattr(error, "response", None))
        if self._is_limit(error):
            asked = 0.0 if asked else None  # 0 must not mean again and again
        return min(_MOST_WAIT_S, self._backoff_s * 2.0 ** min(number, 10) if asked is None else asked)

    def _is_limit(self, error: BaseException | None) -> bool:
        """Test if a request was refused because there are too many."""
        if isinstance(error, self._openai.RateLimitError):
            return bool(error.code != "insufficient_quota")
        is_busy = getattr(error, "status_code", None) == 503
        return is_busy and retry_after(getattr(error, "response", None)) is not None

    def _is_passing(self, error: BaseException, parameters: ApiParameters) -> bool:
        """Test if sending the same once more may help."""
        if isinstance(error, self._openai.APITimeoutError):
            return True
        if isinstance(error, self._openai.APIConnectionError):
            return self._has_answered or type(error.__cause__).__name__ != "ConnectError"
        if self._is_limit(error):
            return True
        if isinstance(error, self._openai.APIStatusError):
            return bool(error.status_code >= 500 and not self._is_refusal(error, parameters))
        return False

    def _is_refusal(self, error: Any, parameters: ApiParameters) -> bool:
        """Test if the server does not take a parameter; llama-cpp-python says so with a 500 that names it."""
        if error.status_code in _REFUSALS:
            return True
        return bool(error.status_code >= 500 and parameters.are_blamed(*_complaint(error)))

    def _reply(self, answer: Any, request: ChatRequest) -> ChatCompletion:
        choice = answer.choices[0]
        text = to_text(choice.message.content or getattr(choice.message, "refusal", None) or "")
        logprobs = getattr(getattr(choice, "logprobs", None), "content", None)
        usage = getattr(answer, "usage", None)
        if usage is None:  # a server that does not count must not defeat a budget
            sent = sum(len(message.content.encode("utf-8", "replace")) for message in request.messages)
            counted = Usage(input_tokens=sent // BYTES_PER_TOKEN, output_tokens=estimated_tokens(text))
        else:
            counted = Usage(input_tokens=usage.prompt_tokens or 0, output_tokens=usage.completion_tokens or 0)
        return ChatCompletion(
            text=text,
            usage=counted,
            is_cut=choice.finish_reason == "length",
            label_logprobs=label_logprobs(logprobs, request.labels) if logprobs and request.labels else None,
        )

    def _readable(self, error: Exception) -> EndpointError:
        if isinstance(error, (self._openai.APITimeoutError, TimeoutError)):
            return self._error("timeout", "did not answer in time")
        if isinstance(error, self._openai.APIConnectionError):
            return self._error("unreachable", f"cannot be reached: {error.__cause__ or error}")
        if isinstance(error, (self._openai.AuthenticationError, self._openai.PermissionDeniedError)):
            return self._error("key", f"refused the key: {_message_of(error)}", error.status_code)
        if isinstance(error, self._openai.APIStatusError):
            status = error.status_code
            return self._error("refused", f"refused the request ({status}): {_message_of(error)}", status)
        what = "the reply is not JSON: " if isinstance(error, ValueError) else ""
        return self._error("odd reply", f"gave no chat completion: {what}{error!r}")

    def _error(self, kind: str, reason: str, status: int | None = None) -> EndpointError:
        next_step = {
            "timeout": f"Allow more than {self._timeout_s:g} s, or use a faster model",
            "unreachable": "Start the server, or name another endpoint, up to and including /v1",
            "key": "Set OPENAI_API_KEY to a key that it takes",
            "refused": "Check the model's name",
            "odd reply": "Name an OpenAI-compatible endpoint, up to and including /v1",
        }[kind]
        message = f"the model {self._model!r} at {self.address!r} gave no answer: the endpoint {reason}. {next_step}"
        return EndpointError(message, kind=kind, reason=reason, status=status)


_FORMATS = ("json_schema", "json_object_schema", "json_object", "text")
"""Ways of asking for JSON, the strictest first; the second is llama.cpp's: a JSON object with the schema beside it."""
_OPTIONAL = {
    "max_tokens": ("max_tokens",),  # reasoning models of OpenAI take max_completion_tokens instead
    "temperature": ("temperature",),
    "seed": ("seed",),
    "logprobs": ("logprobs", "top_logprobs"),
}
_MOST_LOGPROBS = 20


@dataclass(frozen=True, slots=True)
class ApiParameters:
    """The parameters of the Chat Completions API that a server takes: all at first, then without what it refuses."""

    reply_format: str = _FORMATS[0]
    """One of ``_FORMATS``."""
    without: frozenset[str] = frozenset()
    """Parameters that are not sent."""

    def fields(self, request: ChatRequest) -> dict[str, Any]:
        """The parameters of ``request``, without the model's name."""
        limit = "max_completion_tokens" if "max_tokens" in self.without else "max_tokens"
        fields: dict[str, Any] = {
            "messages": [{"role": message.role, "content": message.content} for message in request.messages]
        }
        if request.max_tokens is not None:
            fields[limit] = request.max_tokens
        if "temperature" not in self.without and request.temperature is not None:
            fields["temperature"] = request.temperature
        if "seed" not in self.without and request.seed is not None:
            fields["seed"] = request.seed
        if "logprobs" not in self.without and request.labels:
            fields |= {"logprobs": True, "top_logprobs": min(_MOST_LOGPROBS, 2 * len(request.labels))}
        if self.reply_format != "text" and request.schema is not None:
            fields["response_format"] = self._response_format(request)
        return fields

    def without_refused(self, request: ChatRequest, complaint: str, parameter: str | None) -> ApiParameters | None:
        """The parameters without the one that the server complains of; None when nothing is left to give up."""
        blamed = self._blamed(complaint, parameter)
        if blamed is not None:
            return replace(self, without=self.without | {blamed})
        weaker = _FORMATS.index(self.reply_format) + 1
        if request.schema is None or weaker == len(_FORMATS):
            return None
        return replace(self, reply_format=_FORMATS[weaker])

    def are_blamed(self, complaint: str, parameter: str | None) -> bool:
        """Test if the server names one of these, so that fewer may help."""
        names_format = parameter == "response_format" or _is_named(complaint, "response_format")
        return self._blamed(complaint, parameter) is not None or (names_format and self.reply_format != "text")

    def _blamed(self, complaint: str, parameter: str | None) -> str | None:
        """The parameter, other than the reply's format, that the server does not take; None when it blames none."""
        for blamed, names in _OPTIONAL.items():
            if blamed not in self.without and any(name == parameter or _is_named(complaint, name) for name in names):
                return blamed
        return None

    def _response_format(self, request: ChatRequest) -> dict[str, Any]:
        if self.reply_format == "json_schema":
            body = {"name": request.schema_name, "schema": request.schema, "strict": True}
            return {"type": "json_schema", "json_schema": body}
        if self.reply_format == "json_object_schema":
            return {"type": "json_object", "schema": request.schema}
        return {"type": "json_object"}


def estimated_tokens(text: str) -> int:
    """An upper estimate of the tokens of ``text`` for an unknown tokenizer."""
    return len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN + 1


def label_logprobs(tokens: Sequence[Any], labels: Sequence[str]) -> dict[str, float] | None:
    """The log-probability of each label where the reply gives its choice; None when it names no label.

    A label is often the same token with and without a space or a quotation mark; their probabilities are added. One
    that is not among those reported is less likely than all of them.
    """
    wanted = set(labels)
    chosen = next((token for token in reversed(tokens) if _bare(token.token) in wanted), None)
    if chosen is None:
        return None
    masses: dict[str, float] = {}
    listed = {token.token: token.logprob for token in (*(chosen.top_logprobs or ()), chosen)}
    for text, logprob in listed.items():
        if _bare(text) in wanted:
            masses[_bare(text)] = masses.get(_bare(text), 0.0) + math.exp(logprob)
    least = min(listed.values()) - 1.0
    return {label: math.log(masses[label]) if masses.get(label) else least for label in labels}


def retry_after(response: Any) -> float | None:
    """Seconds that a server asks to wait, from either of the two headers; Retry-After may be a date."""
    headers = getattr(response, "headers", {})
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        given = headers.get(name, "")
        try:
            value = float(given) / unit
        except ValueError:
            try:
                value = parsedate_to_datetime(given).timestamp() - time.time()
            except (ValueError, TypeError, OverflowError):  # absent, or neither a number nor a date
                continue
        if math.isfinite(value) and value >= 0:
            return value
    return None


def _bare(token: str) -> str:
    return token.strip(" \t\n\r\"'`:*.()[]{},\u0120\u2581")


def _is_named(complaint: str, parameter: str) -> bool:
    """Test if a complaint is about a parameter: named in quotes, or at its beginning. It may quote the prompt too."""
    return re.search(rf"""['"`]{parameter}['"`]|^{parameter}\b""", complaint[:200]) is not None


def _complaint(error: Any) -> tuple[str, str | None]:
    return _message_of(error), error.param if isinstance(error.param, str) else None


def _message_of(error: Any) -> str:
    body = error.body
    inner = body.get("message") or body.get("detail") or body.get("error") if isinstance(body, Mapping) else body
    return str(inner or error.message)[:_SHOWN]


def _field(reply: object, name: str) -> Any:
    return reply.get(name) if isinstance(reply, Mapping) else getattr(reply, name, None)


def _usage_in(reply: object) -> Usage | None:
    usage = None if isinstance(reply, str) else _field(reply, "usage")
    if usage is None or isinstance(usage, Usage):
        return usage
    for read, written in (("input_tokens", "output_tokens"), ("prompt_tokens", "completion_tokens")):
        counts = _field(usage, read), _field(usage, written)
        if all(isinstance(count, int) and count >= 0 for count in counts):
            return Usage(input_tokens=counts[0], output_tokens=counts[1])
    return None


def _estimated(messages: Sequence[dict[str, str]], written: str) -> Usage:
    shown = "".join(message.get("content", "") for message in messages)
    sizes = [-(-len(text.encode("utf-8", "replace")) // 4) for text in (shown, written)]
    return Usage(input_tokens=sizes[0], output_tokens=sizes[1])
