"""JSON that a run shows, whoever wrote it."""

from __future__ import annotations

from tracer_hooks._reading import parse_json


def parsed_json(text: str) -> object:
    """What ``text`` holds as JSON; None for text that is none, or nests deeper than Python's parser goes."""
    try:
        return parse_json(text)
    except ValueError:
        return None
