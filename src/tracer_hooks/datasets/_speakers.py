"""A flat conversation as steps."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence

from tracer_hooks._limits import too_many
from tracer_hooks.errors import TrajectoryError
from tracer_hooks.schema import StepInput, to_json_value, to_text

_ROLE = re.compile(r"^(?P<speaker>.*?)\s*\((?P<note>[^()]*)\)\s*$", re.DOTALL)


def broadcast_inputs(speakers: Sequence[str]) -> list[tuple[StepInput, ...]]:
    """What each turn saw when all speak in one room: every turn since the same speaker's last one.

    Names and positions only; the texts stand in the steps.

    Raises:
        TrajectoryError: There are more turns or speakers than are read.
    """
    if reason := too_many(speakers):
        raise TrajectoryError(reason)
    last: dict[str, int] = {}
    inputs = []
    seen = [StepInput(source=speaker, step=position) for position, speaker in enumerate(speakers)]
    for position, speaker in enumerate(speakers):
        since = last.get(speaker, -1) + 1
        inputs.append(tuple(seen[since:position]))
        last[speaker] = position
    return inputs


def turn_of(entry: object, place: str) -> tuple[str, str | None]:
    """Who speaks in a message, and whom the turn is handed to.

    The speaker stands under ``name``, else under ``role`` with a note behind it, ``(thought)`` or ``(-> WebSurfer)``.

    Raises:
        TrajectoryError: The message, which stands at ``place``, is no object or names no speaker.
    """
    if not isinstance(entry, Mapping):
        raise TrajectoryError(f"{place} must be an object, got {type(entry).__name__}")
    if entry.get("name"):
        return to_text(entry["name"]), None
    role = to_text(entry.get("role") or "")
    if not role:
        raise TrajectoryError(f"{place} names no speaker: expected 'name' or 'role'")
    match = _ROLE.match(role)
    if match is None or not match["speaker"]:
        return role, None
    note = match["note"].strip()
    return match["speaker"], note.removeprefix("->").strip() or None if note.startswith("->") else None


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
