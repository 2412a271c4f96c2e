"""Pointer fitted to a user's own labels: penalised likelihood, its strength chosen by cross-validation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tracer_hooks.diagnosis import FitReport
from tracer_hooks.errors import AttributionError
from tracer_hooks.extension import features_of, finite, read_weights, write_files
from tracer_hooks.schema import LabeledTrajectory
from tracer_hooks_models.encoder._weights import EncoderEngine, ScoredTrajectory

POINTER = "pointer.json"


@dataclass(frozen=True, slots=True)
class Pointer:
    """Logits of the steps: ``slope`` times the shipped pointer, and a linear function of the step's design row."""

    slope: float
    weights: tuple[float, ...]
    spread: tuple[float, ...]
    """What each column of the design is divided by."""
    features: tuple[str, ...]
    """Names of the structural features in the design."""

    def logits(self, scored: ScoredTrajectory) -> NDArray[np.float64]:
        """(n,): log-belief, up to a constant, of each candidate step.

        Raises:
            AttributionError: The pointer was fitted on top of another encoder.
        """
        design = design_of(scored)
        if design.shape[1] != len(self.weights):
            raise AttributionError(
                f"the fitted pointer reads {len(self.weights)} numbers a step and this encoder gives "
                f"{design.shape[1]}: run `tracer-hooks fit` again"
            )
        logits: NDArray[np.float64] = self.slope * scored.pointer + (design / np.array(self.spread)) @ np.array(
            self.weights
        )
        return logits

    def save(self, directory: Path) -> None:
        """Write the pointer beside the weights of its encoder."""
        write_files({directory / POINTER: (json.dumps(asdict(self)) + "\n").encode()})

    @classmethod
    def load(cls, directory: Path) -> Pointer | None:
        """The fitted pointer of a folder; None when there is none.

        Raises:
            AttributionError: The file is damaged.
        """
        path = directory / POINTER
        if not path.is_file():
            return None
        again = "Run: tracer-hooks fit --attributor encoder --labels PATH --out DIR"
        return read_weights(path, cls._of, what="fitted pointer", again=again)

    @classmethod
    def _of(cls, data: Mapping[str, Any]) -> Pointer:
        weights, spread = (tuple(map(finite, data[key])) for key in ("weights", "spread"))
        if len(weights) != len(spread) or any(one <= 0 for one in spread):
            raise ValueError("'spread' must hold a positive number for each of 'weights'")
        if not all(isinstance(name, str) for name in data["features"]):
            raise ValueError("'features' must be a list of names")
        return cls(slope=finite(data["slope"]), weights=weights, spread=spread, features=tuple(data["features"]))


def design_of(scored: ScoredTrajectory) -> NDArray[np.float64]:
    """(n, columns): the step's state, the structural features, and the log-odds of its agent, less their means."""
    agent = scored.agents[scored.reading.speakers][:, None]
    design = np.concatenate([scored.states, scored.reading.features.astype(np.float64), agent], axis=1)
    centred: NDArray[np.float64] = design - design.mean(axis=0, keepdims=True)
    return centred


LEAST = 5
"""Labelled trajectories that a fit needs."""
_FOLDS = 5
_PENALTIES = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0)
_ITERATIONS = 40


@dataclass(frozen=True, slots=True)
class PointerChoice:
    """One way to fit: how strongly the weights are held, and whether towards the shipped pointer or towards nothing."""

    penalty: float
    shipped: bool

    def __str__(self) -> str:
        return f"strength {self.penalty:g} towards {'the shipped pointer' if self.shipped else 'none'}"


@dataclass(frozen=True, slots=True)
class PointerCase:
    """One labelled trajectory, as the pointer sees it."""

    offset: NDArray[np.float64]
    """(n,): the shipped pointer's logits, less their mean."""
    design: NDArray[np.float64]
    """(n, columns)."""
    bag: NDArray[np.bool_]
    """(n,): the steps one of which is the decisive one."""
    agents: tuple[str, ...]
    """(n,): who acted."""
    truth: tuple[int | None, str | None]
    """The labelled step as a row, and the labelled agent, where known."""
    question: str


def adapt(
    engine: EncoderEngine, labeled: Sequence[LabeledTrajectory], *, seed: int
) -> tuple[Pointer | None, FitReport]:
    """The pointer that cross-validation prefers; None when that is the shipped one."""
    names = engine.features_with(_names(labeled))
    cases = [case for one in labeled if (case := _case(engine, one, names)) is not None]
    questions = sorted({case.question for case in cases})
    if len(cases) < LEAST or len(questions) < 2:
        raise AttributionError(
            f"{len(cases)} of {len(labeled)} trajectories have a label that points at a step, on {len(questions)} "
            f"question(s): a fit needs at least {LEAST}, on two questions or more"
        )
    folds = _folds(cases, questions, seed)
    trials = {choice: _cross_validated(cases, folds, choice) for choice in _choices()}
    shipped = [case.offset for case in cases]
    best = max(trials, key=lambda choice: _likelihood(cases, trials[choice]))
    before, after = _accuracy(cases, shipped), _accuracy(cases, trials[best])
    kept = after[0] < before[0] or _likelihood(cases, trials[best]) < _likelihood(cases, shipped)
    after = before if kept else after
    report = FitReport(
        trajectories=len(cases),
        questions=len(questions),
        shipped_step=before[0],
        shipped_agent=before[1],
        fitted_step=after[0],
        fitted_agent=after[1],
        chosen="the shipped pointer, unchanged" if kept else str(best),
    )
    return None if kept else replace(_fitted(cases, best), features=names), report


def _names(labeled: Sequence[LabeledTrajectory]) -> tuple[str, ...]:
    """Names of all structural features."""
    read = (one.trajectory for one in labeled if one.trajectory.steps)
    return next((features_of(trajectory).names for trajectory in read), ())


def _choices() -> list[PointerChoice]:
    return [PointerChoice(penalty, shipped) for shipped in (True, False) for penalty in _PENALTIES]


def _case(engine: EncoderEngine, labeled: LabeledTrajectory, features: Sequence[str]) -> PointerCase | None:
    scored = engine.score(labeled.trajectory, features)
    if scored is None:
        return None
    names = [labeled.trajectory.steps[k].agent for k in scored.reading.steps]
    bag, truth = _labels(labeled, scored, names)
    if not bag.any():
        return None
    return PointerCase(
        offset=scored.pointer - scored.pointer.mean(),
        design=design_of(scored),
        bag=bag,
        agents=tuple(names),
        truth=truth,
        question=labeled.question_id or labeled.trajectory.task,
    )


def _labels(
    labeled: LabeledTrajectory, scored: ScoredTrajectory, names: Sequence[str]
) -> tuple[NDArray[np.bool_], tuple[int | None, str | None]]:
    if labeled.decisive is not None:
        bag = scored.reading.steps == labeled.decisive.step
        return bag, (int(bag.argmax()) if bag.any() else None, labeled.decisive.agent)
    faulty = {fault.agent.casefold() for fault in labeled.faults}
    return np.array([name.casefold() in faulty for name in names], bool), (None, None)


def _folds(cases: Sequence[PointerCase], questions: Sequence[str], seed: int) -> list[list[int]]:
    order = np.random.default_rng(seed).permutation(len(questions))
    place = {questions[k]: rank % min(_FOLDS, len(questions)) for rank, k in enumerate(order)}
    return [
        [k for k, case in enumerate(cases) if place[case.question] == fold]
        for fold in range(min(_FOLDS, len(questions)))
    ]


def _cross_validated(
    cases: Sequence[PointerCase], folds: Sequence[Sequence[int]], choice: PointerChoice
) -> list[NDArray[np.float64]]:
    found: dict[int, NDArray[np.float64]] = {}
    for fold in folds:
        held = set(fold)
        pointer = _fitted([case for k, case in enumerate(cases) if k not in held], choice)
        for k in fold:
            found[k] = _logits(pointer, cases[k])
    return [found[k] for k in range(len(cases))]


def _logits(pointer: Pointer, case: PointerCase) -> NDArray[np.float64]:
    logits: NDArray[np.float64] = pointer.slope * case.offset + (case.design / np.array(pointer.spread)) @ np.array(
        pointer.weights
    )
    return logits


def _fitted(cases: Sequence[PointerCase], choice: PointerChoice) -> Pointer:
    spread = np.concatenate([case.design for case in cases]).std(axis=0)
    spread = np.where(spread > 1e-6, spread, 1.0)
    longest = max(len(case.offset) for case in cases)
    offset = torch.full((len(cases), longest), -1e9, dtype=torch.float64)
    design = torch.zeros(len(cases), longest, len(spread), dtype=torch.float64)
    bag = torch.zeros(len(cases), longest, dtype=torch.bool)
    for row, case in enumerate(cases):
        count = len(case.offset)
        offset[row, :count] = torch.from_numpy(case.offset)
        design[row, :count] = torch.from_numpy(case.design / spread)
        bag[row, :count] = torch.from_numpy(case.bag)
    slope, weights = _minimise(offset, design, bag, choice)
    return Pointer(slope, tuple(weights.tolist()), tuple(spread.tolist()), ())


def _minimise(offset: Tensor, design: Tensor, bag: Tensor, choice: PointerChoice) -> tuple[float, Tensor]:
    """Minus log-likelihood of the bags plus the penalty, by L-BFGS; the slope stays 1 or 0 as the choice says."""
    weights = torch.zeros(design.shape[2], dtype=torch.float64, requires_grad=True)
    slope = 1.0 if choice.shipped else 0.0
    real = offset > -1e8
    fixed = torch.where(real, slope * offset, torch.full_like(offset, -1e9))
    optimizer = torch.optim.LBFGS([weights], max_iter=_ITERATIONS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        logits = fixed + design @ weights
        inside = logits.masked_fill(~bag, -1e9).logsumexp(1)
        value = (logits.logsumexp(1) - inside).sum() + 0.5 * choice.penalty * (weights @ weights)
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    return slope, weights.detach()


def _likelihood(cases: Sequence[PointerCase], logits: Sequence[NDArray[np.float64]]) -> float:
    """Mean log-belief on the bags."""
    return float(
        np.mean(
            [
                np.logaddexp.reduce(one[case.bag]) - np.logaddexp.reduce(one)
                for case, one in zip(cases, logits, strict=True)
            ]
        )
    )


def _accuracy(cases: Sequence[PointerCase], logits: Sequence[NDArray[np.float64]]) -> tuple[float, float]:
    """Shares of exact steps and exact agents; where no step is labelled, a step of the bag counts."""
    steps = agents = 0
    for case, one in zip(cases, logits, strict=True):
        best = int(np.argmax(one))
        steps += bool(case.bag[best])
        agents += bool(case.bag[best]) if case.truth[1] is None else case.agents[best] == case.truth[1]
    return steps / len(cases), agents / len(cases)
