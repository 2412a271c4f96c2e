"""Beliefs over the steps of one trajectory, and their logarithmic pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

CHECKS = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
"""Of what is read from files: the fields of the classes below are those of the files."""
_LARGEST_NUMBER = 1e6
"""No weight is anywhere near it; beyond, sums would overflow."""
Number = Annotated[float, Field(ge=-_LARGEST_NUMBER, le=_LARGEST_NUMBER)]
Logits = NDArray[np.float64]
"""One log-belief, up to a constant, for each step; ``-inf`` for a step that cannot be the decisive one."""
FLOOR = -12.0
"""Log-belief below which a method's word is not taken, so that one method cannot rule a step out for all."""


def normalised(logits: Logits) -> Logits:
    """The same less the logarithm of their sum: logarithms of probabilities, none below :data:`FLOOR`."""
    top = logits.max()
    if not np.isfinite(top):
        return np.full(len(logits), -np.log(max(1, len(logits))))
    shifted = np.maximum(logits - top, 2 * FLOOR)
    return np.asarray(np.maximum(shifted - np.log(np.exp(shifted).sum()), FLOOR))


def pool(members: Sequence[Logits], shares: Sequence[float]) -> Logits:
    """The logarithmic opinion pool of several methods (Genest and Zidek 1986), as log-probabilities.

    Args:
        members: The normalised log-beliefs of each method over the steps of one trajectory.
        shares: The weight of each method; their sum is also an inverse temperature.
    """
    total = np.zeros(len(members[0]))
    for member, share in zip(members, shares, strict=True):
        total += share * member
    return normalised(total)
