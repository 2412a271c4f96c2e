"""Whether a model answers at all, before a long piece of work relies on it."""

from __future__ import annotations

from dataclasses import replace

from tracer_hooks.errors import ConfigError
from tracer_hooks.suites import Endpoint
from tracer_hooks.suites.architectures._chat import ChatClient
from tracer_hooks.telemetry import suppressed


def probe_endpoint(endpoint: Endpoint, text: str) -> None:
    """Ask the model once, for a single token.

    Args:
        endpoint: Where it is.
        text: What it is asked.

    Raises:
        ConfigError: It cannot be reached, or does not answer.
    """
    client = ChatClient(replace(endpoint, max_tokens=1))
    try:
        with suppressed():
            client.complete([{"role": "user", "content": text}])
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigError(
            f"the model {endpoint.model!r} at {endpoint.base_url!r} gives no answer: {error}. Expected an "
            "OpenAI-compatible endpoint, up to and including /v1; start it, or name another with --base-url"
        ) from error
