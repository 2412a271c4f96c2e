"""A flat conversation as steps."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from tracer_hooks.schema import StepInput, to_json_value, to_text


def broadcast_inputs(speakers: Sequence[str]) -> list[tuple[StepInput, ...]]:
    """What each turn saw when all speak in one room: every turn since the same speaker's last one.

    Names and positions only; the texts stand in the steps.
    """
    last: dict[str, int] = {}
    inputs = []
    for position, speaker in enumerate(speakers):
        since = last.get(speaker, -1) + 1
        inputs.append(tuple(StepInput(source=speakers[k], step=k) for k in range(since, position)))
        last[speaker] = position
    return inputs


def content_text(content: object) -> str:
    """The text of a message's content: a string, or the JSON of whatever else stands there."""
    if content is None:
        return ""
    if isinstance(content, str):
        return to_text(content)
    return json.dumps(to_json_value(content), ensure_ascii=False)


def digest(value: object) -> str:
    """Sixteen hex digits that stand for ``value``, the same on every machine."""
    text = json.dumps(to_json_value(value), sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
