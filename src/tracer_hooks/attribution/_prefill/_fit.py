"""Fitting the probe, with its settings chosen and its gain measured by cross-validation over questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution._fitting import FitReport
from tracer_hooks.attribution._prefill._logit import Choice, fit_logit, log_likelihood
from tracer_hooks.attribution._prefill._probe import Compression, Floats, Probe, design, prior_of
from tracer_hooks.attribution._prefill._render import step_text
from tracer_hooks.attribution._reading import Trace
from tracer_hooks.attribution._reading._roles import fold
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import LabeledTrajectory

if TYPE_CHECKING:
    from tracer_hooks.attribution._prefill._attributor import PrefillAttributor

SIZES = (0, 8, 32)
"""Numbers of hidden components that cross-validation chooses from."""
STRENGTHS = (1.0, 4.0, 16.0, 64.0, 256.0)
"""Strengths of the prior that it chooses from."""
_OUTER, _INNER = 5, 4
_LEAST = 5


@dataclass(frozen=True, slots=True)
class Case:
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
        """Which of the allowed steps the label allows; none when neither its step nor its agent can be chosen."""
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


def _case(attributor: PrefillAttributor, labeled: LabeledTrajectory) -> Case:
    trajectory = labeled.trajectory
    trace = Trace(trajectory)
    features = attributor.features(trajectory)
    allowed = attributor.allowed(trace)
    scores = attributor.score(trajectory)
    assert scores is not None  # only an empty trajectory has none
    names = [fault.agent for fault in labeled.faults] + ([labeled.decisive.agent] if labeled.decisive else [])
    belief = np.array(scores.belief())[allowed]
    case = Case(
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


def _fit(cases: Sequence[Case], seed: int) -> tuple[Probe | None, Setting | None]:
    """The probe with the settings that foresee held-out labels best; None when the attributor as it is does so."""
    known = [case for case in cases if case.right.any()]
    questions = sorted({case.question for case in known})
    if len(questions) < 2:
        return None, None
    compression = Compression.of([case.hidden for case in known], max(SIZES))
    choices = {
        size: [Choice(case.design(compression.cut(size))[case.allowed], case.right) for case in known] for size in SIZES
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


def _held_out(choices: Sequence[Choice], held: NDArray[np.bool_], setting: Setting) -> float:
    train = [choice for choice, out in zip(choices, held, strict=True) if not out]
    test = [choice for choice, out in zip(choices, held, strict=True) if out]
    weights = fit_logit(train, prior=prior_of(setting.size), strength=setting.strength)
    return log_likelihood(test, weights)


def _choose(case: Case, probe: Probe) -> int:
    raw = case.design(probe.compression)[case.allowed] @ probe.weights
    return int(case.allowed[int(np.argmax(raw))])


def _step_accuracy(cases: Sequence[Case], named: Sequence[int]) -> float:
    hits = [step == case.step for case, step in zip(cases, named, strict=True) if case.step is not None]
    return float(np.mean(hits)) if hits else float("nan")


def _agent_accuracy(cases: Sequence[Case], named: Sequence[int]) -> float:
    return float(np.mean([case.agents[step] in case.faulty for case, step in zip(cases, named, strict=True)]))
