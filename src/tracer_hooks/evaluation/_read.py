"""Data sets as cases."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, cast, get_args

from tracer_hooks.datasets import LoadedRecord, load
from tracer_hooks.errors import ConfigError, TrajectoryError
from tracer_hooks.evaluation._cases import Case, EvaluationData, make_case
from tracer_hooks.evaluation._report import Problem
from tracer_hooks.schema import RunOutcome

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
            f"{len(problems)} records were set apart{why}"
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
