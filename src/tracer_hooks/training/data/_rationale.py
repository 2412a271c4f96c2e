"""The reply that a judge should give to a question about the whole run: reason, step, mode and quotations."""

from __future__ import annotations

import json
from typing import Any

from tracer_hooks.attribution.teaching import evidence_quote
from tracer_hooks.schema import ErrorMode, Evidence
from tracer_hooks.training.data._candidates import Candidates
from tracer_hooks.training.data._rows import LabeledRow

_SURE = 0.9
"""Stated probability of a label that is proven; a weak one is stated with as much less."""
_OTHER = 0.5
_MOST_EVIDENCE = 2
_MOST_QUOTE = 160


def verdict_reply(row: LabeledRow, step: int, candidates: Candidates) -> str:
    """One JSON object with the fields that the prompt asks for, in its order.

    The reason is the labeller's where there is one, else what the error mode means; the quotations are those of
    ``structural`` where they stand in the labelled step, else the step's first words. Every quotation stands in the run
    word for word.
    """
    run = row.trajectory
    agent = run.steps[step].agent
    modes = [mode for name, mode in row.gold.pairs if name == agent] or [None]
    evidence = _evidence(row, step, candidates)
    # One object for each pair: a second mode of the same agent is a fault of its own.
    others = [(name, mode) for name, mode in row.gold.pairs if (name, mode) != (agent, modes[0])]
    return json.dumps(
        {
            "reason": _reason(row, step, agent, modes[0], evidence),
            "verdict": "fault",
            "agent": agent,
            "step": step,
            "error_mode": None if modes[0] is None else modes[0].value,
            "probability": round(_SURE * row.labeled.weight, 2),
            "evidence": [{"step": one.step, "quote": one.quote, "why": one.why} for one in evidence],
            "other_faults": [_other(name, mode) for name, mode in others],
            "alternatives": [],
        },
        ensure_ascii=False,
    )


def _reason(row: LabeledRow, step: int, agent: str, mode: ErrorMode | None, evidence: list[Evidence]) -> str:
    if row.gold.reason:
        return row.gold.reason
    said = f"In step {step} {agent} left the right course"
    if mode is not None:
        said += f" ({mode.title}): {mode.definition}"
    found = next((one.why for one in evidence if one.why), "")
    return f"{said.rstrip('.')}. {found}".strip()


def _evidence(row: LabeledRow, step: int, candidates: Candidates) -> list[Evidence]:
    steps = row.trajectory.steps
    told = candidates.scores.evidence if candidates.scores is not None else ()
    found = []
    for one in told:
        quote = evidence_quote(steps[one.step], one.quote) if one.step == step and one.quote else None
        if quote:
            found.append(Evidence(step=step, quote=_short(quote), why=one.why))
    first = evidence_quote(steps[step], "")
    if not found and first:
        found.append(Evidence(step=step, quote=_short(first), why=""))
    return found[:_MOST_EVIDENCE]


def _short(quote: str) -> str:
    return quote if len(quote) <= _MOST_QUOTE else quote[:_MOST_QUOTE].rsplit(None, 1)[0]


def _other(agent: str, mode: ErrorMode | None) -> dict[str, Any]:
    return {"agent": agent, "error_mode": None if mode is None else mode.value, "probability": _OTHER}
