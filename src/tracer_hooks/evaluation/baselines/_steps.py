"""All rows for labelled steps that read nothing, or next to nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tracer_hooks.evaluation._case import Case
from tracer_hooks.evaluation._resampling import Array
from tracer_hooks.evaluation._step_scores import Guess, as_arrays, score_guesses
from tracer_hooks.evaluation.baselines._markers import before_error_marker
from tracer_hooks.evaluation.baselines._positions import (
    busiest_speaker,
    first_speaker,
    last_step,
    random_step,
    step_one,
)
from tracer_hooks.evaluation.baselines._priors import agent_prior, best_constant_step, position_prior
from tracer_hooks.schema import Trajectory

NOTHING = "nothing"
MARKERS = "error markers"

_PLAIN: dict[str, Callable[[Trajectory], Guess | None]] = {
    "always step 1": step_one,
    "first speaker, its first step": first_speaker,
    "last speaker, last step": last_step,
    "busiest speaker, its first step": busiest_speaker,
}
_FITTED: dict[str, Callable[[Sequence[Case]], list[Guess | None]]] = {
    "position prior": position_prior,
    "best constant step, chosen on these runs": best_constant_step,
    "agent prior, its first step": agent_prior,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBaseline:
    """One such row."""

    name: str
    """What it does."""
    reads: str
    """``"nothing"``, or ``"error markers"``."""
    scores: dict[str, Array]
    """One array a figure, in the order of the runs."""
    guesses: list[Guess | None] | None
    """Its answers; None for chance, which has only expectations."""


def step_baselines(cases: Sequence[Case]) -> list[StepBaseline]:
    """Every row, scored on these runs; priors are fitted within each group."""
    chance = as_arrays([random_step(case) for case in cases])
    rows = [StepBaseline(name="random, exact expectation", reads=NOTHING, scores=chance, guesses=None)]
    for name, fitted in _FITTED.items():
        rows.append(_row(name, NOTHING, cases, _by_group(cases, fitted)))
    for name, choose in _PLAIN.items():
        rows.append(_row(name, NOTHING, cases, [choose(case.trajectory) for case in cases]))
    marked = [before_error_marker(case.trajectory) for case in cases]
    return [*rows, _row("before the first error marker, else step 1", MARKERS, cases, marked)]


def _row(name: str, reads: str, cases: Sequence[Case], guesses: list[Guess | None]) -> StepBaseline:
    return StepBaseline(name=name, reads=reads, scores=score_guesses(cases, guesses), guesses=guesses)


def _by_group(cases: Sequence[Case], fitted: Callable[[Sequence[Case]], list[Guess | None]]) -> list[Guess | None]:
    guesses: dict[int, Guess | None] = {}
    for group in dict.fromkeys(case.group for case in cases):
        places = [place for place, case in enumerate(cases) if case.group == group]
        guesses |= dict(zip(places, fitted([cases[place] for place in places]), strict=True))
    return [guesses[place] for place in range(len(cases))]
