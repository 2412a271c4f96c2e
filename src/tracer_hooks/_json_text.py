"""JSON in a text, bounded in depth."""

from __future__ import annotations

import json
from typing import Any

from tracer_hooks._limits import MAX_NESTING

_TOO_DEEP = f"nested too deeply, expected at most {MAX_NESTING} levels"


def parse_json(text: str | bytes) -> Any:
    """What ``text`` holds as JSON.

    Raises:
        ValueError: It is no JSON, or its lists and objects are nested deeper than :data:`MAX_NESTING`: what the parser
            can still read would end the recursion of whoever walks through it.
    """
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    refuse_deep(value)
    return value


def refuse_deep(value: object) -> None:
    """Raise when lists and objects in ``value`` are nested deeper than :data:`MAX_NESTING`.

    Raises:
        ValueError: They are.
    """
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_NESTING):
        if not level:
            return
        level = [
            item
            for one in level
            for item in (one.values() if isinstance(one, dict) else one)
            if isinstance(item, (dict, list))
        ]
    if level:
        raise ValueError(_TOO_DEEP)
