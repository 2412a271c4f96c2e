"""The chat completions of a plain team's members, with tools."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter

from tracer_hooks.endpoint import Endpoint, EndpointClient
from tracer_hooks.errors import EndpointError
from tracer_hooks.suites.architectures._architecture import Tool

_TIMEOUT_S = 600.0  # a small machine may need minutes for one reply

Message = dict[str, Any]


class ChatClient:
    """Asks one endpoint, one request a call, without retries. It may be shared by threads.

    Args:
        endpoint: Where the model is.

    Raises:
        MissingExtraError: The client is not installed.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client = _client_of(endpoint)

    def complete(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Message:
        """The assistant's message, with ``usage``, ``finish_reason`` and ``model`` beside ``content``.

        Args:
            messages: The conversation in OpenAI's form.
            tools: The functions on offer.

        Raises:
            RuntimeError: The endpoint answered with an error, or with no completion. This is the team's own failure.
            OSError: It could not be reached.
        """
        body: Message = {"messages": list(messages)}
        if tools:
            body["tools"] = [tool_schema(tool) for tool in tools]
        given = {"temperature": self._endpoint.temperature, "max_tokens": self._endpoint.max_tokens}
        body |= {name: value for name, value in given.items() if value is not None}
        try:
            completion = self._client.send(body)
        except EndpointError as error:
            where = f"the endpoint {self._client.address!r}"
            if error.kind in ("unreachable", "timeout"):
                raise OSError(f"{where} {error.reason}") from error
            if error.status is not None:
                raise RuntimeError(f"{where} answered {error.status}: {error.reason}") from error
            raise RuntimeError(f"expected a chat completion, but {where} {error.reason}") from error
        return _message(completion.model_dump(mode="json", exclude_unset=True, warnings=False))


@functools.lru_cache(maxsize=8)
def _client_of(endpoint: Endpoint) -> EndpointClient:
    """One client for all members of all teams: to make one takes longer than many a request."""
    return EndpointClient(endpoint, needed_by="a plain team of a suite", timeout_s=_TIMEOUT_S, attempts=1)


def tool_schema(tool: Tool) -> Message:
    """A function as a tool in OpenAI's form."""
    parameters = TypeAdapter(tool).json_schema()
    return {
        "type": "function",
        "function": {"name": tool.__name__, "description": (tool.__doc__ or "").strip(), "parameters": parameters},
    }


def _message(completion: Message) -> Message:
    choice = completion["choices"][0]
    message: Message = {"role": "assistant", "content": choice["message"].get("content") or ""}
    if choice["message"].get("tool_calls"):
        message["tool_calls"] = choice["message"]["tool_calls"]
    about = {
        "usage": completion.get("usage"),
        "finish_reason": choice.get("finish_reason"),
        "model": completion.get("model"),
    }
    return message | {name: value for name, value in about.items() if value is not None}
