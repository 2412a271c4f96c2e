"""The spectrum of several runs of one task: which agents, acts and claims stand in failing and not in passing runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracer_hooks._lazy import cached_property
from tracer_hooks.attribution._contrast._claims import Claim, claim_weight
from tracer_hooks.attribution._contrast._formulas import Formula, famas, scaled, suspiciousness
from tracer_hooks.attribution._contrast._run_view import Act, RunView

Vector: TypeAlias = NDArray[np.float64]

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
