"""The structural model: a prior, and what was learnt from labels on top of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.diagnosis._features import FeatureTable
from tracer_hooks.diagnosis._features._table import RULES_TOGETHER
from tracer_hooks.diagnosis._reading._roles import fold
from tracer_hooks.diagnosis._structural._forest import Forest
from tracer_hooks.diagnosis._structural._logit import KindLogits, Logits, agent_mass, normalised
from tracer_hooks.diagnosis._structural._mixing import Beliefs, Mixing
from tracer_hooks.diagnosis._structural._sureness import Sureness

PRIOR: dict[str, float] = {
    RULES_TOGETHER: 1.0,
    # little can go wrong in these
    "role: reports what a machine printed": -2.0,
    "role: a person": -3.0,
    "shape: only routes": -2.0,
    "brief: says the task again": -1.0,
    "shape: keeps a ledger": -0.5,
    # what the rest of the run builds on
    "brief: first act after it": 0.5,
    "brief: the first act leaves part of the task out": 1.0,
    "code: first of the run": 0.75,
    "failure: first to cause an error": 0.5,
    "survival: says most of the answer first": 0.25,
    # nothing to show for it
    "claims: first to state an answer": 0.25,
    "claims: states an answer with nothing to show": 0.25,
    "claims: first done with nothing to show": 0.25,
    "language: first to assume or simulate": 0.25,
    "language: from memory": 0.25,
    # rounds of work under a planner
    "work: early reply under a planner in a run that was cut off": 1.25,
    "work: last reply before the planner's answer": 2.0,
    "work: first reply that the planner is disappointed of": 0.5,
    "work: reply after which the request is made again": 0.5,
}
"""Log-odds by feature."""


def prior_logits(table: FeatureTable) -> NDArray[np.float64]:
    """Log-belief of every step, up to a constant."""
    column = {name: place for place, name in enumerate(table.names)}
    total = np.zeros(len(table.values))
    for name, weight in PRIOR.items():
        total += weight * table.values[:, column[name]]
    return total


ENOUGH_LABELS = 20
"""Labelled runs from which the share of right answers among them says something about the next one."""
HAND_OFFS = "teams with hand-offs"
TURNS = "teams that take turns"


def kind_of(table: FeatureTable) -> str:
    """Which kind of team a trajectory is of: one that hands work on, or one that takes turns."""
    share = table.values[:, table.names.index("run: share of hand-offs")]
    return HAND_OFFS if share.any() else TURNS


@dataclass(frozen=True, slots=True)
class StructuralModel:
    """Log-beliefs over steps: the prior alone, or a pool of it with what labels have taught."""

    steps: KindLogits = field(default_factory=KindLogits)
    """Ranks steps, on top of the prior."""
    agents: KindLogits = field(default_factory=KindLogits)
    """Weighs agents: its belief in all steps of an agent together counts for each of them."""
    forest: Forest | None = None
    """Trees over steps; None before a fit."""
    mixing: Mixing = field(default_factory=lambda: Mixing((1.0, 0.0, 0.0, 0.0)))
    """The shares of prior, step logit, trees and agent logit."""
    sureness: Sureness = field(default_factory=Sureness)
    """How sure the answers are, given the beliefs."""
    agents_seen: frozenset[str] = frozenset()
    """Names of the agents in the labelled runs, folded."""
    labels: int = 0
    """Labelled runs that it was fitted to."""

    @property
    def is_fitted(self) -> bool:
        """Tell whether labels have gone into it, so that its beliefs are probabilities."""
        return self.forest is not None

    def vouches_for(self, agents: Iterable[str]) -> bool:
        """Tell whether it knows how sure it is of a run: enough labels, and half of the agents or more among them."""
        names = {fold(agent) for agent in agents}
        return self.labels >= ENOUGH_LABELS and 2 * len(names & self.agents_seen) >= len(names) > 0

    def logits(self, table: FeatureTable, agents: Sequence[str]) -> Logits:
        """Log-belief of every step, up to a constant.

        Args:
            table: The features of the steps.
            agents: Who acted in each step.
        """
        if self.forest is None:
            return normalised(prior_logits(table))
        return self.mixing.logits(kind_of(table), self._members(table, agents, self.forest))

    def _members(self, table: FeatureTable, agents: Sequence[str], forest: Forest) -> Beliefs:
        kind, prior, standardised = kind_of(table), prior_logits(table), table.standardised()
        by_step = self.steps.of(kind).logits_from(standardised, table.names, prior)
        by_agent = self.agents.of(kind).logits_from(standardised, table.names, prior)
        return np.stack(
            [normalised(prior), normalised(by_step), normalised(forest.logits(table)), agent_mass(by_agent, agents)]
        )

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return {
            "steps": self.steps.to_json(),
            "agents": self.agents.to_json(),
            "forest": self.forest.to_json() if self.forest is not None else None,
            "mixing": self.mixing.to_json(),
            "sureness": self.sureness.to_json(),
            "agents_seen": sorted(self.agents_seen),
            "labels": self.labels,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> StructuralModel:
        """What :meth:`to_json` wrote."""
        return cls(
            steps=KindLogits.from_json(data["steps"]),
            agents=KindLogits.from_json(data["agents"]),
            forest=Forest.from_json(data["forest"]) if data["forest"] is not None else None,
            mixing=Mixing.from_json(data["mixing"]),
            sureness=Sureness.from_json(data["sureness"]) if "sureness" in data else Sureness(),
            agents_seen=frozenset(map(str, data.get("agents_seen", ()))),
            labels=int(data.get("labels", 0)),
        )
