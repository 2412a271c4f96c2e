"""Runs to evaluate on: how they are read, what is known of each, and how names of agents are compared."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from tracer_hooks._text import counted
from tracer_hooks.datasets import LoadedRecord, load
from tracer_hooks.errors import ConfigError, TrajectoryError
from tracer_hooks.evaluation._report import Problem
from tracer_hooks.schema import AgentFault, DecisiveStep, ErrorMode, LabeledTrajectory, RunOutcome, Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run with what is known of it."""

    source: str
    """The file it comes from; with ``:line`` or ``#position`` behind it when the file holds several."""
    group: str
    """The subset it belongs to."""
    question: str
    """Runs of one question stay together in folds and in resampling."""
    trajectory: Trajectory
    """What happened, without the expected answer: what an attributor is given."""
    reference: str | None = None
    """The expected answer."""
    labeled: LabeledTrajectory | None = None
    """The label, with the same trajectory; None for a run that is only graded."""
    gold_agent: str | None = None
    """The labelled agent in the label's spelling; None when no decisive step is labelled."""
    gold_step: int | None = None
    """The decisive step; None when none is labelled or the labelled one lies outside the run."""
    gold_mode: ErrorMode | None = None
    """The error mode of the decisive step."""
    faults: tuple[AgentFault, ...] | None = None
    """Faulty agents and modes; None when this data set labels none."""
    faulty_steps: frozenset[int] = frozenset()
    """Every step that the label calls faulty, for data sets that label more than the decisive one."""

    @property
    def outcome(self) -> RunOutcome:
        """Return how the run ended."""
        return self.trajectory.outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationData:
    """Runs to evaluate on."""

    dataset: str
    """``whowhen``, ``aegis``, ``agentrx``, ``trail``, ``trajectory`` or ``graded``."""
    source: str = ""
    """The path that the runs were read from."""
    cases: tuple[Case, ...] = ()
    """The runs."""
    problems: tuple[Problem, ...] = ()
    """Records that could not be used."""
    notes: tuple[str, ...] = ()
    """What a reader of the figures should know about the data."""

    @classmethod
    def of(cls, labeled: Iterable[LabeledTrajectory], *, group: str = "runs") -> EvaluationData:
        """Labelled trajectories that are at hand, as data of the kind ``trajectory``."""
        records = (
            LoadedRecord(source=label.trajectory.run_id, trajectory=label.trajectory, labeled=label)
            for label in labeled
        )
        return cls(dataset="trajectory", cases=tuple(make_case(record, group, "trajectory") for record in records))


def make_case(record: LoadedRecord, group: str, dataset: str) -> Case:
    """A case from a record that was read; the expected answer is taken out of its trajectory."""
    found = record.trajectory
    assert found is not None, "a record without a trajectory is a problem, not a case"
    trajectory = found if found.reference is None else found.model_copy(update={"reference": None})
    label = record.labeled
    decisive = _decisive(label, dataset)
    is_inside = decisive is not None and decisive.step < len(trajectory.steps)
    return Case(
        source=record.source,
        group=group,
        question=_question(record),
        trajectory=trajectory,
        reference=found.reference,
        labeled=None if label is None else label.model_copy(update={"trajectory": trajectory}),
        gold_agent=_agent(label, decisive, dataset),
        gold_step=decisive.step if decisive is not None and is_inside else None,
        gold_mode=None if decisive is None else decisive.error_mode,
        faults=_faults(label, dataset),
        faulty_steps=_faulty_steps(label),
    )


def _question(record: LoadedRecord) -> str:
    label, trajectory = record.labeled, record.trajectory
    named = record.question_id or (label.question_id if label is not None else None)
    if named:
        return named
    return (trajectory.task or trajectory.run_id) if trajectory is not None else record.source


def _decisive(label: LabeledTrajectory | None, dataset: str) -> DecisiveStep | None:
    """The step that answers are judged by; a weak label is a suspicion, and judges nobody."""
    return None if label is None or label.is_weak or dataset in ("aegis", "graded") else label.decisive


def _agent(label: LabeledTrajectory | None, decisive: DecisiveStep | None, dataset: str) -> str | None:
    if decisive is not None:
        return decisive.agent
    # a Who&When label whose step lies outside the log: its agent still counts, its step cannot be hit
    if label is not None and dataset == "whowhen" and label.faults:
        return label.faults[0].agent
    return None


def _faults(label: LabeledTrajectory | None, dataset: str) -> tuple[AgentFault, ...] | None:
    if label is None or dataset in ("whowhen", "graded"):
        return None
    return label.faults if dataset == "aegis" or label.faults else None


def _faulty_steps(label: LabeledTrajectory | None) -> frozenset[int]:
    found = None if label is None else label.verification.get("faulty_steps")
    return frozenset(step for step in found if isinstance(step, int)) if isinstance(found, list) else frozenset()


def without_reference(labeled: LabeledTrajectory) -> LabeledTrajectory:
    """The same label and run without the expected answer, as runs will be judged later on."""
    trajectory = labeled.trajectory.model_copy(update={"reference": None})
    return labeled.model_copy(update={"trajectory": trajectory})


_NOTE = re.compile(r"\s*\((?:->[^()]*|thought|termination condition)\)\s*$", re.IGNORECASE)
_PEOPLE = frozenset({"human", "user", "userproxy", "system"})
_TERMINALS = ("terminal", "executor")


@functools.lru_cache(maxsize=1 << 16)
def fold_name(name: str) -> str:
    """A name without case, spaces and punctuation: ``"Web Surfer"``, ``"web_surfer"`` and ``"WebSurfer"`` are one.

    Notes that Magentic-One writes behind a name, ``(thought)`` or ``(-> WebSurfer)``, are dropped first. A name that
    has neither letters nor digits keeps its signs.
    """
    bare = _NOTE.sub("", name)
    return "".join(char for char in bare.casefold() if char.isalnum()) or bare.strip().casefold()


def resolve_name(label: str, speakers: Collection[str]) -> str:
    """The folded name of a labelled agent, as the run has it.

    Aegis puts a running number behind some labels (``"psychologist4"`` for the speaker ``"Psychologist"``). It is
    dropped when the label as it stands names no speaker and the rest of it does.
    """
    folded = fold_name(label)
    if folded in speakers:
        return folded
    bare = folded.rstrip("0123456789")
    return bare if bare in speakers else folded


def is_person(name: str) -> bool:
    """Tell whether a speaker is the user or the frame around the team, which no data set blames."""
    return fold_name(name) in _PEOPLE


def is_terminal(name: str) -> bool:
    """Tell whether a speaker only runs code."""
    folded = fold_name(name)
    return any(word in folded for word in _TERMINALS)


def speakers_of(trajectory: Trajectory) -> tuple[str, ...]:
    """Folded names of the agents that act, in order of their first step; people are left out."""
    return tuple(dict.fromkeys(fold_name(step.agent) for step in trajectory.steps if not is_person(step.agent)))


Dataset = Literal["whowhen", "aegis", "agentrx", "trail", "trajectory", "graded"]
DATASETS: tuple[str, ...] = get_args(Dataset)
"""Names that ``dataset`` may have."""

_PLACE = re.compile(r"(?::\d+|#\d+)+$")
# the others come in any shape
_FORMATS = {"aegis": "aegis", "agentrx": "agentrx", "trail": "trail"}


def read_data(dataset: str, path: str | Path, *, limit: int | None = None, seed: int = 0) -> EvaluationData:
    """The runs of a data set, with the reason in place of those that cannot be used.

    Args:
        dataset: ``whowhen``, ``aegis``, ``agentrx``, ``trail``; ``trajectory`` for labelled trajectories of one's own
            in any format that :func:`tracer_hooks.datasets.load` knows; ``graded`` for runs that are only known to
            have passed or failed.
        path: A file or a folder. Each sub-folder is a group of its own.
        limit: Take only so many runs, drawn at random with ``seed``.
        seed: Of that draw.

    Raises:
        ConfigError: ``dataset`` is not known.
        TrajectoryError: There is no run that could be evaluated.
    """
    if dataset not in DATASETS:
        raise ConfigError(f"dataset is {dataset!r}, expected one of {', '.join(DATASETS)}")
    root = Path(path)
    usable: list[Case] = []
    problems: list[Problem] = []
    for record in load(root, format=cast("Literal['auto']", _FORMATS.get(dataset, "auto"))):
        reason = _why_useless(record, dataset)
        if reason is None:
            usable.append(make_case(record, _group(record.source, root), dataset))
        else:
            problems.append(Problem(source=record.source, reason=reason))
    cases = _drawn(usable, limit, seed)
    if not cases:
        why = f"; the first: {problems[0].reason}" if problems else ""
        raise TrajectoryError(
            f"{str(root)!r} holds no run that can be evaluated as {dataset!r}, "
            f"{counted(len(problems), 'record')} set apart{why}"
        )
    return EvaluationData(
        dataset=dataset,
        source=str(path),
        cases=cases,
        problems=tuple(problems),
        notes=tuple(_notes(dataset, cases, len(usable))),
    )


def _why_useless(record: LoadedRecord, dataset: str) -> str | None:
    trajectory = record.trajectory
    if trajectory is None or record.error is not None:
        return str(record.error or "no trajectory")
    is_graded = trajectory.outcome is not RunOutcome.UNKNOWN
    if dataset == "graded":
        return None if is_graded else "the run has no verdict: expected 'is_correct' or an outcome"
    if record.labeled is None and not (dataset == "trajectory" and is_graded):
        return "the run has no label: expected a decisive step or faulty agents"
    return None


def _group(source: str, root: Path) -> str:
    file = Path(_PLACE.sub("", source))
    if not root.is_dir():
        return root.name.partition(".")[0] or root.name
    folder = file.parent.relative_to(root) if file.is_relative_to(root) else Path()
    return folder.as_posix() if folder.parts else root.resolve().name


def _drawn(cases: Sequence[Case], limit: int | None, seed: int) -> tuple[Case, ...]:
    if limit is None or limit >= len(cases):
        return tuple(cases)
    chosen = sorted(random.Random(seed).sample(range(len(cases)), limit))
    return tuple(cases[position] for position in chosen)


def _notes(dataset: str, cases: Sequence[Case], before: int) -> Iterator[str]:
    if len(cases) < before:
        yield f"{len(cases)} of {before} runs, drawn at random"
    outside = [case for case in cases if case.gold_agent is not None and case.gold_step is None]
    if outside:
        yield f"{len(outside)} labelled steps lie outside their run and count as missed: {outside[0].source}"
    if dataset == "trail":
        yield "TRAIL names no root cause: the decisive step is the earliest error of the highest impact"
