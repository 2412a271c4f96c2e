"""What sort of value a task asks for."""

from __future__ import annotations

import re

from tracer_hooks.diagnosis._provenance._sightings import Kind, Sighting

_MONEY = re.compile(
    r"\b(?:costs?|pay|price|charged?|owes?|due|spend|budget|fee|bill|worth|refund|invoice|salary|earn)", re.IGNORECASE
)
_WHEN = re.compile(r"\b(?:when|what (?:time|date|day)|which (?:date|day|weekday)|last day|deadline)\b", re.IGNORECASE)
_COUNT = re.compile(
    r"\bhow (?:many|much|long|far|old|big|large|tall|heavy|high)\b|\bwhat (?:is|are) the\b", re.IGNORECASE
)
_WHO = re.compile(r"\bwho\b|\bwhich (?:person|player|employee|colleague)\b", re.IGNORECASE)


def is_asked_for(value: Sighting, task: str) -> bool:
    """Tell whether a value is of the sort that the task asks for; true when nothing tells the sort."""
    question = task[-2_000:]
    if _MONEY.search(question):
        return value.kind is Kind.NUMBER
    if _WHEN.search(question):
        return value.kind in (Kind.DATE, Kind.TIME)
    if _WHO.search(question):
        return value.kind is Kind.NAME
    if _COUNT.search(question):
        return value.kind is Kind.NUMBER
    return True
