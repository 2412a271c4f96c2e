"""Rows to train on, to validate on and to test on: no question and no team on two sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracer_hooks.datasets import LabeledSet, near_duplicates
from tracer_hooks.errors import DatasetError, TrainingError
from tracer_hooks.training.data._labelled import LabeledRows, text_of
from tracer_hooks.training.data._rows import LabeledRow


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitOptions:
    """How rows are dealt out."""

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
