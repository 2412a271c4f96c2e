"""Asking an attributor about every run."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tracer_hooks.attribution import diagnose_each
from tracer_hooks.errors import ConfigError, MissingExtraError
from tracer_hooks.evaluation._case import Case, Problem
from tracer_hooks.evaluation._entrant import Entrant
from tracer_hooks.evaluation._options import Progress
from tracer_hooks.schema import Attribution, RunOutcome, Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was said of one run."""

    attribution: Attribution | None
    """None when the attributor failed; counts as an abstention."""
    seconds: float
    """Wall-clock time of the diagnosis."""
    error: str | None = None
    """Why the attributor failed."""

    @property
    def given(self) -> Attribution | None:
        """The attribution, unless it is an abstention."""
        found = self.attribution
        return None if found is None or found.abstained or found.agent is None else found


def as_found(trajectory: Trajectory) -> Trajectory:
    """The run with the outcome of the file."""
    return trajectory


def outcome_withheld(trajectory: Trajectory) -> Trajectory:
    """The run as it looks to somebody who does not know how it ended."""
    return trajectory.model_copy(update={"outcome": RunOutcome.UNKNOWN, "outcome_reason": None})


def ask(
    entrant: Entrant,
    cases: Sequence[Case],
    *,
    view: Callable[[Trajectory], Trajectory] = as_found,
    told: bool = False,
    progress: Progress | None = None,
) -> list[Answer]:
    """One answer for each case; an attributor that fails on a run is recorded and the rest goes on.

    Args:
        entrant: Who is asked.
        cases: About what.
        view: What the attributor is shown of a run.
        told: Whether the expected answer is handed over.
        progress: Told after each run.

    Raises:
        MissingExtraError: The attributor needs something that is not installed.
        ConfigError: The attributor cannot work as it is configured.
    """
    answers: list[Answer] = []
    for attributor, group in itertools.groupby(enumerate(cases), key=lambda one: entrant.attributor_for(one[0])):
        asked = ((view(case.trajectory), case.reference if told else None) for _, case in group)
        began = time.perf_counter()
        for answer in diagnose_each(asked, attributor=attributor):
            if isinstance(answer, (MissingExtraError, ConfigError)):  # no run would fare better
                raise answer
            answers.append(_answer_of(answer, seconds=time.perf_counter() - began))
            began = time.perf_counter()
            if progress is not None:
                progress(entrant.name, len(answers), len(cases))
    return answers


def _answer_of(answer: Attribution | Exception, *, seconds: float) -> Answer:
    """The answer with the time that it took, which is the attributor's word where it asked several at once."""
    if isinstance(answer, Exception):
        return Answer(attribution=None, seconds=seconds, error=f"{type(answer).__name__}: {answer}")
    return Answer(attribution=answer, seconds=answer.elapsed_s or seconds)


def problems_of(entrant: Entrant, cases: Sequence[Case], answers: Sequence[Answer]) -> list[Problem]:
    """The runs that the attributor failed on."""
    return [
        Problem(source=case.source, reason=f"attributor {entrant.name!r}: {answer.error}")
        for case, answer in zip(cases, answers, strict=True)
        if answer.error is not None
    ]
