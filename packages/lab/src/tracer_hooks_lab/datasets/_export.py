"""Labelled sets in the schemas of Who&When (arXiv 2505.00212) and Aegis (ICLR 2026)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args

from tracer_hooks.datasets import LabeledSet
from tracer_hooks.errors import ConfigError, DatasetError
from tracer_hooks.extension import is_clean, step_text
from tracer_hooks.journal import write_atomically
from tracer_hooks.schema import AgentFault, DecisiveStep, LabeledTrajectory, Record, RunOutcome


def aegis_obstacle(item: LabeledTrajectory) -> str | None:
    """Why Aegis cannot hold the run; None when it can."""
    if not item.trajectory.steps:
        return "no steps: Aegis needs a conversation"
    if not all(step.agent for step in item.trajectory.steps) or not all(fault.agent for fault in _faults(item)):
        return "an agent without a name: Aegis names the speaker of every turn"
    return None


def to_aegis(item: LabeledTrajectory) -> dict[str, Any]:
    """The run as one Aegis record; a passing run has no faulty agents, a mode that is not known is null.

    The turns count from 1, as Aegis' own do. Tool calls stand in the turn's text.
    """
    run = item.trajectory
    return {
        "id": run.run_id,
        "question": run.task,
        "trajectory": [
            {"step": step.index + 1, "agent_name": step.agent, "content": step_text(step)} for step in run.steps
        ],
        "faulty_agents": [
            {"agent_name": fault.agent, "error_type": fault.error_mode.value if fault.error_mode else None}
            for fault in _faults(item)
        ],
        "metadata": {"framework": run.team},
        "final_output": run.final_output,
        "ground_truth": {"correct_answer": run.reference},
    }


def _faults(item: LabeledTrajectory) -> tuple[AgentFault, ...]:
    if item.faults or item.decisive is None:
        return item.faults
    return (AgentFault(agent=item.decisive.agent, error_mode=item.decisive.error_mode),)


class NotExported(Record):
    """A run that the other schema cannot hold."""

    run_id: str
    """The run."""
    reason: str
    """Why it cannot."""


class ExportReport(Record):
    """Report of what was written."""

    format: str
    """``whowhen`` or ``aegis``."""
    path: str
    """The folder or file."""
    written: int
    """Runs that were written."""
    skipped: tuple[NotExported, ...] = ()
    """Runs that were not."""


_LEVEL = "-"


def whowhen_obstacle(item: LabeledTrajectory) -> str | None:
    """Why Who&When cannot hold the run; None when it can."""
    if is_clean(item):
        return "a passing run: Who&When holds failed runs only"
    if item.decisive is None:
        return "no decisive step: Who&When labels one agent and one step"
    if item.decisive.step >= len(item.trajectory.steps):
        return f"the decisive step {item.decisive.step} is outside the {len(item.trajectory.steps)} steps of the run"
    if not item.decisive.agent or not all(step.agent for step in item.trajectory.steps):
        return "an agent without a name: Who&When names the speaker of every message"
    return None


def to_whowhen(item: LabeledTrajectory) -> dict[str, Any]:
    """The run as one Who&When record; ``id`` keeps the run's own name beside Who&When's fields.

    A message is the step's text with its tool calls, since Who&When has no place of their own for those.

    Raises:
        DatasetError: The run has no decisive step; see :func:`whowhen_obstacle`.
    """
    run, decisive = item.trajectory, item.decisive
    if decisive is None:
        raise DatasetError(f"run {run.run_id!r}: {whowhen_obstacle(item)}")
    return {
        "id": run.run_id,
        "is_correct": run.outcome is RunOutcome.SUCCEEDED,
        "question": run.task,
        "question_ID": item.question_id or run.run_id,
        "level": _LEVEL,
        "ground_truth": run.reference,
        "history": [{"content": step_text(step), "role": "assistant", "name": step.agent} for step in run.steps],
        "mistake_agent": decisive.agent,
        "mistake_step": str(decisive.step),
        "mistake_reason": _reason(decisive),
        "system_prompt": {spec.name: spec.instructions or "" for spec in run.agents},
    }


def _reason(decisive: DecisiveStep) -> str:
    if decisive.reason is not None or decisive.error_mode is None:
        return decisive.reason or ""
    mode = decisive.error_mode
    return f"{mode.value} {mode.title}: {mode.definition}"


ExportFormat = Literal["whowhen", "aegis"]
EXPORT_FORMATS: tuple[str, ...] = get_args(ExportFormat)
"""Names that ``format`` of :func:`export` may have."""
_OBSTACLES: dict[str, Callable[[LabeledTrajectory], str | None]] = {
    "whowhen": whowhen_obstacle,
    "aegis": aegis_obstacle,
}


def export(dataset: LabeledSet, path: str | Path, format: ExportFormat = "whowhen") -> ExportReport:
    """Write ``dataset`` in another benchmark's schema; :func:`load` reads both back.

    Args:
        dataset: The labelled runs and the passing ones.
        path: For ``whowhen`` a folder, which gets ``1.json``, ``2.json`` and so on, in the order of the set; it must
            hold no JSON files yet. For ``aegis`` a file of JSON lines.
        format: The schema.

    Returns:
        What was written, and each run that was not, with the reason.

    Raises:
        ConfigError: ``format`` is not one of :data:`EXPORT_FORMATS`.
        DatasetError: Nothing is left to write, the folder holds other files, or a file cannot be written.
    """
    if format not in EXPORT_FORMATS:
        raise ConfigError(f"format is {format!r}, expected one of {', '.join(EXPORT_FORMATS)}")
    place, items = Path(path), [*dataset.labeled, *dataset.clean]
    reasons = [_OBSTACLES[format](item) for item in items]
    kept = [item for item, reason in zip(items, reasons, strict=True) if reason is None]
    skipped = tuple(
        NotExported(run_id=item.trajectory.run_id, reason=reason)
        for item, reason in zip(items, reasons, strict=True)
        if reason is not None
    )
    if not kept:
        why = f"; the first: {skipped[0].run_id!r}: {skipped[0].reason}" if skipped else ""
        raise DatasetError(f"no run of {str(dataset.path or 'the data set')!r} can be written as {format!r}{why}")
    write_atomically(_whowhen_files(place, kept) if format == "whowhen" else _aegis_file(place, kept))
    return ExportReport(format=format, path=str(place), written=len(kept), skipped=skipped)


def _whowhen_files(folder: Path, items: list[LabeledTrajectory]) -> dict[Path, bytes]:
    if folder.is_dir() and any(folder.glob("*.json")):
        raise DatasetError(f"{str(folder)!r} holds JSON files already: expected a new or empty folder")
    return {folder / f"{number}.json": _json(to_whowhen(item), 4) for number, item in enumerate(items, start=1)}


def _aegis_file(file: Path, items: list[LabeledTrajectory]) -> dict[Path, bytes]:
    if file.is_dir():
        raise DatasetError(f"{str(file)!r} is a folder: expected the name of a .jsonl file")
    return {file: b"".join(_json(to_aegis(item), None) for item in items)}


def _json(value: dict[str, Any], indent: int | None) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=indent) + "\n").encode()
