"""Words and names that give the experiment away wherever they stand in a run."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from tracer_hooks.datasets._audit._cases import Case
from tracer_hooks.datasets._audit._options import AuditOptions
from tracer_hooks.datasets._audit._records import Finding, LeakWord
from tracer_hooks.datasets._labeled import step_text
from tracer_hooks.schema import Trajectory

_FEW_RUNS = 5
_TIMES = 10
_SHORT = 8
_IN_THE_OPEN = {"clean_run_id", "architecture", "suite"}
_FEWEST, _LEAST_SHARE = 3, 0.05


def forbidden_words(cases: Sequence[Case], words: Sequence[str]) -> list[Finding]:
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


def marker_words(words: Sequence[LeakWord], pairs: int, options: AuditOptions) -> list[Finding]:
    """One finding on all words that a large share of the faulty steps hold and almost no clean one does."""
    least = max(_FEW_RUNS, options.marker_share * pairs)
    found = [one for one in words if one.faulty >= least and one.faulty >= _TIMES * one.clean]
    if not found:
        return []
    first, names = found[0], ", ".join(repr(one.words) for one in found)
    message = f"{first.words!r} stands in {first.faulty} of {pairs} faulty steps and in {first.clean} of their clean "
    message += f"counterparts; such words: {names}"
    return [Finding(kind="leak word", severity="fail", name=first.words, message=message)]


def verification_in_runs(cases: Sequence[Case]) -> list[Finding]:
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


def _secrets(case: Case) -> Iterator[tuple[str, str]]:
    if case.labeled.fault_id:
        yield "fault_id", case.labeled.fault_id
    for key, value in case.labeled.verification.items():
        if key not in _IN_THE_OPEN and isinstance(value, str) and len(value) >= _SHORT:
            yield f"verification[{key!r}]", value


def _verification(key: str, runs: Sequence[str], total: int) -> Finding:
    is_failure = key == "fault_id" or (len(runs) >= _FEWEST and len(runs) >= _LEAST_SHARE * total)
    return Finding(
        kind="verification",
        severity="fail" if is_failure else "note",
        name=key,
        message=f"the value of {key} stands in {len(runs)} of {total} runs and not in the passing runs beside them",
        runs=tuple(runs[:_FEW_RUNS]),
    )


def _forbidden(word: str, part: str, is_natural: bool, runs: Sequence[str], total: int) -> Finding:
    where = "also in the task or the passing run" if is_natural else "not in the passing run"
    return Finding(
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
