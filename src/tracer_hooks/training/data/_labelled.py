"""Labelled trajectories from files, each label checked against its own log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tracer_hooks.datasets import LoadedRecord, load
from tracer_hooks.errors import TrainingError
from tracer_hooks.schema import ErrorMode, LabeledTrajectory, RunOutcome, Trajectory
from tracer_hooks.training._examples import find_agent, team_of
from tracer_hooks.training.data._rows import Gold, LabeledRow

BadRows = Literal["refuse", "skip"]
"""What to do with a row that cannot be used: stop and name it, or leave it out and count it."""


@dataclass(frozen=True, slots=True)
class LabeledRows:
    """What some files hold."""

    rows: tuple[LabeledRow, ...] = ()
    """Failed runs whose label can be used."""
    clean: tuple[LabeledTrajectory, ...] = ()
    """Passing runs."""
    left_out: Counter[str] = field(default_factory=Counter)
    """How many rows, or labels of rows, were left out for each reason."""


class _BadRowError(Exception):
    """A row cannot be used; the first argument says why, the second in which of a few ways."""

    def __init__(self, why: str, kind: str) -> None:
        super().__init__(why)
        self.kind = kind


def read_labeled(paths: Iterable[Path], *, bad_rows: BadRows = "refuse") -> LabeledRows:
    """Every labelled trajectory of some files and folders.

    Args:
        paths: Files and folders, in any format that ``diagnose`` reads.
        bad_rows: Rows that cannot be read, have no label, or one that does not fit their log: ``"refuse"`` stops at
            the first one and names it, ``"skip"`` leaves them out and counts them.

    Raises:
        TrainingError: A path does not exist, a row cannot be used, or none can.
    """
    places = list(paths)
    rows: list[LabeledRow] = []
    clean: list[LabeledTrajectory] = []
    left_out: Counter[str] = Counter()
    for path in places:
        if not path.exists():
            raise TrainingError(f"{str(path)!r} does not exist: expected files or folders of labelled trajectories")
        for record in load(path):
            try:
                found = _checked(record, left_out, strict=bad_rows == "refuse")
            except _BadRowError as problem:
                if bad_rows == "refuse":
                    raise TrainingError(
                        f"{record.source}: {problem}. Correct the row, or leave such rows out with bad_rows = 'skip'"
                    ) from problem
                left_out[problem.kind] += 1
                continue
            (rows if isinstance(found, LabeledRow) else clean).append(found)  # type: ignore[arg-type]
    if not rows:
        raise TrainingError(
            f"there is no labelled trajectory with a fault in {', '.join(repr(str(path)) for path in places)}"
            f"{_counted(left_out)}. Run: tracer-hooks label PATH, or tracer-hooks dataset build --help"
        )
    return LabeledRows(tuple(rows), tuple(clean), left_out)


def gold_of(labeled: LabeledTrajectory, *, strict: bool = True) -> tuple[Gold | None, int]:
    """The label in the spelling of the log, and how many of its agents never act there.

    Labels of agents that never act are dropped unless ``strict``; None when nothing is left.

    Raises:
        TrainingError: A step is out of range, or an agent is not in the log.
    """
    try:
        return _gold(labeled, strict=strict)
    except _BadRowError as problem:
        raise TrainingError(str(problem)) from problem


def _checked(record: LoadedRecord, left_out: Counter[str], *, strict: bool) -> LabeledRow | LabeledTrajectory:
    if record.error is not None:
        raise _BadRowError(_reason(record), "cannot be read")
    labeled = record.labeled
    if labeled is None or (_is_unlabelled(labeled) and labeled.trajectory.outcome is not RunOutcome.SUCCEEDED):
        raise _BadRowError("the trajectory has no label", "no label")
    if _is_unlabelled(labeled):
        return labeled
    gold, silent = _gold(labeled, strict=strict)
    if gold is None:
        raise _BadRowError("no labelled agent acts in the log", "no labelled agent acts")
    if silent:
        left_out["label of an agent that never acts"] += silent
    return LabeledRow(source=record.source, labeled=labeled, gold=gold, team=team_of(labeled.trajectory))


def _reason(record: LoadedRecord) -> str:
    return str(record.error).removeprefix(f"{record.source}: ")


def _is_unlabelled(labeled: LabeledTrajectory) -> bool:
    return labeled.decisive is None and not labeled.faults


def _gold(labeled: LabeledTrajectory, *, strict: bool) -> tuple[Gold | None, int]:
    run, decisive = labeled.trajectory, labeled.decisive
    if not run.steps:
        raise _BadRowError("the trajectory has no step", "no step")
    acting = tuple(dict.fromkeys(step.agent for step in run.steps))
    pairs: dict[tuple[str, ErrorMode | None], None] = {}
    agent = None
    if decisive is not None:
        agent = _decisive_agent(labeled, acting)
        pairs[agent, decisive.error_mode] = None
    silent = 0
    for fault in labeled.faults:
        position = find_agent(fault.agent, acting)
        if position is None and strict:
            raise _BadRowError(_not_in_log(fault.agent, acting), "agent not in the log")
        silent += position is None
        if position is not None:
            pairs[acting[position], fault.error_mode] = None
    for named, mode in list(pairs):
        if mode is None and any(name == named and other is not None for name, other in pairs):
            del pairs[named, mode]  # another label of that agent says more
    if not pairs:
        return None, silent
    step, reason = (None, None) if decisive is None else (decisive.step, decisive.reason)
    return Gold(agent=agent or next(iter(pairs))[0], step=step, pairs=tuple(pairs), reason=reason), silent


def _decisive_agent(labeled: LabeledTrajectory, acting: Sequence[str]) -> str:
    run, decisive = labeled.trajectory, labeled.decisive
    assert decisive is not None
    if decisive.step >= len(run.steps):
        raise _BadRowError(
            f"the label's step {decisive.step} is out of range: the run has the steps 0 to {len(run.steps) - 1}",
            "step out of range",
        )
    position = find_agent(decisive.agent, acting)
    if position is None:
        raise _BadRowError(_not_in_log(decisive.agent, acting), "agent not in the log")
    return acting[position]


def _not_in_log(agent: str, acting: Sequence[str]) -> str:
    return f"the labelled agent {agent!r} is not in the log, whose agents are {', '.join(map(repr, acting))}"


def _counted(left_out: Counter[str]) -> str:
    told = ", ".join(f"{count} x {reason}" for reason, count in sorted(left_out.items()))
    return f" ({told})" if told else ""


def text_of(run: Trajectory) -> str:
    """Task and words of a run, for comparing runs with each other."""
    said = (step.content for step in run.steps)
    called = (f"{call.name} {call.result or ''}" for step in run.steps for call in step.tool_calls)
    return "\n".join([run.task, *said, *called])
