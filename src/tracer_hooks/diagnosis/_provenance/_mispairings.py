"""Known values that are said to count, or stand beside, something else than before."""

from __future__ import annotations

import re

from tracer_hooks.diagnosis._provenance._entries import Entry
from tracer_hooks.diagnosis._provenance._sightings import Kind

_MAGNITUDE = 20


def is_of_shape(one: Entry, other: Entry) -> bool:
    """Tell whether both, where they are ids, are made of letters and digits in the same order."""
    if one.value.kind is not Kind.CODE:
        return True
    a, b = (re.sub(r"[A-Za-z]", "a", re.sub(r"\d", "0", each.value.text)) for each in (one, other))
    return a == b


def is_of_size(one: Entry, other: Entry) -> bool:
    """Tell whether two values could stand for one thing: a year stands for no other number."""
    if one.value.number is None or other.value.number is None:
        return True
    (a, c), (b, d) = one.value.ratio, other.value.ratio
    if not a or not b:
        return False
    return b * c <= _MAGNITUDE * a * d and a * d <= _MAGNITUDE * b * c
