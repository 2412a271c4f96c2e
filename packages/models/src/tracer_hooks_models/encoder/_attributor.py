"""The attributor ``encoder``, and its way from logits to an answer."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from tracer_hooks.diagnosis import FitReport, StepScores
from tracer_hooks.errors import AttributionError
from tracer_hooks.extension import INCOMPLETE, cached_property, refusal_of, require
from tracer_hooks.schema import (
    AgentFault,
    Attribution,
    Candidate,
    ErrorMode,
    Evidence,
    LabeledTrajectory,
    Step,
    Trajectory,
)
from tracer_hooks_models._shipped import ENCODER

if TYPE_CHECKING:
    from tracer_hooks_models.encoder._adaptation import Pointer
    from tracer_hooks_models.encoder._weights import EncoderEngine, ScoredTrajectory

_MODES = tuple(ErrorMode)
_CANDIDATES = 10
_FAULTS = 6


def candidates_of(trajectory: Trajectory, scores: StepScores) -> tuple[Candidate, ...]:
    """The likeliest steps, best first."""
    belief = scores.belief()
    ranked = sorted((k for k, share in enumerate(belief) if share > 0), key=lambda k: (-belief[k], k))
    return tuple(
        Candidate(agent=trajectory.steps[k].agent, step=k, score=min(1.0, belief[k])) for k in ranked[:_CANDIDATES]
    )


def mode_of(scores: StepScores, agent: str) -> ErrorMode | None:
    """The likeliest error mode of an agent."""
    known = {mode: value for (name, mode), value in scores.modes.items() if name == agent}
    return max(known, key=lambda mode: known[mode]) if known else None


def faults_of(scores: StepScores, threshold: float) -> tuple[AgentFault, ...]:
    """Pairs of agent and mode whose log-odds pass a threshold, the likeliest first."""
    above = sorted((pair for pair in scores.modes.items() if pair[1] > threshold), key=lambda pair: -pair[1])
    return tuple(
        AgentFault(agent=agent, error_mode=mode, score=1.0 / (1.0 + math.exp(-value)))
        for (agent, mode), value in above[:_FAULTS]
    )


def modes_of(agents: Sequence[str], logits: Sequence[Sequence[float]]) -> dict[tuple[str, ErrorMode], float]:
    """Log-odds of every pair."""
    return {
        (agent, mode): float(value)
        for agent, row in zip(agents, logits, strict=True)
        for mode, value in zip(_MODES, row, strict=True)
    }


def evidence_of(step: Step) -> tuple[Evidence, ...]:
    """Give as evidence that the encoder ranks a step first: it can give no reason, and so quotes nothing."""
    why = "A small language model that was trained on failed runs ranks this step first; it gives no reason."
    return (Evidence(step=step.index, why=why),)


VERSION = 1


class EncoderAttributor:
    """A small step encoder with a trajectory transformer, trained on injected faults.

    It reads every step beside the task, the message that it answers and the reply that it got, and compares the steps
    of a trajectory with each other. All of its training runs had failed, so it cannot tell a failed run from one that
    succeeded; rules and the failure detector do that.

    Args:
        directory: A folder that ``tracer-hooks train contrastive`` or :meth:`save` wrote; by default the weights
            that come with this distribution.
        device: Where to compute: ``"cpu"``, ``"cuda"``, ``"cuda:1"``.

    Raises:
        MissingExtraError: PyTorch, transformers or safetensors is not installed.
        AttributionError: The folder holds no encoder, or its weights are damaged.
    """

    name = "encoder"

    def __init__(self, directory: Path | None = None, *, device: str = "cpu") -> None:
        self._directory = directory or ENCODER
        require("torch", extra="models", feature="the attributor 'encoder'")
        from tracer_hooks_models.encoder._adaptation import Pointer
        from tracer_hooks_models.encoder._weights import load_config

        load_config(self._directory)
        self._device = device
        self._pointer: Pointer | None = Pointer.load(self._directory)

    @cached_property
    def _engine(self) -> EncoderEngine:
        from tracer_hooks_models.encoder._weights import EncoderEngine

        return EncoderEngine(self._directory, device=self._device)

    def score(self, trajectory: Trajectory, *, reference: str | None = None) -> StepScores | None:
        """Score every step; see :class:`~tracer_hooks.diagnosis._protocol.Scorer`. ``reference`` is not looked at."""
        scored = self._engine.score(trajectory, () if self._pointer is None else self._pointer.features)
        return None if scored is None else self._scores(trajectory, scored)

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        """Diagnose one run; see :class:`~tracer_hooks.diagnosis.Attributor`."""
        began = time.perf_counter()
        answer = self._judge(trajectory)
        return answer.model_copy(update={"elapsed_s": time.perf_counter() - began})

    def fit(self, labeled: Sequence[LabeledTrajectory], *, seed: int = 0) -> tuple[EncoderAttributor, FitReport]:
        """Adapt the pointer to these trajectories; see :class:`~tracer_hooks.diagnosis._protocol.Fittable`.

        The encoder stays as it is. What is fitted is the linear pointer over its step states, the structural features
        and the agents' log-odds, by penalised likelihood towards the shipped pointer; cross-validation over whole
        questions chooses how strongly, and may choose the shipped one.

        Raises:
            AttributionError: There are fewer than five trajectories with a label that points at a step, or they are
                all of one question.
        """
        from tracer_hooks_models.encoder._adaptation import adapt

        pointer, report = adapt(self._engine, labeled, seed=seed)
        fitted = EncoderAttributor(self._directory, device=self._device)
        fitted._pointer = pointer
        fitted.__dict__["_engine"] = self._engine
        return fitted, report

    def save(self, directory: Path) -> None:
        """Write the encoder's weights and the fitted pointer to a folder that :meth:`load` reads."""
        self._engine.save(directory)
        if self._pointer is not None:
            self._pointer.save(directory)

    @classmethod
    def load(cls, directory: Path) -> Self:
        """The attributor of a folder that :meth:`save` or ``tracer-hooks train contrastive`` wrote."""
        return cls(directory)

    def _judge(self, trajectory: Trajectory) -> Attribution:
        blank = Attribution(run_id=trajectory.run_id, attributor=f"{self.name}/{VERSION}")
        scores = self.score(trajectory)
        if scores is None:
            return blank.model_copy(update={"abstained": True, "abstained_reason": INCOMPLETE})
        candidates = candidates_of(trajectory, scores)
        refused = refusal_of(trajectory)
        if refused is not None:
            update = {"abstained": True, "abstained_reason": refused.reason, "evidence": refused.evidence}
            return blank.model_copy(update={**update, "candidates": candidates})
        best = candidates[0]
        return blank.model_copy(
            update={
                "agent": best.agent,
                "step": best.step,
                "error_mode": mode_of(scores, best.agent),
                "confidence": best.score,
                "candidates": candidates,
                "faults": faults_of(scores, self._engine.mode_threshold),
                "evidence": scores.evidence,
            }
        )

    def _scores(self, trajectory: Trajectory, scored: ScoredTrajectory) -> StepScores:
        own = scored.pointer if self._pointer is None else self._pointer.logits(scored)
        if not np.isfinite(own).all():
            raise AttributionError(f"the encoder gave no number for a step of the run {trajectory.run_id!r}")
        steps = np.full(len(trajectory.steps), -math.inf)
        steps[scored.reading.steps] = own
        scores = StepScores(
            steps=tuple(float(value) for value in steps),
            agents=dict(zip(scored.reading.text.agents, map(float, scored.agents), strict=True)),
            modes=modes_of(scored.reading.text.agents, scored.modes.tolist()),
        )
        best = int(np.argmax(steps))
        evidence = evidence_of(trajectory.steps[best])
        return StepScores(steps=scores.steps, agents=scores.agents, modes=scores.modes, evidence=evidence)
