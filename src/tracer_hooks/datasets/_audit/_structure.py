"""What marks a step without any text: times, usage, models, ids."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tracer_hooks.datasets._audit._cases import Case
from tracer_hooks.datasets._audit._figures import Answers, Asked, Bools, Judge, accuracy_check
from tracer_hooks.datasets._audit._records import Check
from tracer_hooks.schema import Step, Trajectory

_FEWEST = 5
_FEWEST_FOR_PACE = 3
_LEAST_SECONDS = 1e-3
_HEX, _SIGNS = re.compile(r"[0-9a-f]{16,}"), re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class _Rule:
    """Steps of a run that stand out."""

    name: str
    reads: str
    marks: Callable[[Trajectory], list[bool]]


def structural_checks(
    cases: Sequence[Case], judge: Judge, *, source: str, margin: float, is_binding: bool
) -> list[Check]:
    """For each rule, how often the steps that stand out are the decisive ones, over the runs where some do.

    A rule that marks steps in fewer than five runs gives no check. Its prior is also what it gives on the passing runs
    beside them, where the same place may stand out for its own reasons.
    """
    found = []
    for rule in _RULES:
        marked = [(case, marks) for case in cases if (marks := _marks(rule, case.run)) is not None]
        if len(marked) < _FEWEST:
            continue
        asked = Asked(name=rule.name, source=source, reads=rule.reads, margin=margin, is_binding=is_binding)
        found.append(
            accuracy_check(
                asked,
                Answers([marks for _, marks in marked], [case.eligible for case, _ in marked]),
                [case.step for case, _ in marked],
                [case.group for case, _ in marked],
                judge=judge,
                placement=_on_clean_runs(rule, [case for case, _ in marked]),
            )
        )
    return found


def _marks(rule: _Rule, run: Trajectory) -> Bools | None:
    marks = np.array(rule.marks(run), dtype=np.bool_)
    return marks if marks.any() and not marks.all() else None


def _on_clean_runs(rule: _Rule, cases: Sequence[Case]) -> float | None:
    """Over all marked cases with a counterpart: a clean run in which nothing stands out counts as a choice by lot."""
    shares = []
    for case in cases:
        if case.clean is not None:
            marks = _marks(rule, case.clean)
            shares.append(1 / len(case.clean.steps) if marks is None else float(marks[case.step] / marks.sum()))
    return float(np.mean(shares)) if shares else None


def _seconds(step: Step) -> float | None:
    if step.started_at is None or step.ended_at is None:
        return None
    return (step.ended_at - step.started_at).total_seconds()


def _is_without_duration(run: Trajectory) -> list[bool]:
    return [(seconds := _seconds(step)) is not None and seconds <= 0 for step in run.steps]


def _is_without_times(run: Trajectory) -> list[bool]:
    return [step.started_at is None or step.ended_at is None for step in run.steps]


def _extreme(pick: Callable[[list[float]], float]) -> Callable[[Trajectory], list[bool]]:
    def marks(run: Trajectory) -> list[bool]:
        known = [seconds for step in run.steps if (seconds := _seconds(step)) is not None]
        return (
            [seconds == pick(known) for seconds in known] if len(known) == len(run.steps) else [False] * len(run.steps)
        )

    return marks


def _is_without_usage(run: Trajectory) -> list[bool]:
    return [step.usage is None or not (step.usage.input_tokens or step.usage.output_tokens) for step in run.steps]


def _is_of_another_model(run: Trajectory) -> list[bool]:
    return _odd_ones([[step.model or ""] for step in run.steps])


def _has_another_span_id(run: Trajectory) -> list[bool]:
    return _odd_ones([[_shape(step.span_id)] for step in run.steps])


def _repeats_a_span_id(run: Trajectory) -> list[bool]:
    counts = Counter(step.span_id for step in run.steps if step.span_id)
    return [counts[step.span_id or ""] > 1 for step in run.steps]


def _has_another_call_id(run: Trajectory) -> list[bool]:
    return _odd_ones([[_shape(call.call_id) for call in step.tool_calls] for step in run.steps])


def _has_attempts(run: Trajectory) -> list[bool]:
    return [step.attempts > 1 or any(call.attempts > 1 for call in step.tool_calls) for step in run.steps]


def _longest_pause(run: Trajectory) -> list[bool]:
    pauses = [
        (step.started_at - before.ended_at).total_seconds()
        for before, step in itertools.pairwise(run.steps)
        if step.started_at is not None and before.ended_at is not None
    ]
    if len(pauses) + 1 < len(run.steps):
        return [False] * len(run.steps)
    return [False, *(pause == max(pauses) for pause in pauses)]


def _change_of_pace(run: Trajectory) -> list[bool]:
    """The step from which on the steps take longer or shorter than all before it, as after a replayed beginning."""
    known = [seconds for step in run.steps if (seconds := _seconds(step)) is not None]
    if len(known) < len(run.steps) or len(known) < _FEWEST_FOR_PACE:
        return [False] * len(run.steps)
    pace = np.log(np.maximum(known, _LEAST_SECONDS))
    n = len(pace)
    jumps = [abs(pace[k:].mean() - pace[:k].mean()) * (k * (n - k) / n) ** 0.5 for k in range(1, n)]
    return [False, *(jump == max(jumps) for jump in jumps)]


def _first_change(run: Trajectory) -> list[bool]:
    """The first step whose marks are not those of the steps before it."""
    marks = [
        (step.model, step.usage is None, step.started_at is None, step.ended_at is None, _shape(step.span_id))
        for step in run.steps
    ]
    changed = next((k for k, one in enumerate(marks) if one != marks[0]), None)
    return [k == changed for k in range(len(marks))]


def _odd_ones(values: Sequence[Sequence[str]]) -> list[bool]:
    """Which entries have a value that is not the run's most frequent one; none when no value is in the majority."""
    counts = Counter(value for one in values for value in one)
    usual = next((value for value, count in counts.items() if count * 2 > counts.total()), None)
    return [usual is not None and any(value != usual for value in one) for one in values]


def _shape(text: str | None) -> str:
    """An id with its letters and digits made alike; hexadecimal ids keep their length."""
    if text is None:
        return "missing"
    return f"hex{len(text)}" if _HEX.fullmatch(text) else _SIGNS.sub("a", text)


_RULES = (
    _Rule("zero duration", "steps that took no time", _is_without_duration),
    _Rule("missing times", "steps without a beginning or an end", _is_without_times),
    _Rule("shortest step", "the step that took least time", _extreme(min)),
    _Rule("longest step", "the step that took most time", _extreme(max)),
    _Rule("longest pause", "the step that began longest after the one before it", _longest_pause),
    _Rule("change of pace", "the step from which on steps take longer, or shorter", _change_of_pace),
    _Rule("first change", "the first step with another model, kind of span id, or other missing fields", _first_change),
    _Rule("missing usage", "steps without tokens", _is_without_usage),
    _Rule("model name", "steps of another model than most of the run", _is_of_another_model),
    _Rule("span id", "steps with another kind of span id than most of the run", _has_another_span_id),
    _Rule("repeated span id", "steps that share a span id", _repeats_a_span_id),
    _Rule("tool call id", "steps with another kind of call id than most of the run", _has_another_call_id),
    _Rule("attempts", "steps that took several attempts", _has_attempts),
)
