"""Rows that models are trained on: their types, reading from labelled files, splits by question and team, bags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tracer_hooks.datasets import LabeledSet, LoadedRecord, load, near_duplicates
from tracer_hooks.errors import DatasetError, TrainingError
from tracer_hooks.schema import ErrorMode, LabeledTrajectory, RunOutcome, Trajectory
from tracer_hooks_models.teaching import ChatMessage
from tracer_hooks_models.training._examples import find_agent, team_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """Known fault of a run, in the spelling of its log."""

    agent: str
    """The agent to blame: the one that made the decisive error, or the first of those at fault."""
    step: int | None = None
    """The decisive error step; None when the label names agents only."""
    pairs: tuple[tuple[str, ErrorMode | None], ...] = ()
    """Every agent at fault with its error mode, each pair once; a mode is None where the label says nothing of it."""
    reason: str | None = None
    """The labeller's explanation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabeledRow:
    """A labelled trajectory with what the label means in terms of its log."""

    source: str
    """File and line, for messages."""
    labeled: LabeledTrajectory
    """The record."""
    gold: Gold
    """Its label."""
    team: str
    """What is left out together: the team's name, or for Aegis the kind of team."""

    @property
    def trajectory(self) -> Trajectory:
        """Trajectory of the run."""
        return self.labeled.trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class SFTRow:
    """A question to the judge and the reply that it should give."""

    source: str
    """File and line of the labelled trajectory."""
    messages: tuple[ChatMessage, ...]
    """The prompt, word for word as the attributor ``judge`` writes it."""
    completion: str
    """The reply: one JSON object."""
    options: tuple[int | None, ...] = ()
    """Of a choice, the step that each label stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRow:
    """A question to the judge and the label that its replies are rewarded by."""

    source: str
    """File and line of the labelled trajectory."""
    messages: tuple[ChatMessage, ...]
    """The prompt, word for word as the attributor ``judge`` writes it."""
    gold: Gold
    """The label."""
    trajectory: Trajectory
    """The run, which replies are checked against."""
    options: tuple[int | None, ...] = ()
    """Of a choice, the step that each label stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastiveBag:
    """A run as a bag of steps, one or several of which show the fault."""

    source: str
    """File and line of the labelled trajectory."""
    labeled: LabeledTrajectory
    """The record; agents and steps are labelled in the terms of its own roster."""
    question: str
    """Groups the runs of one question."""
    team: str
    """The kind of team."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastivePair:
    """A bag and the passing run of the same team on the same task, which is free of the fault."""

    bag: ContrastiveBag
    """The failed run."""
    clean: Trajectory
    """The passing run."""


BadRows = Literal["refuse", "skip"]
"""What to do with a row that cannot be used: stop and name it, or leave it out and count it."""


@dataclass(frozen=True, slots=True)
class LabeledRows:
    """Contents of some files of labelled trajectories."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitOptions:
    """Options by which rows are dealt out."""

    valid_share: float = 0.1
    """Share of the rows that training stops by; 0 for none."""
    leave_out_teams: tuple[str, ...] = ()
    """Teams that are not trained on and are reported on."""
    similarity: float = 0.8
    """Runs that share so many of their word triples with one of another side are not trained on."""
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """Rows, dealt out."""

    train: tuple[LabeledRow, ...]
    valid: tuple[LabeledRow, ...]
    """Of other questions."""
    left_out: tuple[LabeledRow, ...]
    """Of the teams that are left out."""
    near_duplicates: int
    """Runs that were taken out of the training part since another side has nearly the same."""


def split_rows(found: LabeledRows, options: SplitOptions) -> Splits:
    """Deal out rows: whole teams first, then whole questions; runs of a pair and tasks of one text stay together.

    Raises:
        TrainingError: A team that is to be left out is not there, nothing is left to train on, or there are too few
            questions for two sides.
    """
    teams = sorted({row.team for row in found.rows})
    for team in options.leave_out_teams:
        if team not in teams:
            raise TrainingError(f"leave_out_teams names {team!r}, expected one of {', '.join(map(repr, teams))}")
    left_out = tuple(row for row in found.rows if row.team in options.leave_out_teams)
    rest = tuple(row for row in found.rows if row.team not in options.leave_out_teams)
    train, valid = _by_question(rest, found, options)
    kept = _without_copies(train, (*valid, *left_out), options.similarity)
    if not kept:
        raise TrainingError("no labelled trajectory is left to train on: leave out fewer teams, or give more data")
    return Splits(train=kept, valid=valid, left_out=left_out, near_duplicates=len(train) - len(kept))


def _by_question(
    rows: Sequence[LabeledRow], found: LabeledRows, options: SplitOptions
) -> tuple[tuple[LabeledRow, ...], tuple[LabeledRow, ...]]:
    if not options.valid_share or not rows:
        return tuple(rows), ()
    labeled = LabeledSet(labeled=tuple(row.labeled for row in rows), clean=found.clean)
    shares = {"train": 1 - options.valid_share, "valid": options.valid_share}
    try:
        parts = labeled.split(shares, seed=options.seed)
    except DatasetError as error:
        raise TrainingError(f"{error}. Give more questions, or set valid_share = 0") from error
    held = {id(one) for one in parts["valid"].labeled}
    return (
        tuple(row for row in rows if id(row.labeled) not in held),
        tuple(row for row in rows if id(row.labeled) in held),
    )


def _without_copies(
    train: Sequence[LabeledRow], others: Sequence[LabeledRow], similarity: float
) -> tuple[LabeledRow, ...]:
    texts = [text_of(row.trajectory) for row in (*train, *others)]
    copies: set[int] = set()
    for group in near_duplicates(texts, similarity=similarity) if others else ():
        if any(place >= len(train) for place in group):
            copies.update(group)
    return tuple(row for place, row in enumerate(train) if place not in copies)


def bags_of(rows: Iterable[LabeledRow]) -> tuple[ContrastiveBag, ...]:
    """One bag for each labelled trajectory."""
    return tuple(
        ContrastiveBag(
            source=row.source,
            labeled=row.labeled,
            question=row.labeled.question_id or row.trajectory.task,
            team=row.team,
        )
        for row in rows
    )


def pairs_of(bags: Iterable[ContrastiveBag], clean: Iterable[LabeledTrajectory]) -> tuple[ContrastivePair, ...]:
    """The bags that have a passing run to them, named by the labelled record, with that run."""
    known = tuple(bags)
    of_record = {id(bag.labeled): bag for bag in known}
    found = LabeledSet(labeled=tuple(bag.labeled for bag in known), clean=tuple(clean)).pairs()
    return tuple(ContrastivePair(bag=of_record[id(pair.faulty)], clean=pair.clean.trajectory) for pair in found)
