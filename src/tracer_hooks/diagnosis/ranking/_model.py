"""The structural model: a prior, and what was learnt from labels on top of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from tracer_hooks.diagnosis._reading._roles import fold
from tracer_hooks.diagnosis.ranking._learners import Forest, KindLogits
from tracer_hooks.diagnosis.ranking._pooling import Beliefs, Logits, Mixing, Sureness, agent_mass, normalised
from tracer_hooks.diagnosis.ranking._table import RULES_TOGETHER, FeatureTable

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


_LARGEST_NUMBER = 1e6
"""No weight, share or threshold is anywhere near it; beyond, sums would overflow."""
Number = Annotated[float, Field(ge=-_LARGEST_NUMBER, le=_LARGEST_NUMBER)]
Factor = Annotated[float, Field(gt=0.0, le=_LARGEST_NUMBER)]
Shares = Annotated[list[Number], Field(min_length=4, max_length=4)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class _Logit(_Part):
    prior_weight: Number
    weights: dict[str, Number]


class _Logits(_Part):
    shared: _Logit
    by_kind: dict[str, _Logit]


class _Forest(_Part):
    names: list[str]
    roots: Annotated[list[int], Field(min_length=1)]
    feature: list[int]
    threshold: list[Annotated[float, Field(ge=-1e300, le=1e300)]]
    left: list[int]
    right: list[int]
    value: list[Annotated[float, Field(ge=0.0, le=1.0)]]

    @model_validator(mode="after")
    def _are_trees(self) -> Self:
        count = len(self.feature)
        if not all(len(column) == count for column in (self.threshold, self.left, self.right, self.value)):
            raise ValueError("the columns of the nodes differ in length")
        if not all(0 <= root < count for root in self.roots):
            raise ValueError("a tree begins at a node that is not there")
        if not all(-1 <= asked < len(self.names) for asked in self.feature):
            raise ValueError("a node asks for a feature that is not named")
        for node, asked in enumerate(self.feature):
            # Children stand behind their parent, so that nobody walks in a circle.
            if asked >= 0 and not all(node < child < count for child in (self.left[node], self.right[node])):
                raise ValueError(f"node {node} leads to one that is not behind it")
        return self


class _Mixing(_Part):
    shares: Shares
    by_kind: dict[str, Shares]


class _Sureness(_Part):
    step: Factor
    agent: Factor


class _Model(_Part):
    steps: _Logits
    agents: _Logits
    forest: _Forest | None
    mixing: _Mixing
    sureness: _Sureness | None = None
    agents_seen: list[str] = []
    labels: Annotated[int, Field(ge=0)] = 0


def refuse_unusable(data: dict[str, Any], features: tuple[str, ...]) -> None:
    """Raise when ``data`` is no structural model over features of these names.

    Raises:
        ValueError: It is none; the message says what is wrong.
    """
    model = _Model.model_validate(data)
    logits = chain.from_iterable((one.shared, *one.by_kind.values()) for one in (model.steps, model.agents))
    read = dict.fromkeys(name for logit in logits for name in logit.weights)
    read.update(dict.fromkeys(() if model.forest is None else model.forest.names))
    unknown = next((name for name in read if name not in features), None)
    if unknown is not None:
        raise ValueError(f"it reads {unknown!r}, which no feature of this release gives")
