"""A reply's text as a checked object, whatever stands around its JSON."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from pydantic import ValidationError

from tracer_hooks.attribution._judge._case import ReplyError
from tracer_hooks.attribution._judge._replies import Reply

R = TypeVar("R", bound=Reply)

_THOUGHT = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_MOST_STARTS = 50
_MOST_PROBLEMS = 4


def parse_reply(text: str, kind: type[R], *, is_cut: bool = False) -> R:
    """The first JSON object in ``text``, as ``kind``.

    Raises:
        ReplyError: There is no JSON object, or it lacks what ``kind`` needs.
    """
    found = _first_object(_THOUGHT.sub("", text))
    if found is None:
        ending = "your reply was cut off before its end: be much shorter" if is_cut else "your reply is no JSON object"
        raise ReplyError(ending)
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        problems = [f"{_place(each['loc'])}: {each['msg']}" for each in error.errors()[:_MOST_PROBLEMS]]
        raise ReplyError("; ".join(problems)) from error


def _first_object(text: str) -> dict[str, Any] | None:
    decoder, start = json.JSONDecoder(strict=False), -1  # not strict: small models write line breaks into strings
    for _ in range(_MOST_STARTS):
        start = text.find("{", start + 1)
        if start < 0:
            return None
        try:
            found: dict[str, Any] = decoder.raw_decode(text, start)[0]
        except (ValueError, RecursionError):
            continue
        return found
    return None


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location)) or "reply"
