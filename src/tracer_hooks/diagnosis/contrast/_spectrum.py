"""Spectrum-based fault localisation over several runs of one task: formulas, and the elements they weigh."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis.contrast._run_view import Act, Claim, RunView, claim_weight

Vector: TypeAlias = NDArray[np.float64]
_AGENT_WEIGHT, _ACT_WEIGHT = 0.3, 0.8
"""How much a suspicious agent or kind of act says about the step in which it first occurs; claims have their own."""


class Formula(StrEnum):
    """A formula by name; D*, Kulczynski2, Op2 and Famas were measured to name the same steps."""

    OCHIAI = "ochiai"
    """ef / sqrt(failing (ef + ep)); Abreu, Zoeteweij and van Gemund 2006."""
    TARANTULA = "tarantula"
    """(ef / failing) / (ef / failing + ep / passing); Jones and Harrold 2005."""
    JACCARD = "jaccard"
    """ef / (failing + ep); Chen et al. 2002."""


def suspiciousness(formula: Formula, ef: Vector, ep: Vector, *, failing: int, passing: int) -> Vector:
    """Suspiciousness of elements, in [0, 1], from how many runs contain them, as published; 0 / 0 counts as 0."""
    if formula is Formula.OCHIAI:
        return _ratio(ef, np.sqrt(failing * (ef + ep)))
    if formula is Formula.TARANTULA:
        failed, passed = ef / max(1, failing), ep / max(1, passing)
        return _ratio(failed, failed + passed)
    return _ratio(ef, failing + ep)


def _ratio(above: Vector, below: Vector) -> Vector:
    result: Vector = np.divide(above, below, out=np.zeros(np.shape(above)), where=below > 0)
    return result


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

    def is_in(self, run: RunView) -> bool:
        """Tell whether a run contains it."""
        if isinstance(self.key, Act):
            return self.key in run.act_counts
        if isinstance(self.key, Claim):
            return self.key in run.known
        return any(act.agent == self.owner for act in run.act_counts)


@dataclass(frozen=True)
class Spectrum:
    """The elements of one run, and which runs of its task contain each.

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
    def runs_with(self) -> tuple[tuple[int, int], ...]:
        """For each element how many failing runs, the subject among them, and how many passing ones contain it."""
        return tuple(
            (1 + sum(map(element.is_in, self.failing)), sum(map(element.is_in, self.passing)))
            for element in self.elements
        )

    @cached_property
    def suspicion(self) -> Vector:
        """Suspiciousness of each element, in [0, 1]."""
        counts = np.array(self.runs_with, dtype=float).reshape(-1, 2)
        failing, passing = 1 + len(self.failing), len(self.passing)
        return suspiciousness(self.formula, counts[:, 0], counts[:, 1], failing=failing, passing=passing)

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

    @property
    def trust(self) -> float:
        """How far it is to be trusted, in [0, 1): it needs other failing runs, and passing ones.

        With the judged run as the only failing one it says the same as the comparison of values, so nothing is added.
        """
        failing, passing = len(self.failing), len(self.passing)
        return failing / (failing + 1) * passing / (passing + 1)

    def reason(self, step: int) -> str | None:
        """Say of the element that makes a step suspicious in how many runs it stands."""
        there = [place for place, element in enumerate(self.elements) if element.step == step]
        best = max(there, key=lambda place: self.suspicion[place] * self.elements[place].weight, default=None)
        if best is None:
            return None
        what = {ElementKind.AGENT: "agent", ElementKind.ACT: "kind of act", ElementKind.CLAIM: "value or sentence"}
        failing, passing = self.runs_with[best]
        return (
            f"This {what[self.elements[best].kind]} stands in {failing} of {1 + len(self.failing)} failing runs of the "
            f"task and in {passing} of {len(self.passing)} passing ones."
        )


def _elements_of(run: RunView) -> Iterator[Element]:
    seen: set[object] = set()
    for index in run.acts:
        step, before = run.steps[index], run.known_before[index]
        found: list[tuple[ElementKind, str | Act | Claim, float]] = [
            (ElementKind.AGENT, step.act.agent, _AGENT_WEIGHT),
            (ElementKind.ACT, step.act, _ACT_WEIGHT),
        ]
        found += [(ElementKind.CLAIM, claim, claim_weight(claim)) for claim in step.made if claim not in before]
        for kind, key, weight in found:
            if key not in seen:
                seen.add(key)
                yield Element(kind=kind, key=key, owner=step.act.agent, step=index, weight=weight)
