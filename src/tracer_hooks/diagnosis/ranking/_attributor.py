"""The structural attributor: judges a run by interpretable features of its steps, and can be fitted to labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tracer_hooks._guard import guard
from tracer_hooks.diagnosis._protocol import FitReport, StepScores
from tracer_hooks.diagnosis._weight_files import read_saved, write_saved
from tracer_hooks.diagnosis.ranking._answers import Ranking, attribution_by, has_content
from tracer_hooks.diagnosis.ranking._fit import adapt, cases_of, fit_structural
from tracer_hooks.diagnosis.ranking._learners import normalised
from tracer_hooks.diagnosis.ranking._model import SHIPPED, StructuralModel, prior_logits, run_features
from tracer_hooks.diagnosis.ranking._signals import trust_in
from tracer_hooks.diagnosis.ranking._table import FeatureTable, feature_of, features_of, table_of
from tracer_hooks.diagnosis.ranking._view import View
from tracer_hooks.schema import AgentFault, Attribution, ErrorMode, LabeledTrajectory, Step, Trajectory

VERSION = 1
"""Of the answers of the model as it is shipped."""
SAVED = 3
"""Of fitted models, and of how they are written; version 2 had trees and a second logit."""
AGENT_HEADS = "tracer_hooks.agent_heads"
"""Entry points of this group tell which agents of a run are at fault, and how: see :class:`AgentHead`."""


class StructuralAttributor:
    """Judges a run by what stands out in its structure, and can be fitted to labelled runs of one's own team.

    It reads no world knowledge into a run: an answer that is wrong without any sign of it in the trajectory is put down
    to a prior, with a confidence that says so.
    """

    name = "structural"
    tells_findings = True

    def __init__(self, model: StructuralModel = SHIPPED) -> None:
        self._model = model

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        """Diagnose one run; see :class:`~tracer_hooks.diagnosis.Attributor`."""
        is_own_fit = self._model.is_fitted and self._model.vouches_for(trajectory.agent_names)
        fit = "+fit" if is_own_fit else "+fit that cannot vouch: few labels, or another team's"
        signature = f"{self.name}/{SAVED}{fit}" if self._model.is_fitted else f"{self.name}/{VERSION}"

        def ranked(view: View) -> Ranking:
            scores, head = StepScores(steps=self._steps(view)), agent_head()
            is_known = head is not None and head.knows(trajectory)
            return Ranking(
                belief=self._belief(view, scores),
                scores=scores,
                modes=lambda: self._scores(view).modes,
                faults=head.faults_of(self._scores(view), trajectory) if head is not None and is_known else (),
                is_own_fit=is_own_fit,
            )

        found = attribution_by(ranked, trajectory, reference, attributor=signature)
        right = self._model.right if self._model.knows(trajectory.agent_names) else None
        return found if right is None or found.abstained else found.model_copy(update={"own_labels_right": right})

    def score(self, trajectory: Trajectory, *, reference: str | None = None) -> StepScores | None:
        """Log-beliefs over the steps; None for a trajectory with nothing in it."""
        if not has_content(trajectory):
            return None
        return self._scores(View(trajectory, reference))

    def fit(self, labeled: Sequence[LabeledTrajectory], *, seed: int = 0) -> tuple[StructuralAttributor, FitReport]:
        """Adapt the model to labelled trajectories, and measure what that gains; needs the extra ``fit``.

        The measuring fits again without each fifth of the questions, and takes most of the time. :meth:`fitted` leaves
        it out.

        Raises:
            AttributionError: Fewer than five of them have a decisive step.
            MissingExtraError: scipy is not installed.
        """
        model, report = fit_structural(labeled, shipped=self._model, seed=seed)
        return StructuralAttributor(model), report

    def fitted(self, labeled: Sequence[LabeledTrajectory], *, seed: int = 0) -> StructuralAttributor:
        """The same as :meth:`fit` without the measuring.

        Raises:
            AttributionError: Fewer than five of them have a decisive step.
            MissingExtraError: scipy is not installed.
        """
        return StructuralAttributor(adapt(cases_of(labeled), seed=seed))

    def save(self, directory: Path) -> None:
        """Write the model to ``directory``, for ``--attributor DIRECTORY``."""
        write_saved(directory, name=self.name, version=SAVED, model=self._model.to_json())

    @classmethod
    def load(cls, directory: Path) -> StructuralAttributor:
        """What :meth:`save` wrote.

        Raises:
            AttributionError: The directory holds something else, or another version; it says which command fits anew.
        """

        def made(data: dict[str, Any]) -> StructuralModel:
            return StructuralModel.from_json(data, _feature_names())

        return cls(read_saved(directory, name=cls.name, version=SAVED, make=made))

    def _belief(self, view: View, scores: StepScores) -> Sequence[float]:
        """How sure each step is."""
        belief = scores.belief()
        if self._model.is_fitted:
            return belief
        best = int(np.argmax(belief))
        trust = trust_in([one for one in view.signals if one.step == best], view.count)
        return [own * trust for own in belief]

    def _steps(self, view: View) -> tuple[float, ...]:
        """Log-beliefs over the steps; before a fit, few of the features have a say."""
        if self._model.is_fitted:
            logits = self._model.steps.of(run_features(table_of(view)))
        else:
            logits = normalised(prior_logits(partial(feature_of, view)))
        return tuple(float(one) for one in logits)

    def _scores(self, view: View) -> StepScores:
        """The same with what the head over agents and modes says."""
        head = agent_head()
        agents, modes = ({}, {}) if head is None else head.log_odds(table_of(view), view.trajectory)
        return StepScores(steps=self._steps(view), agents=agents, modes=modes)


class AgentHead(Protocol):
    """Tells which agents of a run are at fault, and with which error modes; tracer-hooks-models brings one."""

    def knows(self, trajectory: Trajectory) -> bool:
        """Tell whether a run is of a kind of team that it has learnt from."""
        ...

    def log_odds(
        self, table: FeatureTable, trajectory: Trajectory
    ) -> tuple[Mapping[str, float], Mapping[tuple[str, ErrorMode], float]]:
        """Log-odds that each agent is at fault, and of each pair of agent and error mode."""
        ...

    def faults_of(self, scores: StepScores, trajectory: Trajectory) -> tuple[AgentFault, ...]:
        """Who is at fault in a team of a kind that it has learnt from; empty for every other team."""
        ...


@cache
def agent_head() -> AgentHead | None:
    """The installed head over agents and error modes, looked for once; None where there is none."""
    for point in entry_points(group=AGENT_HEADS):
        with guard(f"load the agent head {point.value!r}"):
            found: AgentHead = point.load()()
            return found
    return None


@cache
def _feature_names() -> tuple[str, ...]:
    """They are the same for every run."""
    return features_of(Trajectory(run_id="-", steps=(Step(index=0, agent="-"),))).names
