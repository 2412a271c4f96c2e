"""Parts of the work: some of a file's runs, or some of a run store's; and the result of one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from tracer_hooks.batch._diagnosed import Diagnosed, DiagnoseSettings, diagnosed
from tracer_hooks.config import StorePlace
from tracer_hooks.datasets import FilePart, LoadedRecord
from tracer_hooks.errors import StoreError, TrajectoryError
from tracer_hooks.schema import RunOutcome
from tracer_hooks.store import RunStore

_RUNS = 200
"""Runs of a store or backend in one part."""
_PAGE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StorePart:
    """Some runs of a run store, whose diagnoses are kept there."""

    store: StorePlace
    """The store."""
    run_ids: tuple[str, ...]
    """Their ids."""

    @property
    def name(self) -> str:
        """The part in words."""
        return f"{self.run_ids[0]}:{len(self.run_ids)}"

    def load(self) -> Iterator[LoadedRecord]:
        """The runs; one that is gone or damaged says so."""
        with RunStore(self.store, read_only=True, stays_open=True) as kept:
            for run_id in self.run_ids:
                try:
                    run = kept.get(run_id, with_tape=False)
                except (StoreError, TrajectoryError) as error:
                    yield LoadedRecord(source=run_id, error=TrajectoryError(str(error)))
                    continue
                yield LoadedRecord(source=run_id, trajectory=run.judged_trajectory)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsPart:
    """Some runs that have been read, as out of a backend."""

    records: tuple[LoadedRecord, ...]
    """The runs."""

    @property
    def name(self) -> str:
        """The part in words."""
        return " ".join(record.source for record in self.records)

    def load(self) -> Iterator[LoadedRecord]:
        """The runs."""
        return iter(self.records)


Part = FilePart | StorePart | RecordsPart
"""What is read and diagnosed in one go."""


def record_parts(records: Iterable[LoadedRecord]) -> Iterator[RecordsPart]:
    """Runs that are being read, in parts."""
    left = iter(records)
    while some := tuple(islice(left, _RUNS)):
        yield RecordsPart(records=some)


def store_parts(
    store: str | StorePlace,
    *,
    team: str | None = None,
    since: datetime | None = None,
    tags: Mapping[str, str] | None = None,
    limit: int | None = None,
    with_successes: bool = False,
) -> Iterator[StorePart]:
    """The runs of a run store that have no diagnosis, in parts, the newest first.

    Args:
        store: The store, as ``RunStore`` takes it.
        team: Only runs of this team.
        since: Only runs that began at or after this moment.
        tags: Only runs with all of these tags.
        limit: How many of the newest runs are looked at; None for all.
        with_successes: Also runs that succeeded.

    Raises:
        StoreError: The store cannot be read.
    """
    with RunStore(store, read_only=True, stays_open=True) as kept:
        offset, waiting = 0, list[str]()
        while (most := min(_PAGE, _PAGE if limit is None else limit - offset)) > 0:
            page = kept.list(limit=most, offset=offset, team=team, since=since, tags=tags, with_replays=False)
            if not page:
                break
            offset += len(page)
            wanted = [run for run in page if with_successes or run.outcome is not RunOutcome.SUCCEEDED]
            waiting += [run.run_id for run in wanted if run.confidence is None]
            while len(waiting) >= _RUNS:
                yield StorePart(store=kept.place, run_ids=tuple(waiting[:_RUNS]))
                del waiting[:_RUNS]
    if waiting:
        yield StorePart(store=kept.place, run_ids=tuple(waiting))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartResult:
    """What came of one part; small and of plain values, so that it can be sent."""

    number: int
    """The part's place among all."""
    lines: tuple[str, ...]
    """A JSON document for each run, as ``tracer-hooks diagnose --json`` has it."""
    kept: tuple[tuple[str, str], ...]
    """Diagnoses that are kept or written elsewhere, too: source of the run, and the attribution as JSON."""
    named: int
    """Runs with a step to blame."""
    failed: int
    """Runs that could not be diagnosed."""


def do_part(number: int, part: Part, settings: DiagnoseSettings) -> PartResult:
    """Read a part, and diagnose its runs."""
    lines: list[str] = []
    kept: list[tuple[str, str]] = []
    named = failed = 0
    for result in diagnosed(list(part.load()), settings):
        lines.append(json.dumps(result.to_dict(), separators=(",", ":")))
        failed += result.attribution is None
        if result.attribution is not None:
            named += result.attribution.certainty in ("clear", "likely")
            if not isinstance(part, FilePart):
                kept.append((result.source, result.attribution.model_dump_json()))
    return PartResult(number=number, lines=tuple(lines), kept=tuple(kept), named=named, failed=failed)


def given_up(number: int, part: Part, reason: str) -> PartResult:
    """The result of a part that cannot be done: one line that says so, whatever the part holds."""
    line = json.dumps(Diagnosed(source=part.name, error=reason).to_dict(), separators=(",", ":"))
    return PartResult(number=number, lines=(line,), kept=(), named=0, failed=1)
