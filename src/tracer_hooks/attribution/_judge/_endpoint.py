"""A model behind an OpenAI-compatible endpoint: vLLM, Ollama, the llama.cpp server, or a cloud."""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracer_hooks._optional import require
from tracer_hooks.attribution._judge._chat import BYTES_PER_TOKEN, ChatReply, ChatRequest, estimated_tokens
from tracer_hooks.attribution._judge._dialect import Dialect
from tracer_hooks.attribution._judge._options import PREFIX, JudgeOptions, variable_of
from tracer_hooks.errors import AttributionError, ConfigError
from tracer_hooks.schema import Usage, to_text

if TYPE_CHECKING:
    import tenacity

_REFUSALS = (400, 415, 422, 501)
"""Statuses with which servers refuse a parameter that they do not know."""
_MOST_WAIT_S = 60.0
_MOST_BYTES_PER_TOKEN = 8
"""Text of any kind has more tokens than this; Ollama cuts longer prompts to its context and answers all the same."""
_SHOWN = 300
_log = logging.getLogger("tracer_hooks")
_OWN_KEY, _OPENAI_KEY = f"{PREFIX}API_KEY", "OPENAI_API_KEY"


class EndpointChat:
    """A :class:`~tracer_hooks.attribution.ChatModel` that speaks OpenAI's Chat Completions API.

    The reply's schema is sent as ``response_format``; a server that refuses it is asked for any JSON object, then for
    plain text. Requests that are refused with 429 or 5xx, or time out, are sent again with growing pauses; no others.

    Raises:
        MissingExtraError: ``openai`` is not installed.
        ConfigError: The endpoint needs a key, and there is none.
    """

    def __init__(self, options: JudgeOptions) -> None:
        self._openai = require("openai", extra="judge", feature="a judge behind an OpenAI-compatible endpoint")
        self._options = options
        self.name = options.model
        self.context_tokens = options.context_tokens
        base_url = options.base_url or os.environ.get("OPENAI_BASE_URL") or None
        self._client = self._openai.OpenAI(base_url=base_url, api_key=_key(options), max_retries=0)
        self._address = str(self._client.base_url)
        self.identity = json.dumps([self._address, self.name, dict(options.extra_body)], sort_keys=True)
        self._has_warned = False
        self._dialect = Dialect(without=frozenset() if options.logprobs else frozenset({"logprobs"}))

    def count_tokens(self, text: str) -> int:
        """An upper estimate; the server's tokenizer is not known."""
        return estimated_tokens(text)

    def complete(self, request: ChatRequest, *, timeout_s: float | None = None) -> ChatReply:
        """Answer ``request``; see :class:`~tracer_hooks.attribution.ChatModel`.

        Raises:
            AttributionError: The endpoint cannot be reached, refuses the request, or answers with something else.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        dialect = self._dialect
        while True:
            try:
                answer = self._send(request, dialect, deadline)
            except self._openai.APIStatusError as error:
                softer = dialect.softer(*_complaint(error)) if self._is_refusal(error, dialect) else None
                if softer is None:
                    raise self._readable(error) from error
                dialect = softer
            except (self._openai.OpenAIError, ValueError) as error:  # ValueError: a body that is no JSON
                raise self._readable(error) from error
            else:
                reply = self._reply(answer, request)
                self._dialect = dialect  # it works: later calls begin with it
                return reply

    def _send(self, request: ChatRequest, dialect: Dialect, deadline: float | None) -> Any:
        import tenacity

        def once() -> Any:
            left = math.inf if deadline is None else max(0.001, deadline - time.monotonic())
            return self._client.chat.completions.create(
                model=self.name,
                timeout=min(self._options.timeout_s, left),
                extra_body=dict(self._options.extra_body),
                **dialect.fields(request),
            )

        stop: Any = tenacity.stop_after_attempt(self._options.attempts)
        if deadline is not None:
            stop |= tenacity.stop_after_delay(max(0.0, deadline - time.monotonic()))
        again = tenacity.Retrying(
            retry=tenacity.retry_if_exception(lambda error: self._is_passing(error, dialect)),
            wait=self._pause,
            stop=stop,
            reraise=True,
        )
        return again(once)

    def _is_passing(self, error: BaseException, dialect: Dialect) -> bool:
        """Whether sending the same once more may help."""
        if isinstance(error, self._openai.APITimeoutError):
            return True
        if isinstance(error, self._openai.RateLimitError):
            return bool(error.code != "insufficient_quota")
        if isinstance(error, self._openai.APIStatusError):
            return bool(error.status_code >= 500 and not self._is_refusal(error, dialect))
        return False

    def _is_refusal(self, error: Any, dialect: Dialect) -> bool:
        """Whether the server does not take a parameter; llama-cpp-python says so with a 500 that names it."""
        if error.status_code in _REFUSALS:
            return True
        return bool(error.status_code >= 500 and dialect.is_blamed(*_complaint(error)))

    def _pause(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        asked = _retry_after(getattr(error, "response", None))
        doubled = self._options.backoff_s * 2 ** (state.attempt_number - 1)
        return min(_MOST_WAIT_S, doubled if asked is None else asked)

    def _reply(self, answer: Any, request: ChatRequest) -> ChatReply:
        choice = next(iter(getattr(answer, "choices", None) or ()), None)
        message = getattr(choice, "message", None)
        if choice is None or message is None:
            raise AttributionError(
                f"the judge's endpoint {self._address!r} answered with something that is no chat completion: "
                f"{str(answer)[:_SHOWN]!r}. {self._advice()}"
            )
        text = to_text(message.content or getattr(message, "refusal", None) or "")
        logprobs = getattr(getattr(choice, "logprobs", None), "content", None)
        return ChatReply(
            text=text,
            usage=self._usage(answer, request, text),
            is_cut=choice.finish_reason == "length",
            label_logprobs=label_logprobs(logprobs, request.labels) if logprobs and request.labels else None,
        )

    def _usage(self, answer: Any, request: ChatRequest, text: str) -> Usage:
        usage, sent = getattr(answer, "usage", None), sum(len(each.content.encode()) for each in request.messages)
        if usage is None:  # a server that does not count must not defeat the budget
            return Usage(input_tokens=sent // BYTES_PER_TOKEN, output_tokens=self.count_tokens(text))
        read = usage.prompt_tokens or 0
        if 0 < read < sent // _MOST_BYTES_PER_TOKEN and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "the judge's endpoint %r read %d tokens of a prompt of %d bytes: it seems to cut prompts. "
                "Set %s to the tokens that it takes, or raise its own limit",
                *(self._address, read, sent, variable_of("context_tokens")),
            )
        return Usage(input_tokens=read, output_tokens=usage.completion_tokens or 0)

    def _readable(self, error: Exception) -> AttributionError:
        where = f"the judge's endpoint {self._address!r}"
        if isinstance(error, self._openai.APITimeoutError):
            return AttributionError(
                f"{where} did not answer in time. Set {variable_of('timeout_s')} (now {self._options.timeout_s:g} s)"
            )
        if isinstance(error, self._openai.APIConnectionError):
            return AttributionError(f"{where} cannot be reached: {error.__cause__ or error}. {self._advice()}")
        if isinstance(error, (self._openai.AuthenticationError, self._openai.PermissionDeniedError)):
            return AttributionError(f"{where} refused the key: {_said(error)}. Set {_OWN_KEY} to a key that it takes")
        if isinstance(error, self._openai.APIStatusError):
            advice = f"Check the model's name {self.name!r}, and {variable_of('context_tokens')}, the tokens that fit"
            return AttributionError(f"{where} refused the request ({error.status_code}): {_said(error)}. {advice}")
        return AttributionError(f"{where} gave no chat completion: {error!r}. {self._advice()}")

    def _advice(self) -> str:
        return f"Start the server, or set {variable_of('base_url')} to one that is OpenAI-compatible"


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
    listed = {each.token: each.logprob for each in (*(chosen.top_logprobs or ()), chosen)}
    for token, logprob in listed.items():
        if _bare(token) in wanted:
            masses[_bare(token)] = masses.get(_bare(token), 0.0) + math.exp(logprob)
    least = min(listed.values()) - 1.0
    return {label: math.log(masses[label]) if masses.get(label) else least for label in labels}


def _bare(token: str) -> str:
    return token.strip(" \t\n\r\"'`:*.()[]{},\u0120\u2581")


def _key(options: JudgeOptions) -> str:
    """The key; a word that means nothing for endpoints that want none."""
    if options.api_key_env:
        named = os.environ.get(options.api_key_env)
        if not named:
            raise ConfigError(
                f"the attributor 'judge' expects its key in the variable {options.api_key_env!r}, which is not set. "
                f"Set it, or {variable_of('api_key_env')} to another one"
            )
        return named
    if own := os.environ.get(_OWN_KEY):
        return own
    elsewhere = options.base_url is not None and options.base_url != os.environ.get("OPENAI_BASE_URL")
    shared = None if elsewhere else os.environ.get(_OPENAI_KEY)
    if shared is None and options.base_url is None and not os.environ.get("OPENAI_BASE_URL"):
        raise ConfigError(
            f"the attributor 'judge' has no endpoint for the model {options.model!r}: set {variable_of('base_url')} to "
            f"an OpenAI-compatible one, or {_OPENAI_KEY} to use OpenAI's, or {variable_of('model')} to a directory "
            "with a transformers model"
        )
    return shared or "none"


def _complaint(error: Any) -> tuple[str, str | None]:
    return _said(error), error.param if isinstance(error.param, str) else None


def _said(error: Any) -> str:
    body = error.body
    inner = body.get("message") or body.get("detail") or body.get("error") if isinstance(body, Mapping) else body
    return str(inner or error.message)[:_SHOWN]


def _retry_after(response: Any) -> float | None:
    """Seconds that a server asks to wait, from either of the two headers."""
    headers = getattr(response, "headers", {})
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            value = float(headers.get(name, "")) / unit
        except ValueError:  # absent, or a date
            continue
        if math.isfinite(value) and value >= 0:
            return value
    return None
