"""A client for OpenAI's chat completions, on the standard library alone."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from tracer_hooks.suites._endpoint import Endpoint
from tracer_hooks.suites.architectures._architecture import Tool

_TIMEOUT_S = 600.0  # a small machine may need minutes for one reply
_SHOWN = 500

Message = dict[str, Any]


class ChatClient:
    """Asks one endpoint, one request a call, without retries. It holds no state and may be shared by threads.

    Args:
        endpoint: Where the model is.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def complete(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Message:
        """The assistant's message, with ``usage``, ``finish_reason`` and ``model`` beside ``content``.

        Args:
            messages: The conversation in OpenAI's form.
            tools: The functions on offer.

        Raises:
            RuntimeError: The endpoint answered with an error, or with no completion.
            OSError: It could not be reached.
        """
        body: Message = {"model": self._endpoint.model, "messages": list(messages)}
        if tools:
            body["tools"] = [tool_schema(tool) for tool in tools]
        given = {"temperature": self._endpoint.temperature, "max_tokens": self._endpoint.max_tokens}
        body |= {key: value for key, value in given.items() if value is not None}
        return _message(self._post(body))

    def _post(self, body: Message) -> Any:
        url = f"{self._endpoint.base_url.rstrip('/')}/chat/completions"
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._endpoint.api_key}"}
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                said = error.read().decode(errors="replace")[:_SHOWN]
            raise RuntimeError(f"{url} answered {error.code}: {said}") from error
        except ValueError as error:
            raise RuntimeError(f"{url} answered with something that is not JSON: {error}") from error


def tool_schema(tool: Tool) -> Message:
    """A function as a tool in OpenAI's form."""
    parameters = TypeAdapter(tool).json_schema()
    return {
        "type": "function",
        "function": {"name": tool.__name__, "description": (tool.__doc__ or "").strip(), "parameters": parameters},
    }


def _message(completion: Any) -> Message:
    try:
        choice = completion["choices"][0]
        said = choice["message"]
        message: Message = {"role": "assistant", "content": said.get("content") or ""}
        calls = said.get("tool_calls")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise RuntimeError(f"expected a chat completion, the endpoint gave {str(completion)[:_SHOWN]!r}") from error
    if calls:
        message["tool_calls"] = calls
    about: Mapping[str, Any] = {
        "usage": completion.get("usage"),
        "finish_reason": choice.get("finish_reason"),
        "model": completion.get("model"),
    }
    return message | {key: value for key, value in about.items() if value is not None}
