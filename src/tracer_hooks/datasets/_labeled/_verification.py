"""What stands in ``LabeledTrajectory.verification``, whose keys may all be missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def number_of(values: Mapping[str, Any], key: str) -> float | None:
    """The number under ``key``; None when there is none."""
    value = values.get(key)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def count_of(values: Mapping[str, Any], key: str) -> int:
    """The whole number under ``key``; 0 when there is none."""
    return int(number_of(values, key) or 0)


def text_of(values: Mapping[str, Any], key: str) -> str | None:
    """The text under ``key``; None when there is none or it is empty."""
    value = values.get(key)
    return value if isinstance(value, str) and value else None
