"""Every call of the judge, on request, as JSON lines."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict

from tracer_hooks.attribution._judge._chat import ChatReply, ChatRequest
from tracer_hooks.errors import ConfigError


class CallDetails(TypedDict, total=False):
    """How a call went."""

    elapsed_s: float
    is_cached: bool
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One question and what came of it."""

    run_id: str
    protocol: str
    question: str
    """Name of the prompt."""
    model: str
    request: ChatRequest
    reply: ChatReply | None
    """None when the call failed."""
    elapsed_s: float = 0.0
    is_cached: bool = False
    problem: str | None = None
    """Why the call failed, or why its reply could not be used."""


class CallLog:
    """A JSON lines file that grows; nothing is written without a path. Keys and tokens of access are never in it.

    Raises:
        ConfigError: The file cannot be written.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.open("a", encoding="utf-8").close()
            except OSError as error:
                raise ConfigError(f"call_log={str(path)!r} of the attributor 'judge': {error.strerror}") from error

    def add(self, call: Call) -> None:
        """Write one line."""
        if self._path is None:
            return
        line = json.dumps(_line(call), ensure_ascii=False, default=str)
        with self._lock, self._path.open("a", encoding="utf-8", errors="replace") as file:
            file.write(line + "\n")


def _line(call: Call) -> dict[str, Any]:
    usage = None if call.reply is None else call.reply.usage.model_dump()
    return {
        "at": datetime.now(UTC).isoformat(),
        "run_id": call.run_id,
        "protocol": call.protocol,
        "question": call.question,
        "model": call.model,
        "messages": [asdict(message) for message in call.request.messages],
        "reply": None if call.reply is None else call.reply.text,
        "label_logprobs": None if call.reply is None else call.reply.label_logprobs,
        "usage": usage,
        "elapsed_s": round(call.elapsed_s, 4),
        "cached": call.is_cached,
        "problem": call.problem,
    }
