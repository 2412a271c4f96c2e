"""Formulas of spectrum-based fault localisation: how suspicious an element is that some runs contain and others do not.

``ef`` and ``ep`` count the failing and the passing runs that contain an element, ``failing`` and ``passing`` all runs
of either outcome.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]

FAMAS_DECAY = 0.9
"""The decay that Famas was published with."""


class Formula(StrEnum):
    """A formula by name."""

    OCHIAI = "ochiai"
    """ef / sqrt(failing (ef + ep)); Abreu, Zoeteweij and van Gemund 2006."""
    TARANTULA = "tarantula"
    """(ef / failing) / (ef / failing + ep / passing); Jones and Harrold 2005."""
    JACCARD = "jaccard"
    """ef / (failing + ep); Chen et al. 2002."""
    DSTAR = "dstar"
    """ef² / (ep + failing - ef); Wong et al. 2014, with the exponent 2."""
    KULCZYNSKI2 = "kulczynski2"
    """(ef / failing + ef / (ef + ep)) / 2; Naish, Lee and Ramamohanarao 2011."""
    OP2 = "op2"
    """ef - ep / (passing + 1); Naish, Lee and Ramamohanarao 2011."""
    FAMAS = "famas"
    """Kulczynski2 with decayed counts, times three factors of frequency; Ge et al. 2025, see :func:`famas`."""


def suspiciousness(formula: Formula, ef: Vector, ep: Vector, *, failing: int, passing: int) -> Vector:
    """Suspiciousness of elements from how many runs contain them, as published.

    0 / 0 counts as 0; D* of an element that exactly the failing runs contain is infinite. Famas needs frequencies and
    is given by :func:`famas`; from mere presence it is Kulczynski2, and that is what stands here.
    """
    return _FORMULAS[formula](ef, ep, failing, passing)


def scaled(formula: Formula, values: Vector, *, failing: int) -> Vector:
    """Values of a formula brought into [0, 1] without changing their order."""
    if formula is Formula.DSTAR:
        return np.where(np.isinf(values), 1.0, values / (1.0 + np.where(np.isinf(values), 0.0, values)))
    if formula is Formula.OP2:
        return np.clip(values / max(1, failing), 0.0, 1.0)
    if formula is Formula.FAMAS:
        top = float(values.max(initial=0.0))
        return values / top if top else values
    return values


def famas(
    counts: Vector, owner_counts: Vector, failed: NDArray[np.bool_], *, subject: int, decay: float = FAMAS_DECAY
) -> Vector:
    """The suspiciousness of Famas (Ge et al. 2025, arXiv 2509.13782), as a public re-implementation spells it out.

    ``S = alpha * K2 * (1 + beta) * (1 + gamma)`` with ``alpha = 1 + log(f) / log(1 / decay)`` of the element's
    frequency ``f`` in the run to be judged; ``K2`` Kulczynski2 in which a run that contains the element ``f`` times
    counts ``decay ** (f - 1)``; ``beta`` the element's share of its agent's steps; ``gamma`` the share of its agent's
    runs that contain it.

    Args:
        counts: How often each element occurs in each run; one row an element.
        owner_counts: How often each element's agent acts in each run.
        failed: Which runs failed.
        subject: The run to be judged, as a column.
        decay: Between 0 and 1, both excluded.
    """
    contained = counts > 0
    decayed = np.where(contained, decay ** np.maximum(counts - 1.0, 0.0), 0.0)
    ef, ep = decayed[:, failed].sum(axis=1), decayed[:, ~failed].sum(axis=1)
    without = (~contained[:, failed]).sum(axis=1)
    k2 = 0.5 * (_ratio(ef, ef + without) + _ratio(ef, ef + ep))
    alpha = 1.0 + np.log(np.maximum(counts[:, subject], 1.0)) / np.log(1.0 / decay)
    beta = _ratio(counts.sum(axis=1), owner_counts.sum(axis=1))
    gamma = _ratio(contained.sum(axis=1), (owner_counts > 0).sum(axis=1))
    result: Vector = alpha * k2 * (1.0 + beta) * (1.0 + gamma)
    return result


def _ratio(above: Vector | NDArray[np.int_], below: Vector | NDArray[np.int_]) -> Vector:
    result: Vector = np.divide(above, below, out=np.zeros(np.shape(above)), where=np.asarray(below) > 0)
    return result


def _ochiai(ef: Vector, ep: Vector, failing: int, passing: int) -> Vector:
    return _ratio(ef, np.sqrt(failing * (ef + ep)))


def _tarantula(ef: Vector, ep: Vector, failing: int, passing: int) -> Vector:
    failed, passed = ef / max(1, failing), ep / max(1, passing)
    return _ratio(failed, failed + passed)


def _jaccard(ef: Vector, ep: Vector, failing: int, passing: int) -> Vector:
    return _ratio(ef, failing + ep)


def _dstar(ef: Vector, ep: Vector, failing: int, passing: int) -> Vector:
    below = ep + failing - ef
    return np.where((below == 0) & (ef > 0), np.inf, _ratio(ef**2, below))


def _kulczynski2(ef: Vector, ep: Vector, failing: int, passing: int) -> Vector:
    return 0.5 * (ef / max(1, failing) + _ratio(ef, ef + ep))


def _op2(ef: Vector, ep: Vector, failing: int, passing: int) -> Vector:
    return ef - ep / (passing + 1.0)


_FORMULAS: dict[Formula, Callable[[Vector, Vector, int, int], Vector]] = {
    Formula.OCHIAI: _ochiai,
    Formula.TARANTULA: _tarantula,
    Formula.JACCARD: _jaccard,
    Formula.DSTAR: _dstar,
    Formula.KULCZYNSKI2: _kulczynski2,
    Formula.OP2: _op2,
    Formula.FAMAS: _kulczynski2,
}
