"""What was tried to recover the run, as the page shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tracer_hooks.repairs import PastTrial, RepairLog, RepairTarget
from tracer_hooks.report._excerpts import Excerpt, excerpt
from tracer_hooks.report._prompt_diff import PromptDiff, prompt_diff
from tracer_hooks.report._records import ReportAttempt
from tracer_hooks.report._trial_words import (
    capital,
    outcome_word,
    price,
    repair_reason,
    result,
    sentence,
    was_run,
    what_it_shows,
    what_was_done,
    whole_price,
    why_it_stopped,
)
from tracer_hooks.report._wording import one_line
from tracer_hooks.schema import Trajectory, Usage

_TEXT = 8_000
_FOLD_FROM = 400
_NOTE = 600
_MOST = 100
"""Rows in the page; nobody reads more."""


@dataclass(frozen=True, kw_only=True)
class TrialView:
    """One row."""

    number: int
    key: str
    """The attempt in the page that it was; empty where it is none."""
    attempt: int | None
    done: str
    step: int | None
    """Where it resumed; None from scratch."""
    agent: str
    """Who acts there; empty where that is not known."""
    linked: bool
    """Whether that step is in the page."""
    outcome: str
    outcome_word: str
    facts: tuple[str, ...]
    text: Excerpt | None
    diff: PromptDiff | None
    why: str
    note: str


@dataclass(frozen=True, kw_only=True)
class TriedView:
    """The whole section."""

    result: str
    outcome: str
    trials: tuple[TrialView, ...]
    left_out: int
    stopped: str
    shows: str
    price: str


Shown = Callable[[str, int], bool]
"""Whether a step of the attempt with this key is in the page."""


def tried_view(log: RepairLog, attempts: Sequence[ReportAttempt], is_shown: Shown) -> TriedView:
    """``log`` for the template.

    Args:
        log: What was tried.
        attempts: The attempts in the page.
        is_shown: Which steps can be linked.
    """
    places = {attempt.number: place for place, attempt in enumerate(attempts, start=1)}
    first = attempts[0].trajectory if attempts else None
    rows = []
    for number, trial in enumerate(log.trials[:_MOST], start=1):
        place = places.get(trial.attempt) if trial.attempt is not None else None
        run = attempts[place - 1].trajectory if place is not None else None
        rows.append(_row(trial, number, f"a{place}" if place else "", run, first, is_shown))
    return TriedView(
        result=result(log),
        outcome="succeeded" if log.recovered else "failed" if log.trials else "unknown",
        trials=tuple(rows),
        left_out=max(0, len(log.trials) - _MOST),
        stopped=sentence(why_it_stopped(log)),
        shows=what_it_shows(log),
        price=sentence(whole_price(log)),
    )


def saved_tokens(trial: PastTrial, run: Trajectory) -> int:
    """Tokens of the steps that a trial kept: they stand in its run, and were not spent."""
    return max(0, run.usage.total - (trial.usage.total - trial.repair.usage.total))


def _row(
    trial: PastTrial, number: int, key: str, run: Trajectory | None, first: Trajectory | None, is_shown: Shown
) -> TrialView:
    repair = trial.repair
    step, facts = repair.resume_from, price(trial)
    saved = saved_tokens(trial, run) if run is not None and trial.usage != Usage() else 0
    if step is not None and saved:
        facts.append(f"{saved:,} tokens saved")
    is_diff = repair.target is RepairTarget.INSTRUCTIONS and was_run(trial)
    text = repair.text if was_run(trial) and not is_diff else ""  # what was not run told the answer
    return TrialView(
        number=number,
        key=key,
        attempt=trial.attempt,
        done=capital(what_was_done(repair)),
        step=step,
        agent=_agent_at(run or first, step),
        linked=step is not None and bool(key) and is_shown(key, step),
        outcome=trial.outcome.value if was_run(trial) else "unknown",
        outcome_word=capital(outcome_word(trial)),
        facts=tuple(facts),
        text=excerpt(text, limit=_TEXT, fold_from=_FOLD_FROM) if text else None,
        diff=prompt_diff(_own_instructions(first, repair.agent), repair.text) if is_diff else None,
        why=repair_reason(repair),
        note=sentence(one_line(trial.note, _NOTE)),
    )


def _agent_at(run: Trajectory | None, step: int | None) -> str:
    if run is None or step is None or step >= len(run.steps):
        return ""
    return one_line(run.steps[step].agent, 60)


def _own_instructions(run: Trajectory | None, agent: str | None) -> str:
    return (run.instructions_of(agent) if run is not None else None) or ""
