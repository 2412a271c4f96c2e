"""JSON that a run shows, whoever wrote it."""

from __future__ import annotations

import json


def parsed_json(text: str) -> object:
    """What ``text`` holds as JSON; None for text that is none, or nests deeper than Python's parser goes."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
