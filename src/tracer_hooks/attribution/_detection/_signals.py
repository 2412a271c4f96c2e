"""Every signal of a failed run, by name."""

from __future__ import annotations

from collections.abc import Callable

from tracer_hooks.attribution._detection import _ending, _work_signals
from tracer_hooks.attribution._detection._run_reading import Finding, RunReading
from tracer_hooks.attribution._features import FeatureTable, View
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
    "an error that was not overcome": _work_signals.error_not_overcome,
    "many errors": _work_signals.errors_reported,
    "empty-handed": _work_signals.empty_handed,
    "made-up data": _work_signals.made_up,
    "answers from memory": _work_signals.from_memory,
    "claims with nothing to show": _work_signals.bare_claims,
    "late apologies and refusals": _work_signals.apologies,
    "hedges at the end": _work_signals.hedged_end,
    "the last answers differ": _work_signals.answers_differ,
    "answers change": _work_signals.answer_changes,
    "an objection left open": _work_signals.objection_open,
    "objections": _work_signals.objections,
    "no progress, says who leads": _work_signals.no_progress,
    "ends in a loop": _work_signals.loops,
    "no reply at all": _work_signals.silent,
    "leaves something out": _work_signals.shortcuts,
    "rules: errors and tools": _work_signals.rule_error,
    "rules: sums and contradictions": _work_signals.rule_value,
    "rules: corrections not taken up": _work_signals.rule_ignored,
    "rules: transfers": _work_signals.rule_handoff,
}
"""Each is evidence of a failure in any team, whatever its domain, so that none may count against one."""


def findings_of(
    trajectory: Trajectory, table: FeatureTable | None = None, view: View | None = None
) -> dict[str, Finding]:
    """What every signal finds in a run with at least one step."""
    run = RunReading(trajectory, table, view)
    return {name: read(run) for name, read in SIGNALS.items()}
