"""Data sets as cases."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast, get_args

from tracer_hooks.datasets import LoadedRecord, load
from tracer_hooks.errors import ConfigError, TrajectoryError
from tracer_hooks.evaluation._architecture import architecture_of
from tracer_hooks.evaluation._cases import Case, EvaluationData, Problem, SecondLabel, make_case
from tracer_hooks.evaluation._second_labels import is_label_file
from tracer_hooks.schema import RunOutcome

Dataset = Literal["whowhen", "aegis", "agentrx", "trail", "trajectory", "graded"]
DATASETS: tuple[str, ...] = get_args(Dataset)
"""Names that ``dataset`` may have."""

_PLACE = re.compile(r"(?::\d+|#\d+)+$")
# the others come in any shape; in a Who&When folder, that tells a file beside the logs from a damaged log
_FORMATS = {"aegis": "aegis", "agentrx": "agentrx", "trail": "trail"}


@dataclass(slots=True, kw_only=True)
class _FoundRecords:
    cases: list[Case] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_data(
    dataset: str, path: str | Path, *, limit: int | None = None, seed: int = 0, labels: Sequence[SecondLabel] = ()
) -> EvaluationData:
    """The runs of a data set, with the reason in place of those that cannot be used.

    Args:
        dataset: ``whowhen``, ``aegis``, ``agentrx``, ``trail``; ``trajectory`` for labelled trajectories of one's own
            in any format that :func:`tracer_hooks.datasets.load` knows; ``graded`` for runs that are only known to
            have passed or failed.
        path: A file or a folder. Each sub-folder is a group of its own; for Aegis, each architecture is.
        limit: Take only so many runs, drawn at random with ``seed``.
        seed: Of that draw.
        labels: What another team of labellers says of the same runs, for ``whowhen``.

    Raises:
        ConfigError: ``dataset`` is not known, or ``labels`` do not go with it.
        TrajectoryError: There is no run that could be evaluated.
    """
    if dataset not in DATASETS:
        raise ConfigError(f"dataset is {dataset!r}, expected one of {', '.join(DATASETS)}")
    if labels and dataset != "whowhen":
        raise ConfigError(f"second labels belong to Who&When logs, not to the data set {dataset!r}")
    root = Path(path)
    found = _FoundRecords()
    for record in load(root, format=cast("Literal['auto']", _FORMATS.get(dataset, "auto"))):
        _take(record, root, dataset, found, labels)
    cases = _drawn(found.cases, limit, seed)
    if not cases:
        why = f"; the first: {found.problems[0].reason}" if found.problems else ""
        raise TrajectoryError(
            f"{str(root)!r} holds no run that can be evaluated as {dataset!r}, "
            f"{len(found.problems)} records were set apart{why}"
        )
    return EvaluationData(
        dataset=dataset,
        source=str(path),
        cases=cases,
        problems=tuple(found.problems),
        notes=(*found.notes, *_notes(dataset, cases, len(found.cases), labels)),
    )


def _take(record: LoadedRecord, root: Path, dataset: str, found: _FoundRecords, labels: Sequence[SecondLabel]) -> None:
    if record.trajectory is None or record.error is not None:
        file = Path(_PLACE.sub("", record.source))
        if dataset == "whowhen" and is_label_file(file):
            if not labels:
                found.notes.append(f"{file.name!r} holds labels and no runs; --labels reads it as a second opinion")
        else:
            found.problems.append(Problem(source=record.source, reason=str(record.error or "no trajectory")))
        return
    reason = _why_useless(record, dataset)
    if reason is not None:
        found.problems.append(Problem(source=record.source, reason=reason))
        return
    group = architecture_of(record.trajectory) if dataset == "aegis" else _group(record.source, root)
    found.cases.append(make_case(record, group, dataset, _second(record, labels)))


def _why_useless(record: LoadedRecord, dataset: str) -> str | None:
    trajectory = record.trajectory
    assert trajectory is not None, "asked of records with a trajectory"
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


def _second(record: LoadedRecord, labels: Sequence[SecondLabel]) -> SecondLabel | None:
    name = Path(_PLACE.sub("", record.source)).name
    question = record.question_id
    for label in labels:
        if label.file == name and (label.question is None or label.question == question):
            return label
    return None


def _drawn(cases: Sequence[Case], limit: int | None, seed: int) -> tuple[Case, ...]:
    if limit is None or limit >= len(cases):
        return tuple(cases)
    chosen = sorted(random.Random(seed).sample(range(len(cases)), limit))
    return tuple(cases[position] for position in chosen)


def _notes(dataset: str, cases: Sequence[Case], before: int, labels: Sequence[SecondLabel]) -> Iterator[str]:
    if len(cases) < before:
        yield f"{len(cases)} of {before} runs, drawn at random"
    outside = [case for case in cases if case.gold_agent is not None and case.gold_step is None]
    if outside:
        yield f"{len(outside)} labelled steps lie outside their run and count as missed: {outside[0].source}"
    if dataset == "trail":
        yield "TRAIL names no root cause: the decisive step is the earliest error of the highest impact"
    if labels:
        matched = len({id(case.second) for case in cases if case.second is not None})
        yield f"{matched} of {len(labels)} second labels belong to a run of this data"
