"""Which parameters of the Chat Completions API a server takes, found out by asking."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from tracer_hooks.attribution._judge._chat import ChatRequest

FORMATS = ("json_schema", "json_object_schema", "json_object", "text")
"""Ways of asking for JSON, the strictest first; the second is llama.cpp's: a JSON object with the schema beside it."""
_OPTIONAL = {
    "max_tokens": ("max_tokens",),  # reasoning models of OpenAI take max_completion_tokens instead
    "temperature": ("temperature",),
    "seed": ("seed",),
    "logprobs": ("logprobs", "top_logprobs"),
}
_MOST_LOGPROBS = 20


@dataclass(frozen=True, slots=True)
class Dialect:
    """What is sent to a server. It starts with everything, and gives up what the server refuses."""

    reply_format: str = FORMATS[0]
    """One of ``FORMATS``."""
    without: frozenset[str] = frozenset()
    """Parameters that are not sent."""

    def fields(self, request: ChatRequest) -> dict[str, Any]:
        """The parameters of ``request``, without the model's name."""
        limit = "max_completion_tokens" if "max_tokens" in self.without else "max_tokens"
        fields: dict[str, Any] = {
            "messages": [{"role": each.role, "content": each.content} for each in request.messages],
            limit: request.max_tokens,
        }
        if "temperature" not in self.without and request.temperature is not None:
            fields["temperature"] = request.temperature
        if "seed" not in self.without and request.seed is not None:
            fields["seed"] = request.seed
        if "logprobs" not in self.without and request.labels:
            fields |= {"logprobs": True, "top_logprobs": min(_MOST_LOGPROBS, 2 * len(request.labels))}
        if self.reply_format != "text":
            fields["response_format"] = self._response_format(request)
        return fields

    def softer(self, complaint: str, parameter: str | None) -> Dialect | None:
        """The dialect without what the server complains of; None when nothing is left to give up.

        Args:
            complaint: The server's message.
            parameter: The parameter that the server names in its error, if it does.
        """
        blamed = self._blamed(complaint, parameter)
        if blamed is not None:
            return replace(self, without=self.without | {blamed})
        position = FORMATS.index(self.reply_format) + 1
        return replace(self, reply_format=FORMATS[position]) if position < len(FORMATS) else None

    def is_blamed(self, complaint: str, parameter: str | None) -> bool:
        """Whether the server names something that this dialect sends, so that less of it may help."""
        names_format = parameter == "response_format" or _names(complaint, "response_format")
        return self._blamed(complaint, parameter) is not None or (names_format and self.reply_format != "text")

    def _blamed(self, complaint: str, parameter: str | None) -> str | None:
        """The parameter, other than the reply's format, that the server does not take; None when it blames none."""
        for blamed, names in _OPTIONAL.items():
            if blamed not in self.without and any(name == parameter or _names(complaint, name) for name in names):
                return blamed
        return None

    def _response_format(self, request: ChatRequest) -> dict[str, Any]:
        if self.reply_format == "json_schema":
            body = {"name": request.schema_name, "schema": request.schema, "strict": True}
            return {"type": "json_schema", "json_schema": body}
        if self.reply_format == "json_object_schema":
            return {"type": "json_object", "schema": request.schema}
        return {"type": "json_object"}


def _names(complaint: str, parameter: str) -> bool:
    """Whether a complaint is about a parameter: named in quotes, or at its beginning. It may quote the prompt too."""
    return re.search(rf"""['"`]{parameter}['"`]|^{parameter}\b""", complaint[:200]) is not None
