"""A language model behind an OpenAI-compatible endpoint, for :class:`LLMWriter`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from tracer_hooks import _optional
from tracer_hooks.errors import FaultError
from tracer_hooks.telemetry import suppressed

if TYPE_CHECKING:
    from tracer_hooks.faults._writer import Chat


class ChatEndpoint(Protocol):
    """Where a model is; :class:`tracer_hooks.suites.Endpoint` is one."""

    @property
    def base_url(self) -> str:
        """Up to and including ``/v1``."""
        ...

    @property
    def model(self) -> str:
        """The model's name there."""
        ...

    @property
    def api_key(self) -> str:
        """Its key."""
        ...

    @property
    def temperature(self) -> float | None:
        """Sampling temperature; None leaves it to the server."""
        ...

    @property
    def max_tokens(self) -> int | None:
        """How long a reply may be, in tokens; None leaves it to the server."""
        ...


def openai_chat(endpoint: ChatEndpoint, *, timeout_s: float = 120.0, retries: int = 2) -> Chat:
    """A function that asks the model at ``endpoint``; its calls are not traced as the team's.

    Args:
        endpoint: Where the model is.
        timeout_s: Seconds that one call may take.
        retries: Times that a failed connection or a 429 or 5xx answer is tried again.

    Raises:
        MissingExtraError: The client is not installed. The returned function raises FaultError when the model cannot
            be reached.
    """
    openai = _optional.require("openai", extra="judge", feature="A fault writer behind an endpoint")
    client = openai.OpenAI(base_url=endpoint.base_url, api_key=endpoint.api_key, timeout=timeout_s, max_retries=retries)
    options: dict[str, Any] = {"temperature": endpoint.temperature, "max_tokens": endpoint.max_tokens}
    options = {name: value for name, value in options.items() if value is not None}

    def chat(messages: list[dict[str, str]]) -> str:
        try:
            with suppressed():
                answer = client.chat.completions.create(model=endpoint.model, messages=messages, **options)
        except openai.OpenAIError as error:
            raise FaultError(
                f"the model {endpoint.model!r} at {endpoint.base_url!r} gave no answer: {error}"
            ) from error
        return (answer.choices[0].message.content or "") if answer.choices else ""

    return chat
