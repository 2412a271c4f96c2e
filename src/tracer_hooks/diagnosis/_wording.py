"""Wording of findings: readable quotations, short pieces of text, one line for each passage."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tracer_hooks.schema import Evidence, EvidenceKind

_FENCE = re.compile(r"[`~]{3,}[\w+-]*")
_SHORT = 120


def readable(quote: str | None) -> str:
    """``quote`` when there is something in it to read; empty for none, a bare code fence, or mere punctuation."""
    text = (quote or "").strip()
    if _FENCE.fullmatch(text) or not any(char.isalnum() for char in text):
        return ""
    return text


def one_line(text: str, longest: int = _SHORT) -> str:
    """The beginning of ``text`` on one line."""
    line = " ".join(text[: 4 * longest].split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


_SUREST: tuple[EvidenceKind, ...] = ("value", "error", "contradiction", "sign")
_MOST_SENTENCES = 3


def grouped(evidence: Iterable[Evidence], *, most: int) -> tuple[Evidence, ...]:
    """The evidence with each passage once: what is said of the same words of the same step becomes one entry.

    A passage that stands inside another one of its step joins it. Sentences without a passage stay by themselves, each
    once. The order is that of the first mention.

    Args:
        evidence: The strongest first.
        most: How many entries are kept.
    """
    kept: list[list[Evidence]] = []
    for one in evidence:
        one = one.model_copy(update={"quote": readable(one.quote)})
        same = next((group for group in kept if _belongs(one, group[0])), None)
        if same is None:
            kept.append([one])
        elif len(one.quote) > len(same[0].quote):
            same.insert(0, one)
        else:
            same.append(one)
    return tuple(_joined(group) for group in kept[:most])


def _belongs(one: Evidence, other: Evidence) -> bool:
    if one.step != other.step:
        return False
    if not one.quote or not other.quote:
        return one.quote == other.quote and one.why == other.why
    return one.quote in other.quote or other.quote in one.quote


def _joined(group: list[Evidence]) -> Evidence:
    first = group[0]
    if len(group) == 1:
        return first
    ranked = sorted(group, key=lambda one: (_SUREST.index(one.kind), -(one.weight or 0.0)))
    sentences = list(dict.fromkeys(one.why for one in ranked))[:_MOST_SENTENCES]
    weights = [one.weight for one in group if one.weight is not None]
    return first.model_copy(
        update={
            "why": " ".join(sentences),
            "weight": round(sum(weights), 2) if weights else None,
            "kind": ranked[0].kind,
        }
    )
