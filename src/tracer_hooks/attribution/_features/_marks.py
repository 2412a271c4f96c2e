"""Marks on single steps: the first of its kind, the last, the highest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution._features._view import Column


def first_of(flags: NDArray[Any]) -> Column:
    """1 at the first step where ``flags`` is not 0, 0 elsewhere."""
    return _one(len(flags), np.flatnonzero(flags)[:1])


def last_of(flags: NDArray[Any]) -> Column:
    """1 at the last step where ``flags`` is not 0, 0 elsewhere."""
    return _one(len(flags), np.flatnonzero(flags)[-1:])


def highest(values: NDArray[Any]) -> Column:
    """1 at the earliest step with the highest value, 0 elsewhere and where no value is above 0."""
    return _one(len(values), np.array([values.argmax()]) if len(values) and values.max() > 0 else np.array([], int))


def lowest(values: NDArray[Any]) -> Column:
    """1 at the earliest step with the lowest value, 0 elsewhere."""
    return _one(len(values), np.array([values.argmin()]) if len(values) else np.array([], int))


def _one(count: int, at: NDArray[Any]) -> Column:
    out = np.zeros(count)
    out[at] = 1.0
    return out
