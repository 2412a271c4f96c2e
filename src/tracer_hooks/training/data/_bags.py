"""Labelled trajectories as bags of steps, with their passing counterparts."""

from __future__ import annotations

from collections.abc import Iterable

from tracer_hooks.datasets import LabeledSet
from tracer_hooks.schema import LabeledTrajectory
from tracer_hooks.training.data._rows import ContrastiveBag, ContrastivePair, LabeledRow


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
