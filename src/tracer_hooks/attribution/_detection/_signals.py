"""Every signal of a failed run, by name."""

from __future__ import annotations

from collections.abc import Callable

from tracer_hooks.attribution._detection import _conduct, _ending
from tracer_hooks.attribution._detection._reading import Finding, RunReading
from tracer_hooks.attribution._features import FeatureTable
from tracer_hooks.schema import Trajectory

SIGNALS: dict[str, Callable[[RunReading], Finding]] = {
    "ends on code that nobody ran": _ending.code_not_run,
    "ends on a request that nobody answered": _ending.request_unanswered,
    "ends on the words of a machine": _ending.machine_last,
    "ends on an error": _ending.error_last,
    "ends on an announcement": _ending.announcement_last,
    "ends without an answer": _ending.no_answer,
    "ends with doubt in its answer": _ending.doubted_answer,
    "ends with work left to do": _ending.work_left,
    "ends off the task": _ending.off_the_task,
    "was stopped for its length": _ending.stopped_for_length,
    "an error that was not overcome": _conduct.error_not_overcome,
    "many errors": _conduct.errors_reported,
    "empty-handed": _conduct.empty_handed,
    "made-up data": _conduct.made_up,
    "answers from memory": _conduct.from_memory,
    "claims with nothing to show": _conduct.bare_claims,
    "late apologies and refusals": _conduct.apologies,
    "hedges at the end": _conduct.hedged_end,
    "the last answers differ": _conduct.answers_differ,
    "answers change": _conduct.answer_changes,
    "an objection left open": _conduct.objection_open,
    "objections": _conduct.objections,
    "no progress, says who leads": _conduct.no_progress,
    "ends in a loop": _conduct.loops,
    "no reply at all": _conduct.silent,
    "leaves something out": _conduct.shortcuts,
    "rules: errors and tools": _conduct.rule_error,
    "rules: sums and contradictions": _conduct.rule_value,
    "rules: corrections not taken up": _conduct.rule_ignored,
    "rules: transfers": _conduct.rule_handoff,
}
"""Each is evidence of a failure in any team, whatever its domain, so that none may count against one."""


def findings_of(trajectory: Trajectory, table: FeatureTable | None = None) -> dict[str, Finding]:
    """What every signal finds in a run with at least one step."""
    run = RunReading(trajectory, table)
    return {name: read(run) for name, read in SIGNALS.items()}
