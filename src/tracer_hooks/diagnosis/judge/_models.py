"""The model that the judge asks: behind an OpenAI-compatible endpoint, or from weights on this machine."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

from tracer_hooks.diagnosis.judge._options import JudgeOptions, variable_of
from tracer_hooks.endpoint import (
    OPENAI,
    ChatCompletion,
    ChatModel,
    ChatRequest,
    Endpoint,
    EndpointClient,
    estimated_tokens,
)
from tracer_hooks.errors import AttributionError, ConfigError, EndpointError, MissingExtraError

GROUP = "tracer_hooks.judge_models"
"""Entry point group; ``local`` makes a :class:`~tracer_hooks.endpoint.ChatModel` of options whose model is a folder."""
_MOST_BYTES_PER_TOKEN = 8
"""Text of any kind has more tokens than this; Ollama cuts longer prompts to its context and answers all the same."""
_OWN_KEY, _OPENAI_KEY = variable_of("api_key"), "OPENAI_API_KEY"
_log = logging.getLogger("tracer_hooks")


def model_of(options: JudgeOptions) -> ChatModel:
    """The model that ``options`` name.

    Raises:
        ConfigError: They name none, or there is no key for its endpoint; the message says what to set.
        MissingExtraError: It needs a distribution that is not installed.
    """
    if not options.model:
        raise ConfigError(
            f"the attributor 'judge' has no model: set {variable_of('model')} to the name of a model, and "
            f"{variable_of('base_url')} to the OpenAI-compatible endpoint that serves it, such as "
            f"http://127.0.0.1:8000/v1; or set {variable_of('model')} to a directory with a transformers model"
        )
    if options.base_url is None and Path(options.model).is_dir():
        return _local_model()(options)
    return EndpointModel(options)


class EndpointModel:
    """A :class:`~tracer_hooks.endpoint.ChatModel` behind an endpoint, whose errors name the judge's settings.

    Raises:
        MissingExtraError: ``openai`` is not installed.
        ConfigError: The endpoint needs a key, and there is none.
    """

    def __init__(self, options: JudgeOptions) -> None:
        self._options = options
        self.name = options.model
        self.context_tokens = options.context_tokens
        base_url = options.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI
        self._client = EndpointClient(
            Endpoint(base_url=base_url, model=options.model, api_key=_key(options)),
            needed_by="a judge behind an OpenAI-compatible endpoint",
            timeout_s=options.timeout_s,
            attempts=options.attempts,
            backoff_s=options.backoff_s,
            extra_body=options.extra_body,
        )
        self.identity = json.dumps([self._client.address, self.name, dict(options.extra_body)], sort_keys=True)
        self._has_warned = False

    def count_tokens(self, text: str) -> int:
        """An upper estimate; the server's tokenizer is not known."""
        return estimated_tokens(text)

    def complete(self, request: ChatRequest, *, timeout_s: float | None = None) -> ChatCompletion:
        """Answer ``request``; see :class:`~tracer_hooks.endpoint.ChatModel`.

        Raises:
            AttributionError: The endpoint cannot be reached, refuses the request, or answers with something else.
        """
        try:
            reply = self._client.complete(request, timeout_s=timeout_s)
        except EndpointError as error:
            where = f"the judge's endpoint {self._client.address!r}"
            raise AttributionError(f"{where} {error.reason}. {self._next_step(error.kind)}") from error
        self._warn_of_cut_prompts(request, reply)
        return reply

    def _next_step(self, kind: str) -> str:
        if kind == "timeout":
            return f"Set {variable_of('timeout_s')} (now {self._options.timeout_s:g} s)"
        if kind == "key":
            return f"Set {_OWN_KEY} to a key that it takes"
        if kind == "refused":
            return f"Check the model's name {self.name!r}, and {variable_of('context_tokens')}, the tokens that fit"
        return f"Start the server, or set {variable_of('base_url')} to one that is OpenAI-compatible"

    def _warn_of_cut_prompts(self, request: ChatRequest, reply: ChatCompletion) -> None:
        read = reply.usage.input_tokens
        sent = sum(len(message.content.encode("utf-8", "replace")) for message in request.messages)
        if 0 < read < sent // _MOST_BYTES_PER_TOKEN and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "the judge's endpoint %r read %d tokens of a prompt of %d bytes: it seems to cut prompts. "
                "Set %s to the tokens that it takes, or raise its own limit",
                *(self._client.address, read, sent, variable_of("context_tokens")),
            )


def _local_model() -> Callable[[JudgeOptions], ChatModel]:
    """The maker of a model from a folder of weights, which another distribution brings.

    Raises:
        MissingExtraError: There is none.
    """
    for point in entry_points(group=GROUP, name="local"):
        found: Callable[[JudgeOptions], ChatModel] = point.load()
        return found
    raise MissingExtraError("a judge from a local model", "tracer-hooks[models]")


def _key(options: JudgeOptions) -> str:
    """The key; a word that means nothing for endpoints that want none."""
    if options.api_key_env:
        named = os.environ.get(options.api_key_env)
        if not named:
            raise ConfigError(
                f"the attributor 'judge' expects its key in the variable {options.api_key_env!r}, which is not set. "
                "Set it, or api_key_env to the name of another one"
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
