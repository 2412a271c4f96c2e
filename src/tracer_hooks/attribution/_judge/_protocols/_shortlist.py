"""The first few steps of another method, chosen among in one question; both beliefs are combined."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tracer_hooks.attribution._judge._case import NO_FAULT, NOBODY, Case
from tracer_hooks.attribution._judge._choice import Choice, Option, choose_from_many
from tracer_hooks.attribution._judge._interview import Interview
from tracer_hooks.attribution._judge._protocols._choice_with_run import choice_with_run, opening_of
from tracer_hooks.attribution._judge._protocols._explain import explained
from tracer_hooks.attribution._judge._protocols._ranked import ranked
from tracer_hooks.attribution._judge._verdict import Verdict, plain_verdict

PROMPT = "shortlist"
MOST = 3
"""How many steps are chosen among."""
_LEAST = 1e-3
"""Neither side can rule a step out alone."""


def shortlist(interview: Interview, candidates: Mapping[int, float]) -> Verdict:
    """Ask which of the first three candidates it is, in every rotation of their order.

    The answer is the step with the highest sum of two logarithms: of the candidate's weight, and of the judge's belief
    averaged over the rotations. With independent errors that is Bayes' rule, with the candidate's weight as the prior.

    Args:
        interview: About the run.
        candidates: Weight of each step from another method; without any, it is :func:`ranked` among all steps.
    """
    case = interview.case
    first = first_of(case, candidates)
    if not first:  # the other method said nothing
        return ranked(interview, {})
    mass = min(1.0, sum(first.values()))
    interview.best = plain_verdict(case, first, "the candidate with the highest weight")
    found = choose_from_many(interview, shortlist_choice(interview, sorted(first)))
    logs = {step: math.log(max(_LEAST, weight)) + math.log(max(_LEAST, found[step])) for step, weight in first.items()}
    beliefs = {step: mass * share for step, share in _normalised(logs).items()}
    if found.get(None, 0.0) > max(found[step] for step in first):
        suspect = plain_verdict(case, beliefs, "the most suspicious step, which need not be at fault")
        return replace(suspect, abstention=NO_FAULT)
    best = max(beliefs, key=lambda step: (beliefs[step], -step))
    return explained(interview, Verdict(step=best, beliefs=beliefs))


def first_of(case: Case, candidates: Mapping[int, float]) -> dict[int, float]:
    """The candidates that are chosen among, with their weights."""
    allowed = {step: weight for step, weight in candidates.items() if step in case.answerable and weight > 0}
    return dict(sorted(allowed.items(), key=lambda item: (-item[1], item[0]))[:MOST])


def shortlist_choice(interview: Interview, steps: Sequence[int]) -> Choice:
    """The question which of ``steps`` it is; where the run may have gone well, that none is can be chosen too."""
    case = interview.case
    options = [Option(step, f"step {step}, by {case.shown_owner(step)}: {opening_of(case, step)}") for step in steps]
    if not case.is_failure:
        options.append(Option(None, NOBODY))
    return choice_with_run(interview, PROMPT, options, steps)


def _normalised(logs: Mapping[int, float]) -> dict[int, float]:
    top = max(logs.values())
    odds = {step: math.exp(value - top) for step, value in logs.items()}
    total = sum(odds.values())
    return {step: one / total for step, one in odds.items()}
