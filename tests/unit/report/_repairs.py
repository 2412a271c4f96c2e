"""Trials to report on."""

from __future__ import annotations

from typing import Any

from tracer_hooks.repair import PastTrial, Repair, RepairLog, RepairTarget
from tracer_hooks.report import ReportAttempt
from tracer_hooks.schema import AgentSpec, RunOutcome, Usage

from ._pages import Element, failed_run, page_of

TOLD = "The last answer was not right: it names no umbrella."


def trial(
    attempt: int | None, target: RepairTarget = RepairTarget.NOTHING, *, passed: bool = False, **fields: Any
) -> PastTrial:
    """A trial of 100 tokens and two seconds; fields of the repair and of the trial by name."""
    of_trial = {name: fields.pop(name) for name in ("score", "note", "left_record") if name in fields}
    fields.setdefault("text", "" if target is RepairTarget.NOTHING else TOLD)
    if target not in (RepairTarget.NOTHING, RepairTarget.TASK):
        fields.setdefault("agent", "writer")
    repair = Repair(strategy=fields.pop("strategy", "x"), target=target, **fields)
    return PastTrial(
        repair=repair,
        outcome=RunOutcome.SUCCEEDED if passed else RunOutcome.FAILED,
        usage=Usage(input_tokens=90, output_tokens=10) + repair.usage,
        seconds=2.0,
        attempt=attempt,
        **of_trial,
    )


def log_of(*trials: PastTrial, **fields: Any) -> RepairLog:
    """A log of these trials."""
    return RepairLog(trials=trials, **{"stopped": "2 of 2 retries used", **fields})


def pages_of(log: RepairLog, attempts: int = 3) -> Element:
    """The page of a call with this log."""
    told = (AgentSpec(name="writer", instructions="Write.\nBe short."),)
    runs = [failed_run(run_id=f"run-{n}", agents=told) for n in range(1, attempts + 1)]
    return page_of(*(ReportAttempt(number=n, trajectory=run) for n, run in enumerate(runs, start=1)), repair=log)
