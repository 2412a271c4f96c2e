"""Find the tool calls in what a model wrote."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection
from typing import Any

# Qwen2.5 marks a call with <tool_call>. Its small coder models also write <tools> or a code block; those count
# where they name a function that was offered.
_MARKED = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)
_LOOSE = re.compile(r"<tools>\s*(.*?)\s*(?:</tools>|\Z)|```(?:json|xml)?\s*(\{.*?\})\s*(?:```|\Z)", re.DOTALL)


def parse_calls(text: str, names: Collection[str], salt: str) -> tuple[str, list[dict[str, Any]]]:
    """Split ``text`` into what is said and what is called.

    Args:
        text: What the model wrote.
        names: The functions offered.
        salt: The prompt; with the call it makes an id that is the same each time the same thing is called there.

    Returns:
        The text without the calls, and the calls as OpenAI writes them. A call that is no JSON stays text.
    """
    found = _objects(text, _MARKED, None)
    if not found:
        found = _objects(text, _LOOSE, names)
    if not found and (whole := _asked(text, names)) is not None:
        found = [(0, len(text), whole)]
    calls: list[dict[str, Any]] = []
    kept, end = [], 0
    for begin, stop, asked in found:
        kept.append(text[end:begin])
        end = stop
        calls.append(_call(asked, f"{salt}\0{len(calls)}"))
    kept.append(text[end:])
    return "".join(kept).strip() if calls else text, calls


def _objects(
    text: str, pattern: re.Pattern[str], names: Collection[str] | None
) -> list[tuple[int, int, dict[str, Any]]]:
    found = []
    for match in pattern.finditer(text):
        asked = _asked(next((group for group in match.groups() if group), ""), names)
        if asked is not None:
            found.append((match.start(), match.end(), asked))
    return found


def _asked(text: str, names: Collection[str] | None) -> dict[str, Any] | None:
    try:
        # Models leave text behind a whole object, such as a brace too many.
        asked, _ = json.JSONDecoder(strict=False).raw_decode(text.strip())
    except json.JSONDecodeError:
        return None
    if not isinstance(asked, dict) or not isinstance(asked.get("name"), str):
        return None
    if names is not None and (asked["name"] not in names or "arguments" not in asked):
        return None
    return asked


def _call(asked: dict[str, Any], salt: str) -> dict[str, Any]:
    arguments = asked.get("arguments", {})
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    digest = hashlib.sha256(f"{salt}\0{asked['name']}\0{written}".encode()).hexdigest()
    return {"id": f"call_{digest[:24]}", "type": "function", "function": {"name": asked["name"], "arguments": written}}
