"""Fit of the probe as a conditional logit, cross-validated over questions, and the fitted attributor on disk."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from tracer_hooks.diagnosis import FitReport
from tracer_hooks.errors import AttributionError
from tracer_hooks.extension import RunReading, brief, fold, read_saved, reason_of, write_saved
from tracer_hooks.schema import LabeledTrajectory
from tracer_hooks_models.prefill._model import MODEL_VARIABLE, PrefillOptions, fingerprint_of, model_path
from tracer_hooks_models.prefill._render import step_text
from tracer_hooks_models.prefill._signals import PLACES, SIGNALS, Compression, Floats, Probe, design, prior_of

if TYPE_CHECKING:
    from tracer_hooks_models.prefill._attributor import PrefillAttributor

LogitArray = NDArray[np.float64]
_NEWTON_STEPS = 40
_RELABELLINGS = 8


@dataclass(frozen=True, slots=True)
class StepChoice:
    """One trajectory, for fitting."""

    features: LogitArray
    """Features of the steps that can be chosen, shape (steps, features)."""
    right: NDArray[np.bool_]
    """The steps that the label allows, shape (steps,); one, or all steps of a faulty agent."""


def probabilities(features: LogitArray, weights: LogitArray) -> LogitArray:
    """Softmax of ``features @ weights``, shape (steps,)."""
    raw = features @ weights
    raw = np.exp(raw - raw.max())
    return np.asarray(raw / raw.sum(), dtype=np.float64)


def fit_logit(choices: Sequence[StepChoice], *, prior: LogitArray, strength: float) -> LogitArray:
    """The most probable weights under a normal prior around ``prior``, shape (features,).

    A label that allows several steps is spread over them in proportion to the model's own belief, and the fit repeated
    (expectation and maximisation). With one step each the problem is convex and this is its optimum.

    Args:
        choices: The labelled trajectories.
        prior: Mean of the prior.
        strength: Its precision; the higher, the closer the weights stay to ``prior``.
    """
    weights = prior.astype(np.float64)
    ambiguous = any(choice.right.sum() > 1 for choice in choices)
    for _ in range(_RELABELLINGS if ambiguous else 1):
        targets = [_target(choice, weights) for choice in choices]
        weights = _maximise(choices, targets, weights, prior, strength)
    return weights


def log_likelihood(choices: Sequence[StepChoice], weights: LogitArray) -> float:
    """Sum over the trajectories of the log-probability that a step which the label allows is chosen."""
    return sum(
        float(np.log(max(1e-12, probabilities(choice.features, weights)[choice.right].sum()))) for choice in choices
    )


def _target(choice: StepChoice, weights: LogitArray) -> LogitArray:
    belief = probabilities(choice.features, weights) * choice.right
    total = belief.sum()
    return np.asarray(belief / total if total > 1e-12 else choice.right / choice.right.sum(), dtype=np.float64)


def _maximise(
    choices: Sequence[StepChoice], targets: Sequence[LogitArray], start: LogitArray, prior: LogitArray, strength: float
) -> LogitArray:
    """Newton's method with step halving; the objective is concave."""
    weights = start
    value = _objective(choices, targets, weights, prior, strength)
    for _ in range(_NEWTON_STEPS):
        slope, curvature = _derivatives(choices, targets, weights, prior, strength)
        move = np.linalg.solve(curvature, slope)
        scale = 1.0
        while scale > 1e-6:
            trial = weights + scale * move
            trial_value = _objective(choices, targets, trial, prior, strength)
            if trial_value >= value:
                break
            scale /= 2
        else:
            return weights
        gained, weights, value = trial_value - value, trial, trial_value
        if gained < 1e-9 * (1 + abs(value)):
            break
    return weights


def _objective(
    choices: Sequence[StepChoice],
    targets: Sequence[LogitArray],
    weights: LogitArray,
    prior: LogitArray,
    strength: float,
) -> float:
    fit = sum(
        float(target @ np.log(np.maximum(1e-300, probabilities(choice.features, weights))))
        for choice, target in zip(choices, targets, strict=True)
    )
    return fit - strength / 2 * float(((weights - prior) ** 2).sum())


def _derivatives(
    choices: Sequence[StepChoice],
    targets: Sequence[LogitArray],
    weights: LogitArray,
    prior: LogitArray,
    strength: float,
) -> tuple[LogitArray, LogitArray]:
    slope = -strength * (weights - prior)
    curvature = strength * np.eye(len(weights))
    for choice, target in zip(choices, targets, strict=True):
        belief = probabilities(choice.features, weights)
        slope = slope + choice.features.T @ (target - belief)
        mean = belief @ choice.features
        curvature += (choice.features * belief[:, None]).T @ choice.features - np.outer(mean, mean)
    return slope, curvature


SIZES = (0, 8, 32)
"""Numbers of hidden components that cross-validation chooses from."""
STRENGTHS = (1.0, 4.0, 16.0, 64.0, 256.0)
"""Strengths of the prior that it chooses from."""
_OUTER, _INNER = 5, 4
_LEAST = 5


@dataclass(frozen=True, slots=True)
class ProbeCase:
    """One labelled trajectory with its reading."""

    design: Callable[[Compression], Floats]
    """The judged columns of every step, shape (steps, columns)."""
    hidden: Floats
    """Hidden states of the steps that can be chosen, shape (allowed steps, values)."""
    allowed: NDArray[np.int64]
    """The steps that can be chosen."""
    agents: tuple[str, ...]
    """Folded names of the agents of all steps."""
    shipped: int
    """The step that the attributor names as it is."""
    shipped_fit: float
    """Log of the belief that it has in the steps which the label allows."""
    faulty: frozenset[str]
    """Folded names of the agents that the label names."""
    step: int | None
    """The labelled step."""
    question: str
    """What folds are made of."""

    @property
    def right(self) -> NDArray[np.bool_]:
        """Mark the allowed steps that the label allows; none when neither its step nor its agent can be chosen."""
        exact = self.allowed == (-1 if self.step is None else self.step)
        if exact.any():
            return np.asarray(exact)
        return np.array([self.agents[step] in self.faulty for step in self.allowed], dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Setting:
    """One choice of the cross-validation."""

    size: int
    strength: float

    def __str__(self) -> str:
        hidden = f"{self.size} components of the hidden states" if self.size else "no hidden states"
        return f"a probe with {hidden} and a prior of strength {self.strength:g}"


def fit_probe(
    attributor: PrefillAttributor, labeled: Sequence[LabeledTrajectory], *, seed: int
) -> tuple[Probe | None, FitReport]:
    """A probe, or None when cross-validation prefers what there was; see :meth:`PrefillAttributor.fit`."""
    cases = [_case(attributor, one) for one in labeled if _is_usable(one)]
    questions = sorted({case.question for case in cases})
    if len(cases) < _LEAST or len(questions) < 2:
        raise AttributionError(
            f"{len(cases)} labelled trajectories of {len(questions)} questions cannot be learnt from; expected at "
            f"least {_LEAST} of 2, each with a decisive step or faulty agents. Label more runs first"
        )
    folds = _folds(questions, _OUTER, seed)
    named = np.array([case.shipped for case in cases])
    for number, fold_questions in enumerate(folds):
        train = [case for case in cases if case.question not in fold_questions]
        model = _fit(train, seed + number)[0]
        for k, case in enumerate(cases):
            if case.question in fold_questions and model is not None:
                named[k] = _choose(case, model)
    probe, setting = _fit(cases, seed)
    shipped = [case.shipped for case in cases]
    report = FitReport(
        trajectories=len(cases),
        questions=len(questions),
        shipped_step=_step_accuracy(cases, shipped),
        shipped_agent=_agent_accuracy(cases, shipped),
        fitted_step=_step_accuracy(cases, named.tolist()),
        fitted_agent=_agent_accuracy(cases, named.tolist()),
        chosen=str(setting) if setting is not None else "the attributor as it was: no probe did better",
    )
    return probe, report


def _is_usable(labeled: LabeledTrajectory) -> bool:
    has_label = labeled.decisive is not None or bool(labeled.faults)
    return has_label and any(step_text(step).strip() for step in labeled.trajectory.steps)


def _case(attributor: PrefillAttributor, labeled: LabeledTrajectory) -> ProbeCase:
    trajectory = labeled.trajectory
    trace = RunReading(trajectory)
    features = attributor.features(trajectory)
    allowed = attributor.allowed(trace)
    scores = attributor.score(trajectory)
    assert scores is not None  # only an empty trajectory has none
    names = [fault.agent for fault in labeled.faults] + ([labeled.decisive.agent] if labeled.decisive else [])
    belief = np.array(scores.belief())[allowed]
    case = ProbeCase(
        design=lambda compression: design(trace, features, allowed, compression),
        hidden=features.hidden[allowed].astype(np.float64),
        allowed=np.array(allowed),
        agents=tuple(fold(step.agent) for step in trajectory.steps),
        shipped=int(np.argmax(scores.steps)),
        shipped_fit=0.0,
        faulty=frozenset(fold(name) for name in names),
        step=labeled.decisive.step if labeled.decisive else None,
        question=labeled.question_id or trajectory.task or trajectory.run_id,
    )
    return replace(case, shipped_fit=float(np.log(max(1e-12, belief[case.right].sum()))))


def _folds(questions: Sequence[str], count: int, seed: int) -> list[set[str]]:
    order = np.random.default_rng(seed).permutation(len(questions))
    return [{questions[k] for k in order[start::count]} for start in range(min(count, len(questions)))]


def _fit(cases: Sequence[ProbeCase], seed: int) -> tuple[Probe | None, Setting | None]:
    """The probe with the settings that foresee held-out labels best; None when the attributor as it is does so."""
    known = [case for case in cases if case.right.any()]
    questions = sorted({case.question for case in known})
    if len(questions) < 2:
        return None, None
    compression = Compression.of([case.hidden for case in known], max(SIZES))
    choices = {
        size: [StepChoice(case.design(compression.cut(size))[case.allowed], case.right) for case in known]
        for size in SIZES
    }
    folds = _folds(questions, _INNER, seed)
    members = [np.array([case.question in fold_questions for case in known]) for fold_questions in folds]
    best, best_value = None, sum(case.shipped_fit for case in known)
    for setting in (Setting(size, strength) for size in SIZES for strength in STRENGTHS):
        value = sum(_held_out(choices[setting.size], held, setting) for held in members)
        if value > best_value:
            best, best_value = setting, value
    if best is None:
        return None, None
    weights = fit_logit(choices[best.size], prior=prior_of(best.size), strength=best.strength)
    return Probe(compression.cut(best.size), weights), best


def _held_out(choices: Sequence[StepChoice], held: NDArray[np.bool_], setting: Setting) -> float:
    train = [choice for choice, out in zip(choices, held, strict=True) if not out]
    test = [choice for choice, out in zip(choices, held, strict=True) if out]
    weights = fit_logit(train, prior=prior_of(setting.size), strength=setting.strength)
    return log_likelihood(test, weights)


def _choose(case: ProbeCase, probe: Probe) -> int:
    raw = case.design(probe.compression)[case.allowed] @ probe.weights
    return int(case.allowed[int(np.argmax(raw))])


def _step_accuracy(cases: Sequence[ProbeCase], named: Sequence[int]) -> float:
    hits = [step == case.step for case, step in zip(cases, named, strict=True) if case.step is not None]
    return float(np.mean(hits)) if hits else float("nan")


def _agent_accuracy(cases: Sequence[ProbeCase], named: Sequence[int]) -> float:
    return float(np.mean([case.agents[step] in case.faulty for case, step in zip(cases, named, strict=True)]))


PROBE_FILE = "prefill.npz"
_VERSION = 1
_OPTIONS = TypeAdapter(PrefillOptions)
_AGAIN = "tracer-hooks fit --attributor prefill --labels PATH --out DIR"


def save(attributor: PrefillAttributor, directory: Path) -> None:
    """Write ``prefill.json`` and, when there is a probe, ``prefill.npz``."""
    options = {
        name: str(value) if isinstance(value, Path) else value for name, value in asdict(attributor.options).items()
    }
    options["model"] = str(attributor.path.resolve())
    model = {
        "fingerprint": attributor.fingerprint,
        "columns": [*SIGNALS, *PLACES],
        "fitted": attributor.probe is not None,
        "options": options,
    }
    beside = {} if attributor.probe is None else {PROBE_FILE: _bytes_of(attributor.probe)}
    write_saved(directory, name=attributor.name, version=_VERSION, model=model, beside=beside)
    if attributor.probe is None:
        (directory / PROBE_FILE).unlink(missing_ok=True)


def _bytes_of(probe: Probe) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        spread=probe.compression.spread.astype(np.float32),
        basis=probe.compression.basis.astype(np.float32),
        weights=probe.weights,
    )
    return buffer.getvalue()


def load(directory: Path) -> tuple[PrefillOptions, Probe | None]:
    """Options and probe from a directory; see :meth:`PrefillAttributor.load`.

    Raises:
        AttributionError: The directory holds no such attributor, or its probe belongs to another language model.
        ConfigError: The language model is not there, or an option has a value that cannot be used.
    """
    model, options = read_saved(directory, name="prefill", version=_VERSION, make=lambda data: (data, _options(data)))
    if not model.get("fitted"):
        return options, None
    path = model_path(options.model)
    found = fingerprint_of(path, options)
    if found != model.get("fingerprint"):
        raise AttributionError(
            f"the probe in {str(directory)!r} was fitted on another language model or number format than {str(path)!r} "
            f"(fingerprint {model.get('fingerprint')!r}, here {found!r}). "
            f"Set {MODEL_VARIABLE} to that model, or run: {_AGAIN}"
        )
    if model.get("columns") != [*SIGNALS, *PLACES]:
        raise AttributionError(
            f"the probe in {str(directory)!r} is for other signals than this release's. Run: {_AGAIN}"
        )
    return options, _probe(directory)


def _options(model: dict[str, Any]) -> PrefillOptions:
    given = dict(model["options"])
    given["model"] = os.environ.get(MODEL_VARIABLE) or given["model"]
    _OPTIONS.validate_python(given)
    return PrefillOptions(**given)  # which takes no option that it does not know


def _checked(probe: Probe) -> Probe:
    spread, basis = probe.compression.spread, probe.compression.basis
    if spread.ndim != 1 or basis.ndim != 2 or len(basis) != len(spread):
        raise ValueError("the arrays of the compression do not fit each other")
    if probe.weights.shape != (len(SIGNALS) + len(PLACES) + basis.shape[1],):
        raise ValueError("there is not one weight for each signal, place and component")
    if not all(np.isfinite(one).all() for one in (spread, basis, probe.weights)) or not (spread > 0).all():
        raise ValueError("a number is not finite, or a spread not positive")
    return probe


def _probe(directory: Path) -> Probe:
    file = directory / PROBE_FILE
    try:
        with file.open("rb") as handle, np.load(handle, allow_pickle=False) as arrays:
            compression = Compression(arrays["spread"].astype(np.float64), arrays["basis"].astype(np.float64))
            return _checked(Probe(compression, arrays["weights"].astype(np.float64)))
    except Exception as error:  # an archive with a damaged part may raise anything
        raise AttributionError(
            f"{str(file)!r} cannot be read: {brief(reason_of(error))}; expected the arrays of a probe. Run: {_AGAIN}"
        ) from error
