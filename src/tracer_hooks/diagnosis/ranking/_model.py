"""The structural model: a prior, and what was learnt from labels on top of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter
from pydantic.dataclasses import dataclass as checked

from tracer_hooks.diagnosis._reading._roles import fold
from tracer_hooks.diagnosis.ranking._learners import CHECKS, ConditionalLogit, KindLogits, Logits, RunFeatures
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


def prior_logits(feature: Callable[[str], NDArray[np.float64]]) -> Logits:
    """Log-belief of every step, up to a constant, from what is asked for by the names of features."""
    return sum((weight * feature(name) for name, weight in PRIOR.items()), np.zeros(1))


ENOUGH_LABELS = 20
"""Labelled runs from which the share of right answers among them says something about the next one."""
HAND_OFFS = "teams with hand-offs"
TURNS = "teams that take turns"


def kind_of(table: FeatureTable) -> str:
    """Which kind of team a trajectory is of: one that hands work on, or one that takes turns."""
    return HAND_OFFS if table.column("run: share of hand-offs").any() else TURNS


def run_features(table: FeatureTable) -> RunFeatures:
    """The features of one run, ready for a logit."""
    return RunFeatures(table.names, table.standardised(), prior_logits(table.column), kind_of(table))


@checked(frozen=True, slots=True, config=CHECKS)
class StructuralModel:
    """Log-beliefs over steps: the prior's, or most of the way from there to what labels teach."""

    steps: KindLogits
    """Ranks steps, on top of the prior."""
    agents_seen: frozenset[str]
    """Names of the agents in the labelled runs, folded."""
    labels: Annotated[int, Field(ge=0)]
    """Labelled runs that it was fitted to."""
    right: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=1)]] | None
    """In how many of them fits without their question found the step, and of how many; None where none was tried."""

    @property
    def is_fitted(self) -> bool:
        """Tell whether labels have gone into it, so that its beliefs are probabilities."""
        return self.labels > 0

    def knows(self, agents: Iterable[str]) -> bool:
        """Tell whether half of the agents or more are among those of the labelled runs."""
        names = {fold(agent) for agent in agents}
        return 2 * len(names & self.agents_seen) >= len(names) > 0

    def vouches_for(self, agents: Iterable[str]) -> bool:
        """Tell whether it knows how sure it is of a run: of a team that it knows, from enough labels."""
        return self.labels >= ENOUGH_LABELS and self.knows(agents)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        whole: dict[str, Any] = _rounded(asdict(self))
        return whole

    @classmethod
    def from_json(cls, data: Mapping[str, Any], features: Sequence[str]) -> StructuralModel:
        """Read what :meth:`to_json` wrote.

        Args:
            data: What stands in the file, which anybody may have written or damaged.
            features: Names of the features of this release.

        Raises:
            ValueError: It is no model over these features; the message says what is wrong.
        """
        model = TypeAdapter(cls).validate_json(json.dumps(data))
        logits = (model.steps.shared, *model.steps.by_kind.values())
        unknown = next((name for logit in logits for name in logit.weights if name not in features), None)
        if unknown is not None:
            raise ValueError(f"it reads {unknown!r}, which no feature of this release gives")
        return model


SHIPPED = StructuralModel(KindLogits(ConditionalLogit({}, 1.0), {}), frozenset(), 0, None)
"""The prior alone."""


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    return round(value, 6) if isinstance(value, float) else value
