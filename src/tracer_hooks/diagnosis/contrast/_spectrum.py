"""Spectrum-based fault localisation over several runs of one task: formulas, and the elements they weigh."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis.contrast._run_view import Act, Claim, RunView, claim_weight

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
_AGENT_WEIGHT, _ACT_WEIGHT = 0.3, 0.8
"""How much a suspicious agent or kind of act says about the step in which it first occurs; claims have their own."""


class ElementKind(Enum):
    """What a spectrum counts."""

    AGENT = "agent"
    ACT = "act"
    """An agent's act of one kind with one target: a tool, or another agent."""
    CLAIM = "claim"


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """Something of the run to be judged that other runs contain or lack."""

    kind: ElementKind
    key: str | Act | Claim
    owner: str
    """The agent whose element it is, in the form in which names are compared."""
    step: int
    """Where it first occurs in the run to be judged."""
    weight: float
    """How much its suspiciousness says about that step."""


@dataclass(frozen=True)
class Spectrum:
    """The elements of one run, and how often each occurs in every run of its task.

    Args:
        subject: The run to be judged, which counts as failing.
        failing: Other failing runs of the task.
        passing: Passing runs of the task.
        formula: How counts become suspiciousness.
    """

    subject: RunView
    failing: tuple[RunView, ...]
    passing: tuple[RunView, ...]
    formula: Formula

    @cached_property
    def elements(self) -> tuple[Element, ...]:
        """Every agent, act and claim of the run's own making, in the order of first occurrence."""
        return tuple(_elements_of(self.subject))

    @cached_property
    def counts(self) -> Vector:
        """How often each element occurs; one row an element, one column a run: the subject, failing, passing."""
        return np.array([[_count(element, run) for run in self._runs] for element in self.elements], dtype=float)

    @cached_property
    def suspicion(self) -> Vector:
        """Suspiciousness of each element, in [0, 1]."""
        if not self.elements:
            return np.zeros(0)
        failed = 1 + len(self.failing)
        if self.formula is Formula.FAMAS:
            owners = np.array(
                [[_owner_count(element, run) for run in self._runs] for element in self.elements], dtype=float
            )
            outcome = np.arange(len(self._runs)) < failed
            values = famas(self.counts, owners, outcome, subject=0)
        else:
            contained = self.counts > 0
            ef, ep = contained[:, :failed].sum(axis=1).astype(float), contained[:, failed:].sum(axis=1).astype(float)
            values = suspiciousness(self.formula, ef, ep, failing=failed, passing=len(self.passing))
        return scaled(self.formula, values, failing=failed)

    @cached_property
    def by_step(self) -> Vector:
        """For each step the suspiciousness of the most suspicious element that first occurs there, by its weight."""
        result = np.zeros(len(self.subject.steps))
        for element, value in zip(self.elements, self.suspicion, strict=True):
            result[element.step] = max(result[element.step], value * element.weight)
        return result

    @cached_property
    def by_agent(self) -> dict[str, float]:
        """For each agent, under its name as compared, its own suspiciousness or that of the worst of its acts."""
        result: dict[str, float] = {}
        for element, value in zip(self.elements, self.suspicion, strict=True):
            if element.kind is not ElementKind.CLAIM:
                result[element.owner] = max(result.get(element.owner, 0.0), float(value))
        return result

    def top(self, step: int) -> Element | None:
        """The element that makes a step suspicious."""
        there = [k for k, element in enumerate(self.elements) if element.step == step]
        best = max(there, key=lambda k: self.suspicion[k] * self.elements[k].weight, default=None)
        return self.elements[best] if best is not None else None

    def runs_with(self, element: Element) -> tuple[int, int]:
        """How many failing runs, the subject among them, and how many passing ones contain an element."""
        row = self.counts[self.elements.index(element)] > 0
        failed = 1 + len(self.failing)
        return int(row[:failed].sum()), int(row[failed:].sum())

    @property
    def _runs(self) -> Sequence[RunView]:
        return (self.subject, *self.failing, *self.passing)


def _elements_of(run: RunView) -> Iterator[Element]:
    seen: set[object] = set()
    for index in run.acts:
        step = run.steps[index]
        owner = step.act.agent
        found: list[tuple[ElementKind, str | Act | Claim, float]] = [
            (ElementKind.AGENT, owner, _AGENT_WEIGHT),
            (ElementKind.ACT, step.act, _ACT_WEIGHT),
        ]
        before = run.known_before[index]
        found += [(ElementKind.CLAIM, claim, claim_weight(claim)) for claim in step.made if claim not in before]
        for kind, key, weight in found:
            if key not in seen:
                seen.add(key)
                yield Element(kind=kind, key=key, owner=owner, step=index, weight=weight)


def _count(element: Element, run: RunView) -> int:
    if element.kind is ElementKind.AGENT:
        return _owner_count(element, run)
    if isinstance(element.key, Act):
        return run.act_counts[element.key]
    if isinstance(element.key, Claim):
        return run.claim_counts[element.key] or int(element.key in run.known)
    return 0


def _owner_count(element: Element, run: RunView) -> int:
    return sum(count for act, count in run.act_counts.items() if act.agent == element.owner)
