"""Marks that give an experiment away: words and names in the text; times, usage, models and ids without any."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tracer_hooks.extension import step_text
from tracer_hooks.schema import Step, Trajectory
from tracer_hooks_lab.datasets._audit_readers import Answers, AuditQuestion, Bools, RunReader, accuracy_check
from tracer_hooks_lab.datasets._audit_records import AuditedRun, AuditFinding, AuditOptions, Check, LeakWord

_FEW_RUNS = 5
_TIMES = 10
_SHORT = 8
_IN_THE_OPEN = {"clean_run_id", "architecture", "suite"}
_FEWEST, _LEAST_SHARE = 3, 0.05


def forbidden_words(cases: Sequence[AuditedRun], words: Sequence[str]) -> list[AuditFinding]:
    """Runs in which a forbidden word stands: in texts, instructions, names or ids.

    It fails when the same part of the passing run beside it does not hold the word, nor does the task; else the word
    belongs to what the team works on, and is a note.
    """
    patterns = {word: _pattern(word) for word in words}
    found: dict[tuple[str, str, bool], list[str]] = defaultdict(list)
    for case in cases:
        parts = _parts(case.run)
        beside = _parts(case.partner) if case.partner is not None else {}
        for word, pattern in patterns.items():
            is_of_the_task = bool(pattern.search(case.run.task))
            for part, text in parts.items():
                if pattern.search(text):
                    is_natural = is_of_the_task or bool(pattern.search(beside.get(part, "")))
                    found[word, part, is_natural].append(case.run.run_id)
    return [_forbidden(*key, runs, len(cases)) for key, runs in sorted(found.items())]


def marker_words(words: Sequence[LeakWord], pairs: int, options: AuditOptions) -> list[AuditFinding]:
    """One finding on all words that a large share of the faulty steps hold and almost no clean one does."""
    least = max(_FEW_RUNS, options.marker_share * pairs)
    found = [one for one in words if one.faulty >= least and one.faulty >= _TIMES * one.clean]
    if not found:
        return []
    first, names = found[0], ", ".join(repr(one.words) for one in found)
    message = f"{first.words!r} stands in {first.faulty} of {pairs} faulty steps and in {first.clean} of their clean "
    message += f"counterparts; such words: {names}"
    return [AuditFinding(kind="leak word", severity="fail", name=first.words, message=message)]


def verification_in_runs(cases: Sequence[AuditedRun]) -> list[AuditFinding]:
    """Fault ids and texts of ``verification`` that stand in the run and not in the passing run beside it.

    A fault id fails at once; other texts, which may be ordinary words, when they stand in three runs and one in twenty.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for case in cases:
        text = _everything(case.run)
        beside = _everything(case.partner) if case.partner is not None else ""
        for key, value in _secrets(case):
            if value.casefold() in text and value.casefold() not in beside:
                found[key].append(case.run.run_id)
    return [_verification(key, runs, len(cases)) for key, runs in sorted(found.items())]


def _secrets(case: AuditedRun) -> Iterator[tuple[str, str]]:
    if case.labeled.fault_id:
        yield "fault_id", case.labeled.fault_id
    for key, value in case.labeled.verification.items():
        if key not in _IN_THE_OPEN and isinstance(value, str) and len(value) >= _SHORT:
            yield f"verification[{key!r}]", value


def _verification(key: str, runs: Sequence[str], total: int) -> AuditFinding:
    is_failure = key == "fault_id" or (len(runs) >= _FEWEST and len(runs) >= _LEAST_SHARE * total)
    return AuditFinding(
        kind="verification",
        severity="fail" if is_failure else "note",
        name=key,
        message=f"the value of {key} stands in {len(runs)} of {total} runs and not in the passing runs beside them",
        runs=tuple(runs[:_FEW_RUNS]),
    )


def _forbidden(word: str, part: str, is_natural: bool, runs: Sequence[str], total: int) -> AuditFinding:
    where = "also in the task or the passing run" if is_natural else "not in the passing run"
    return AuditFinding(
        kind="forbidden word",
        severity="note" if is_natural else "fail",
        name=word,
        message=f"{word!r} stands in the {part} of {len(runs)} of {total} runs, {where}",
        runs=tuple(runs[:_FEW_RUNS]),
    )


def _pattern(word: str) -> re.Pattern[str]:
    """``fault`` finds "faulty", "run_fault_3" and "runFault", and not "default"."""
    plain, capital = re.escape(word), re.escape(word.capitalize())
    return re.compile(rf"(?<![A-Za-z])(?i:{plain})|(?<=[a-z]){capital}")


def _parts(run: Trajectory) -> dict[str, str]:
    calls = [call for step in run.steps for call in step.tool_calls]
    ids = [run.run_id, run.trace_id, *(step.span_id for step in run.steps), *(call.call_id for call in calls)]
    names = [run.team, run.framework, *run.agent_names, *(step.model for step in run.steps)]
    inputs = [seen.text for step in run.steps for seen in step.inputs]
    parts: dict[str, list[str | None]] = {
        "ids": ids,
        "names": names,
        "instructions": [spec.instructions for spec in run.agents],
        "steps": [step_text(step) for step in run.steps],
        "inputs": inputs,
        "outcome": [run.final_output, run.outcome_reason],
    }
    return {part: "\n".join(text for text in texts if text) for part, texts in parts.items()}


def _everything(run: Trajectory) -> str:
    return "\n".join([run.task, *_parts(run).values()]).casefold()


_FEWEST_MARKS = 5
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
    cases: Sequence[AuditedRun], judge: RunReader, *, source: str, margin: float, is_binding: bool
) -> list[Check]:
    """For each rule, how often the steps that stand out are the decisive ones, over the runs where some do.

    A rule that marks steps in fewer than five runs gives no check. Its prior is also what it gives on the passing runs
    beside them, where the same place may stand out for its own reasons.
    """
    found = []
    for rule in _RULES:
        marked = [(case, marks) for case in cases if (marks := _marks(rule, case.run)) is not None]
        if len(marked) < _FEWEST_MARKS:
            continue
        asked = AuditQuestion(name=rule.name, source=source, reads=rule.reads, margin=margin, is_binding=is_binding)
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


def _on_clean_runs(rule: _Rule, cases: Sequence[AuditedRun]) -> float | None:
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
    """Mark entries with a value that is not the run's most frequent one; none when no value is in the majority."""
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
