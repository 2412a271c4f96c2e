"""Whether an answer says yes or no."""

from __future__ import annotations

import re

from tracer_hooks.values._patterns import lazy
from tracer_hooks.values._words import folded

_WORDS = {
    **dict.fromkeys(("yes", "true", "yeah", "yep", "correct", "right", "ja", "affirmative"), True),
    **dict.fromkeys(("no", "false", "nope", "nah", "incorrect", "wrong", "untrue", "nein", "negative"), False),
}
_EXPECTED = ("yes", "no", "true", "false")
_NO_ANSWER = lazy(r"\bno (?:problem|worries|doubt|wonder)\b|\bof course\b|\bright (?:now|away)\b|\ball right\b")
_WORD = r"(yes|yeah|yep|ja|true|correct|affirmative|no|nope|nah|nein|false|incorrect|untrue|wrong|negative|right)"
_STATED = lazy(rf"\b(?:answer|result|verdict|conclusion)\b\W{{0,4}}(?:is\b|=)?\W{{0,4}}{_WORD}\b")
_FIRST = lazy(rf"^\W{{0,4}}{_WORD}(?=$|[\s.,;:!?)\"'-])")
_LAST = lazy(rf"(?:^|[\s:(\"']){_WORD}\W{{0,4}}$")
_CLAIM = lazy(
    r"\b(?P<not>not|n't|isn't|aren't|wasn't|doesn't|never)?\s?(?:a |an |the |entirely |quite )?"
    r"(?P<word>true|correct|right|false|incorrect|untrue|wrong)\b"
)
_REFUSAL = lazy(
    r"(?:^|\s)(?:(?:unfortunately|certainly|definitely|absolutely|afraid|probably|surely)\s+not"
    r"|(?:is|are|was|were|does|do|did|can|will|has|have)(?: not|n't))\W{0,4}$"
)
_ALONE = lazy(r"\b(?P<word>yes|nope|yep|yeah)\b|\bno\b(?=[.,;!]|$)")
_BOTH = lazy(r"\byes (?:and|or) no\b|\bno (?:and|or) yes\b|\btrue or false\b|\byes/no\b")
_READ = 2_000
"""How much of the beginning and of the end of an answer is read."""


def expected_truth(expected: str) -> bool | None:
    """What ``expected`` is when it is a yes or a no (or true or false), else None."""
    word = folded(expected).strip(" .!\"'")
    return _WORDS[word] if word in _EXPECTED else None


def answered_truth(answer: str) -> bool | None:
    """Tell whether ``answer`` says yes or no; None where it says neither, or both."""
    whole = folded(answer)
    text = whole if len(whole) <= 2 * _READ else f"{whole[:_READ]} ... {whole[-_READ:]}"
    text = _NO_ANSWER.sub(" ", text).strip()
    if _BOTH.search(text):
        return None
    stated = _STATED.findall(text)
    if stated:
        return _WORDS[stated[-1]]
    for pattern in (_FIRST, _LAST):
        match = pattern.search(text)
        if match and not _is_denied(text, match.start(1)):
            return _WORDS[match[1]]
    if _REFUSAL.search(text):
        return False
    claims = {_WORDS[match["word"]] != bool(match["not"]) for match in _CLAIM.finditer(text)}
    alone = {match["word"] is not None and match["word"] != "nope" for match in _ALONE.finditer(text)}
    said = alone or claims
    return said.pop() if len(said) == 1 else None


def _is_denied(text: str, start: int) -> bool:
    return (
        re.search(r"(?:\bnot|n't|never)\s(?:a |an |the |quite |entirely )?$", text[max(0, start - 20) : start])
        is not None
    )
