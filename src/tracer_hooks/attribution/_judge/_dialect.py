"""Which parameters of the Chat Completions API a server takes, found out by asking."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from tracer_hooks.attribution._judge._chat import ChatRequest

_FORMATS = ("json_schema", "json_object_schema", "json_object", "text")
_MOST_LOGPROBS = 20


@dataclass(frozen=True, slots=True)
class Dialect:
    """What is sent to a server. It starts with everything, and gives up what the server refuses."""

    reply_format: Literal["json_schema", "json_object_schema", "json_object", "text"] = "json_schema"
    """``json_object_schema`` is the form of llama.cpp: a JSON object with the schema beside it."""
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Reasoning models of OpenAI take only the second."""
    temperature: bool = True
    seed: bool = True
    logprobs: bool = True

    def fields(self, request: ChatRequest) -> dict[str, Any]:
        """The parameters of ``request``, without the model's name."""
        fields: dict[str, Any] = {
            "messages": [{"role": each.role, "content": each.content} for each in request.messages],
            self.limit_field: request.max_tokens,
        }
        if self.temperature and request.temperature is not None:
            fields["temperature"] = request.temperature
        if self.seed and request.seed is not None:
            fields["seed"] = request.seed
        if self.logprobs and request.labels:
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
        blamed = self.blamed(complaint, parameter)
        if blamed == "max_tokens":
            return replace(self, limit_field="max_completion_tokens")
        if blamed is not None:
            return replace(self, **{blamed: False})
        position = _FORMATS.index(self.reply_format)
        if position + 1 == len(_FORMATS):
            return None
        return replace(self, reply_format=_FORMATS[position + 1])

    def blamed(self, complaint: str, parameter: str | None) -> str | None:
        """The parameter, other than the reply's format, that the server does not take; None when it blames none."""
        for name in ("max_tokens", "temperature", "seed", "logprobs"):
            if not self._sends(name):
                continue
            names = (name, "top_logprobs") if name == "logprobs" else (name,)
            if parameter in names or any(_names(complaint, each) for each in names):
                return name
        return None

    def _sends(self, name: str) -> bool:
        return self.limit_field == "max_tokens" if name == "max_tokens" else bool(getattr(self, name))

    def _response_format(self, request: ChatRequest) -> dict[str, Any]:
        if self.reply_format == "json_schema":
            body = {"name": request.schema_name, "schema": request.schema, "strict": True}
            return {"type": "json_schema", "json_schema": body}
        if self.reply_format == "json_object_schema":
            return {"type": "json_object", "schema": request.schema}
        return {"type": "json_object"}


def _names(complaint: str, parameter: str) -> bool:
    """Whether a complaint is about a parameter: named in quotes, or at its beginning. It may quote the prompt too."""
    beginning = complaint[:200]
    return re.search(rf"""['"`]{parameter}['"`]|^{parameter}\b""", beginning) is not None
