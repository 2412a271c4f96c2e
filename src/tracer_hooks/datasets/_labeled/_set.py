"""A labelled set: what `tracer-hooks dataset build` leaves in a folder."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tracer_hooks._json_files import JsonPiece, json_pieces
from tracer_hooks._limits import brief
from tracer_hooks.datasets._boundary import why
from tracer_hooks.datasets._labeled._atomic import write_atomically
from tracer_hooks.datasets._labeled._balance import balanced
from tracer_hooks.datasets._labeled._parquet import read_parquet
from tracer_hooks.datasets._labeled._questions import dealt_out, is_clean, question_groups
from tracer_hooks.datasets._labeled._verification import text_of
from tracer_hooks.errors import DatasetError, TrajectoryError
from tracer_hooks.schema import LabeledTrajectory, from_dict, to_json

_T = TypeVar("_T")
_LABELED, _CLEAN, _DISCARDED = "labeled.jsonl", "clean.jsonl", "discarded.jsonl"


class Pair(NamedTuple):
    """A run that failed with the fault, and the run of the same team on the same task that passed without it."""

    faulty: LabeledTrajectory
    clean: LabeledTrajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class LabeledSet:
    """Labelled runs, the passing runs beside them, and the attempts that gave no label."""

    labeled: tuple[LabeledTrajectory, ...] = ()
    """Failed runs with their labels."""
    clean: tuple[LabeledTrajectory, ...] = ()
    """Passing runs; ``verification["clean_run_id"]`` of a labelled run names its own."""
    discarded: tuple[Mapping[str, Any], ...] = ()
    """One object for each attempt that gave no label, with its ``reason``."""
    path: Path | None = None
    """The folder or file it was read from."""

    @classmethod
    def load(cls, path: str | Path) -> LabeledSet:
        """Read a folder with ``labeled.jsonl``, ``clean.jsonl`` and ``discarded.jsonl``, or one JSONL or Parquet file.

        In a folder any of the three may be missing, not all. In one file, runs without a label are the clean ones.

        Raises:
            DatasetError: Nothing is there, or a line is not what the file should hold; the message names the line.
            MissingExtraError: The file is Parquet and ``tracer-hooks[parquet]`` is not installed.
        """
        place = Path(path)
        if not place.is_dir():
            items = read_parquet(place) if place.suffix == ".parquet" else list(_items(place))
            labeled = tuple(item for item in items if not is_clean(item))
            return cls(labeled=labeled, clean=tuple(item for item in items if is_clean(item)), path=place)
        if not any((place / name).is_file() for name in (_LABELED, _CLEAN, _DISCARDED)):
            raise DatasetError(
                f"{str(place)!r} is no labelled set: expected {_LABELED!r} in it. "
                "Run: tracer-hooks dataset build --help"
            )
        return cls(
            labeled=tuple(_items(place / _LABELED, expect_label=True)),
            clean=tuple(_items(place / _CLEAN, expect_label=False)),
            discarded=tuple(_objects(place / _DISCARDED)),
            path=place,
        )

    def balanced(self, seed: int = 0) -> LabeledSet:
        """This set with as many injected faults at each step of a kind of run as at its rarest step.

        Verified faults are mostly late ones; see the audit's findings on position. Labels of other sources all stay.
        """
        return replace(self, labeled=balanced(self.labeled, seed=seed))

    def save(self, folder: str | Path) -> None:
        """Write the three files to ``folder``, all of them or none.

        Raises:
            DatasetError: A file cannot be written; the old files are as they were.
        """
        place = Path(folder)
        write_atomically(
            {
                place / _LABELED: _lines(to_json(item) for item in self.labeled),
                place / _CLEAN: _lines(to_json(item) for item in self.clean),
                place / _DISCARDED: _lines(json.dumps(dict(one), ensure_ascii=False) for one in self.discarded),
            }
        )

    def pairs(self) -> tuple[Pair, ...]:
        """Each labelled run that has a passing run to it, with that run, in the order of ``labeled``."""
        clean = {item.trajectory.run_id: item for item in reversed(self.clean)}
        named = ((item, text_of(item.verification, "clean_run_id")) for item in self.labeled)
        return tuple(Pair(item, clean[name]) for item, name in named if name is not None and name in clean)

    def split(self, fractions: Mapping[str, float], seed: int = 0) -> dict[str, LabeledSet]:
        """The set in parts, every question on one side, with tasks of the same text and the two runs of a pair.

        Args:
            fractions: The share of each part in the labelled runs, for example ``{"train": 0.8, "test": 0.2}``. Since
                questions stay whole, parts come near their shares and not exactly to them.
            seed: Of the assignment; the same seed gives the same parts.

        Raises:
            DatasetError: The fractions do not sum to 1, or there are fewer questions than parts.
        """
        items = [*self.labeled, *self.clean]
        groups = question_groups(items)
        labeled, clean = groups[: len(self.labeled)], groups[len(self.labeled) :]
        weights = Counter({group: 0 for group in groups})
        weights.update(labeled)
        discarded = _groups_of_discarded(self.discarded, items, groups)
        weights.update({group: 0 for group in discarded})
        part_of = dealt_out(weights, fractions, seed)

        def of(part: str) -> LabeledSet:
            return LabeledSet(
                labeled=tuple(_taken(self.labeled, labeled, part_of, part)),
                clean=tuple(_taken(self.clean, clean, part_of, part)),
                discarded=tuple(_taken(self.discarded, discarded, part_of, part)),
            )

        return {part: of(part) for part in fractions}


def _groups_of_discarded(
    discarded: Iterable[Mapping[str, Any]], items: Sequence[LabeledTrajectory], groups: Sequence[str]
) -> list[str]:
    known = {item.question_id: group for item, group in zip(items, groups, strict=True) if item.question_id}
    names = (text_of(one, "question_id") for one in discarded)
    return [known.get(name or "", f"question {name}") for name in names]


def _taken(items: Iterable[_T], groups: Iterable[str], part_of: Mapping[str, str], part: str) -> Iterator[_T]:
    return (item for item, group in zip(items, groups, strict=True) if part_of[group] == part)


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _items(path: Path, *, expect_label: bool | None = None) -> Iterator[LabeledTrajectory]:
    for piece in _pieces(path, may_be_missing=expect_label is not None):
        try:
            item = from_dict(piece.value, LabeledTrajectory)
        except Exception as error:
            raise DatasetError(f"{str(path)!r}, line {piece.line}: {brief(why(error))}") from error
        if expect_label is not None and is_clean(item) == expect_label:
            wanted = "a decisive step or faulty agents" if expect_label else "no decisive step and no faulty agents"
            raise DatasetError(f"{str(path)!r}, line {piece.line}: run {item.trajectory.run_id!r} must have {wanted}")
        yield item


def _objects(path: Path) -> Iterator[Mapping[str, Any]]:
    for piece in _pieces(path, may_be_missing=True):
        if not isinstance(piece.value, dict):
            kind = type(piece.value).__name__
            raise DatasetError(f"{str(path)!r}, line {piece.line}: expected a JSON object, got {kind}")
        yield piece.value


def _pieces(path: Path, *, may_be_missing: bool) -> Iterator[JsonPiece]:
    if may_be_missing and not path.exists():
        return
    try:
        for piece in json_pieces(path):
            if piece.error is not None:
                raise DatasetError(f"{str(path)!r}, line {piece.line}: {brief(piece.error)}")
            yield piece
    except TrajectoryError as error:
        raise DatasetError(str(error)) from error
