"""Labelled sets on disk, JSONL and Parquet: faulty runs, passing runs beside them, what was discarded."""

from __future__ import annotations

import io
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tracer_hooks._lazy import require
from tracer_hooks._reading import JsonPiece, brief, json_pieces, max_file_bytes, refuse_special, too_large
from tracer_hooks.datasets._record import why
from tracer_hooks.errors import DatasetError, TrajectoryError
from tracer_hooks.journal import write_atomically
from tracer_hooks.schema import LabeledTrajectory, LabelSource, Step, ToolCall, from_dict, from_json, to_json

Shape = tuple[str, str, int]
"""Framework, team, and number of steps: runs whose steps stand at the same places."""


def balanced(items: Iterable[LabeledTrajectory], *, seed: int = 0) -> tuple[LabeledTrajectory, ...]:
    """``items`` with as many injected faults at each step of a kind of run as at its rarest one.

    Faults late in a run make it fail more often, since nobody is left to mend them. Of those that are verified most
    are therefore late, however evenly they were tried, and a model learns the place instead of the fault. A kind of run
    whose faults are all at one step is left out. Labels of other sources stay: where natural failures begin is a fact.
    """
    everything = list(items)
    by_place: dict[Shape, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    kept: set[int] = set()
    for position, item in enumerate(everything):
        if item.label_source is LabelSource.INJECTED and item.decisive is not None:
            run = item.trajectory
            by_place[run.framework, run.team, len(run.steps)][item.decisive.step].append(position)
        else:
            kept.add(position)
    rng = random.Random(seed)
    for shape in sorted(by_place):
        places = by_place[shape]
        if len(places) > 1:
            fewest = min(map(len, places.values()))
            kept.update(one for step in sorted(places) for one in rng.sample(places[step], fewest))
    return tuple(item for position, item in enumerate(everything) if position in kept)


def step_text(step: Step) -> str:
    """Text of a step: its content, then every tool call with what came of it, then its error."""
    parts = [step.content, *(_call_text(call) for call in step.tool_calls)]
    if step.error:
        parts.append(f"error: {step.error}")
    return "\n".join(part for part in parts if part)


def _call_text(call: ToolCall) -> str:
    given = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)
    came = f"error: {call.error}" if call.error is not None else call.result or ""
    return f"{call.name}({'' if call.arguments is None else given}) -> {came}"


def number_of(values: Mapping[str, Any], key: str) -> float | None:
    """The number under ``key``; None when there is none."""
    value = values.get(key)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def count_of(values: Mapping[str, Any], key: str) -> int:
    """The whole number under ``key``; 0 when there is none."""
    return int(number_of(values, key) or 0)


def text_of(values: Mapping[str, Any], key: str) -> str | None:
    """The text under ``key``; None when there is none or it is empty."""
    value = values.get(key)
    return value if isinstance(value, str) and value else None


_RECORD = "record"
_INT64 = 2**63
_BATCH = 64
"""Rows that are unpacked at once."""
_TEXTS = (
    "run_id", "team", "framework", "task", "outcome", "final_output", "agent", "error_mode", "label_source",
    "question_id", "fault_id", "architecture", "suite", "strategy", "kind", "writer", "clean_run_id", _RECORD,
)  # fmt: skip
_NUMBERS = ("step", "n_steps", "seed", "input_tokens", "output_tokens")


def write_parquet(path: str | Path, items: Iterable[LabeledTrajectory]) -> None:
    """Write one row an item: flat columns, and the full record as JSON in the column ``record``.

    Raises:
        DatasetError: The file cannot be written; an old one is as it was.
        MissingExtraError: ``tracer-hooks[parquet]`` is not installed.
    """
    pa, pq = _pyarrow()
    fields = [(name, pa.string()) for name in _TEXTS] + [(name, pa.int64()) for name in _NUMBERS]
    fields.append(("agents", pa.list_(pa.string())))
    table = pa.Table.from_pylist([_row(item) for item in items], schema=pa.schema(fields))
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    write_atomically({Path(path): buffer.getvalue()})


def read_parquet(path: str | Path) -> list[LabeledTrajectory]:
    """The items that :func:`write_parquet` wrote, exactly as they were.

    Raises:
        DatasetError: The file cannot be read, has no column ``record``, or a row of it is no labelled trajectory.
        MissingExtraError: ``tracer-hooks[parquet]`` is not installed.
    """
    found = []
    for number, row in enumerate(parquet_rows(path), start=1):
        try:
            found.append(labeled_row(row))
        except TrajectoryError as error:
            raise DatasetError(f"{str(path)!r}, row {number}: {error}") from error
    return found


def parquet_groups(path: Path) -> list[int]:
    """How many rows each group of rows has."""
    pa, pq = _pyarrow()
    try:
        refuse_special(path)
        with pq.ParquetFile(path) as file:
            return [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DatasetError(f"cannot read {str(path)!r} as Parquet: {error}") from error


def parquet_rows(path: str | Path, *, group: int | None = None) -> Iterator[object]:
    """The column ``record``, row by row, so that a small file never unpacks to all of the memory; or of one group."""
    pa, pq = _pyarrow()
    left = max_file_bytes()
    try:
        refuse_special(path)
        with pq.ParquetFile(path) as file:
            if _RECORD not in file.schema_arrow.names:
                raise DatasetError(f"{str(path)!r} has no column {_RECORD!r}: it was not written by write_parquet")
            said, found = (file.metadata if group is None else file.metadata.row_group(group)).num_rows, 0
            groups = None if group is None else [group]
            for batch in file.iter_batches(batch_size=_BATCH, columns=[_RECORD], row_groups=groups):
                found += batch.num_rows
                for row in batch.column(0).to_pylist():
                    left -= len(row) if isinstance(row, (str, bytes)) else 0
                    if left < 0:
                        raise DatasetError(f"cannot read {str(path)!r}: {too_large('its column of records')}")
                    yield row
            if found != said:  # where the groups of rows are damaged, none of theirs is given, and nothing is said
                raise DatasetError(f"cannot read {str(path)!r} as Parquet: {found} of its {said} rows can be read")
    except (OSError, ValueError, pa.ArrowException) as error:  # a file that is damaged may say anything of itself
        raise DatasetError(f"cannot read {str(path)!r} as Parquet: {error}") from error


def labeled_row(row: object) -> LabeledTrajectory:
    """The labelled trajectory in a row."""
    return from_json(row if isinstance(row, str) else "null", LabeledTrajectory)


def _row(item: LabeledTrajectory) -> dict[str, Any]:
    run, decisive = item.trajectory, item.decisive
    keys = ("architecture", "suite", "strategy", "kind", "writer", "clean_run_id")
    mode = decisive.error_mode if decisive is not None else None
    return {
        "run_id": run.run_id,
        "team": run.team,
        "framework": run.framework,
        "task": run.task,
        "outcome": run.outcome.value,
        "final_output": run.final_output,
        "agent": decisive.agent if decisive is not None else None,
        "agents": list(dict.fromkeys(fault.agent for fault in item.faults)) or ([decisive.agent] if decisive else []),
        "step": decisive.step if decisive is not None else None,
        "error_mode": mode.value if mode is not None else None,
        "label_source": item.label_source.value,
        "question_id": item.question_id,
        "seed": item.seed if abs(item.seed or 0) < _INT64 else None,  # the record has it in full
        "fault_id": item.fault_id,
        "n_steps": len(run.steps),
        "input_tokens": run.usage.input_tokens,
        "output_tokens": run.usage.output_tokens,
        _RECORD: to_json(item),
        **{key: text_of(item.verification, key) for key in keys},
    }


def _pyarrow() -> tuple[Any, Any]:
    feature = "a data set in Parquet"
    return (
        require("pyarrow", extra="parquet", feature=feature),
        require("pyarrow.parquet", extra="parquet", feature=feature),
    )


_CLOSE = 1e-6


def is_clean(item: LabeledTrajectory) -> bool:
    """Tell whether an item has no fault: neither a decisive step nor a faulty agent."""
    return item.decisive is None and not item.faults


def question_groups(items: Sequence[LabeledTrajectory]) -> list[str]:
    """The group of each item. Items of one group are never to be separated.

    They have the same question, or the same task but for case and spacing, or are the two runs of a pair.
    """
    groups = _Groups()
    for item in items:
        names = _names_of(item)
        for name in names:
            groups.join(names[0], name)
    return [groups.of(_names_of(item)[0]) for item in items]


def dealt_out(weights: Mapping[str, int], fractions: Mapping[str, float], seed: int) -> dict[str, str]:
    """The part that each group goes to: heavy groups first, each to the part that lacks most."""
    if not fractions or not all(share > 0 for share in fractions.values()) or abs(sum(fractions.values()) - 1) > _CLOSE:
        raise DatasetError(f"fractions are {dict(fractions)!r}, expected positive shares that sum to 1")
    counting = {group: weight for group, weight in weights.items() if weight} or dict.fromkeys(weights, 1)
    if len(counting) < len(fractions):
        raise DatasetError(
            f"cannot split {len(counting)} questions into {len(fractions)} parts: a question is never torn apart"
        )
    order = sorted(weights)
    random.Random(seed).shuffle(order)
    order.sort(key=lambda group: -counting.get(group, 0))
    missing = {part: share * sum(counting.values()) for part, share in fractions.items()}
    empty = list(fractions)
    part_of: dict[str, str] = {}
    for position, group in enumerate(order):
        is_last_chance = bool(empty) and len(counting) - position <= len(empty)
        part = max(empty if is_last_chance else missing, key=lambda name: missing[name])
        part_of[group] = part
        missing[part] -= counting.get(group, 0)
        empty = [name for name in empty if name != part]
    return part_of


def _names_of(item: LabeledTrajectory) -> list[str]:
    task = " ".join(item.trajectory.task.casefold().split())
    pair = text_of(item.verification, "clean_run_id") if not is_clean(item) else item.trajectory.run_id
    names = [f"question {item.question_id}" if item.question_id else "", f"task {task}" if task else ""]
    return [name for name in [*names, f"pair {pair}" if pair else ""] if name] or [f"run {item.trajectory.run_id}"]


class _Groups:
    """Names that are joined stay joined; the first name in order stands for them all."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def of(self, name: str) -> str:
        root = name
        while self._above.setdefault(root, root) != root:
            root = self._above[root]
        while self._above[name] != root:
            self._above[name], name = root, self._above[name]
        return root

    def join(self, one: str, other: str) -> None:
        first, second = sorted((self.of(one), self.of(other)))
        self._above[second] = first


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
