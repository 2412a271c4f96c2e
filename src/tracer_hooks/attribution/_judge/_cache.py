"""Accepted replies on the disk, so that nothing is paid for twice."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracer_hooks.attribution._judge._chat import ChatReply, ChatRequest
from tracer_hooks.schema import Usage

_log = logging.getLogger("tracer_hooks")


class ReplyCache:
    """Replies by everything that decides them: model, endpoint, messages, schema, sampling.

    Only replies that could be read are kept. A file that is damaged counts as absent, and a directory that cannot be
    written to costs a log line, not the diagnosis. Several processes may use one directory.
    """

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._is_broken = False

    def get(self, identity: str, request: ChatRequest) -> ChatReply | None:
        """The reply to ``request``, its usage 0; None when there is none."""
        if self._directory is None:
            return None
        try:
            data = json.loads(_path(self._directory, identity, request).read_text(encoding="utf-8"))
            return ChatReply(text=str(data["text"]), usage=Usage(), label_logprobs=_floats(data["label_logprobs"]))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    def put(self, identity: str, request: ChatRequest, reply: ChatReply) -> None:
        """Keep the reply to ``request``."""
        if self._directory is None or self._is_broken:
            return
        data = {"text": reply.text, "label_logprobs": _floats(reply.label_logprobs)}
        try:
            _write(_path(self._directory, identity, request), json.dumps(data, ensure_ascii=False))
        except OSError as error:
            self._is_broken = True
            _log.warning("the judge keeps no replies: cannot write to %r (%s)", str(self._directory), error.strerror)


def _path(directory: Path, identity: str, request: ChatRequest) -> Path:
    key = hashlib.sha256(json.dumps(_key(identity, request), sort_keys=True).encode()).hexdigest()
    return directory / key[:2] / f"{key}.json"


def _key(identity: str, request: ChatRequest) -> list[Any]:
    messages = [[message.role, message.content] for message in request.messages]
    sampling = [request.max_tokens, request.temperature, request.seed, list(request.labels)]
    return [identity, messages, request.schema, sampling]


def _floats(values: Mapping[str, Any] | None) -> dict[str, float] | None:
    return None if values is None else {name: float(value) for name, value in values.items()}


def _write(path: Path, text: str) -> None:
    """Write whole or not at all: another process may read at any time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
