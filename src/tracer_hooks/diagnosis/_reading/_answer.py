"""The final answer of a run: the part of its last words that states it, and the step that says it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

_TRACEBACK = re.compile(
    r"^\s*Traceback \(most recent call last\):"
    r"|^\s*(?:[A-Za-z_]\w*\.){0,5}[A-Z]\w{0,40}(?:Error|Exception)\b\s*[:(]"
    r"|\bError code: \d{3}\b",
    re.MULTILINE,
)
_MARKED = re.compile(r"\bfinal answer\b\W{0,6}(?:is\b\W{0,4})?([^\n]{1,300})", re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\{([^{}]{1,80})\}")
_STATED = re.compile(
    r"\b(?:answer|result|total)\b(?:\s+(?:is|was|equals)\b\s*[:=]?|\s*\**[:=]|(?=\W{1,4}\d))\s*\**\s*([^\n]{1,200})",
    re.IGNORECASE,
)
_EDGES = " \t*_$`'\"“”"
_LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """Answer of a run."""

    text: str
    """The answer alone, without what was said around it; empty where the run gives none."""
    whole: str
    """The last words that it stands in, without an error that is glued to them."""
    is_marked: bool = False
    """The words themselves say that this is the answer: "FINAL ANSWER: 25", a box, the last field of a JSON reply."""


def without_traceback(text: str) -> str:
    """Words of an agent up to the error message that a log glues to them; all of them where there is none."""
    found = _TRACEBACK.search(text)
    return text[: found.start()].rstrip() if found is not None and text[: found.start()].strip() else text


def answer_in(text: str) -> FinalAnswer:
    """Find the answer in a run's last words."""
    whole = without_traceback(text[-_LONGEST:]).strip()
    marked = [
        stated for match in (*_MARKED.finditer(whole), *_BOXED.finditer(whole)) if (stated := _plain(match.group(1)))
    ]
    if marked:
        return FinalAnswer(marked[-1], whole, is_marked=True)
    field = _last_field(whole)
    if field is not None:
        return FinalAnswer(field, whole, is_marked=True)
    named = [match.group(1) for match in _STATED.finditer(whole)]
    return FinalAnswer(_plain(named[-1] if named else whole), whole)


def _plain(text: str) -> str:
    """Without marks of emphasis, the full stop and what follows it in a sentence of its own."""
    return text.strip().strip(_EDGES).removesuffix(".").strip(_EDGES)


def _last_field(text: str) -> str | None:
    """The last field of a reply that is a JSON object, fenced or not, when it is a plain value."""
    body = re.sub(r"^```\w*\n|\n?```$", "", text)
    if not body.startswith("{"):
        return None
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    value = list(found.values())[-1] if isinstance(found, dict) and found else None
    return str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None
