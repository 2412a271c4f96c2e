"""A batch: each part is done once, whatever breaks off meanwhile, and the results come together in one file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tracer_hooks._files import make_folder, opener, remove_folder, write_files
from tracer_hooks._lazy import require
from tracer_hooks._version import __version__
from tracer_hooks.batch._diagnosed import DiagnoseSettings
from tracer_hooks.batch._parts import Part, PartResult, RecordsPart, StorePart, do_part
from tracer_hooks.datasets import FilePart
from tracer_hooks.errors import ConfigError, DatasetError
from tracer_hooks.journal import Journal
from tracer_hooks.schema import Attribution
from tracer_hooks.store import RunStore
from tracer_hooks.telemetry import ContentPolicy, redacted_attribution

_PLAN = "plan"
_COLUMNS = ("source", "run_id", "outcome", "agent", "certainty", "error_mode", "headline", "team", "trace_id", "error")
Numbered = tuple[int, Part]
"""A part with its place among all."""
Engine = Callable[[Sequence[Numbered], DiagnoseSettings], Iterator[PartResult]]
"""Does parts, and hands out each result as soon as it is there, in any order."""


def in_process(parts: Sequence[Numbered], settings: DiagnoseSettings) -> Iterator[PartResult]:
    """Do one part after the other, here."""
    for number, part in parts:
        yield do_part(number, part, settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCounts:
    """How far a batch is."""

    parts: int = 0
    """Parts that are done."""
    runs: int = 0
    """Their runs."""
    named: int = 0
    """Of these, how many have a step to blame."""
    failed: int = 0
    """Of these, how many could not be diagnosed."""

    def with_part(self, runs: int, named: int, failed: int) -> BatchCounts:
        """The same with one part more."""
        return BatchCounts(
            parts=self.parts + 1, runs=self.runs + runs, named=self.named + named, failed=self.failed + failed
        )


class BatchJob:
    """Many runs that are diagnosed in parts.

    The results of each part are on the disk, in a folder beside ``out``, before it counts as done; a batch that was
    broken off does what is left. At the end they are put together, in the order of the runs, and the folder goes.

    Args:
        parts: What is diagnosed.
        settings: How.
        out: Where the results go, ``.jsonl`` or ``.parquet``. None where no part is of a file: a run store keeps the
            diagnoses, and thereby tells what is left.

    Attributes:
        parts: What is diagnosed.
        answers: Diagnoses of runs that had been read before, by the source of the run.

    Raises:
        ConfigError: ``out`` is missing or has another ending, or was begun with other runs or settings.
        MissingExtraError: Results are to be Parquet, and ``tracer-hooks[parquet]`` is not installed.
        DatasetError: The folder cannot be used.
    """

    def __init__(self, parts: Iterable[Part], settings: DiagnoseSettings, *, out: Path | None) -> None:
        self.parts, self._settings, self._out = tuple(parts), settings, out
        self.answers: dict[str, Attribution] = {}
        if out is None:
            if any(isinstance(part, FilePart) for part in self.parts):
                raise ConfigError("results of files need a file to go to, expected --out results.jsonl")
            return
        if out.suffix == ".parquet":
            require("pyarrow.parquet", extra="parquet", feature="writing Parquet")
        elif out.suffix not in (".jsonl", ".ndjson"):
            raise ConfigError(f"--out is {str(out)!r}, expected a name that ends with .jsonl or .parquet")
        self._folder = out.with_name(f"{out.name}.parts")
        self._journal = Journal(self._folder)

    def run(self, engine: Engine, on_part: Callable[[BatchCounts], object] = lambda counts: None) -> BatchCounts:
        """Do what is left to do, and write the results.

        Args:
            engine: Does the parts.
            on_part: Called after every part with how far all is; first with what was done before.

        Raises:
            DatasetError: Another process is at work on the same results, or they cannot be written.
            StoreError: The run store does not take a diagnosis.
        """
        counts = BatchCounts()
        with ExitStack() as stack:
            left = list(enumerate(self.parts))
            if self._out is not None:
                stack.enter_context(self._journal.held())
                self._agree()
                for done in self._journal.results(""):
                    counts = counts.with_part(done["runs"], done["named"], done["failed"])
                left = [(number, part) for number, part in left if str(number) not in self._journal]
            on_part(counts)
            for result in engine(left, self._settings) if left else ():
                self._keep(result)
                counts = counts.with_part(len(result.lines), result.named, result.failed)
                on_part(counts)
            if self._out is not None:
                self._put_together(self._out)
        if self._out is not None:
            remove_folder(self._folder)
        return counts

    def _agree(self) -> None:
        """Note what the folder is about, or compare it with what was noted."""
        told = [__version__, repr(self._settings), *(_mark(part) for part in self.parts)]
        mark = hashlib.sha256("\n".join(told).encode("utf-8", "surrogatepass")).hexdigest()
        place = self._folder / _PLAN
        try:
            if not place.exists():
                write_files({place: mark.encode()})
            is_same = place.read_text(encoding="utf-8") == mark
        except (OSError, UnicodeDecodeError) as error:
            raise DatasetError(f"cannot use {str(place)!r}: {error}") from error
        if not is_same:
            raise ConfigError(
                f"{str(self._folder)!r} holds results of other runs, options or versions. Give another --out, or "
                f"run: rm -r {str(self._folder)!r}"
            )

    def _keep(self, result: PartResult) -> None:
        part = self.parts[result.number]
        answers = {source: Attribution.model_validate_json(answer) for source, answer in result.kept}
        if isinstance(part, StorePart) and answers:
            policy = ContentPolicy.of_record()
            with RunStore(part.store, stays_open=True) as kept:
                for run_id, answer in answers.items():
                    kept.set_attribution(run_id, redacted_attribution(answer, policy))
        if isinstance(part, RecordsPart):
            self.answers |= answers
        if self._out is None:
            return
        try:
            write_files({self._place(result.number): "".join(f"{line}\n" for line in result.lines).encode()})
        except OSError as error:
            raise _unwritable(self._folder, error) from error
        self._journal.add(
            str(result.number), {"runs": len(result.lines), "named": result.named, "failed": result.failed}
        )

    def _place(self, number: int) -> Path:
        return self._folder / f"part-{number:06d}.jsonl"

    def _lines(self) -> Iterator[bytes]:
        for number in range(len(self.parts)):
            with open(self._place(number), "rb") as file:
                yield from file

    def _put_together(self, out: Path) -> None:
        beside = out.with_name(f".{out.name}.tmp")
        try:
            make_folder(out.parent)
            beside.unlink(missing_ok=True)
            if out.suffix == ".parquet":
                _write_parquet(beside, self._lines())
            else:
                with open(beside, "xb", opener=opener) as file:
                    file.writelines(self._lines())
            beside.replace(out)
        except OSError as error:
            raise _unwritable(out, error) from error


def _mark(part: Part) -> str:
    """The part and what it would change with."""
    if not isinstance(part, FilePart):
        return part.name
    try:
        found = part.path.stat()
    except OSError:  # whoever reads it says why it cannot be read
        return part.name
    return f"{part.name}:{found.st_size}:{found.st_mtime_ns}"


def _write_parquet(path: Path, lines: Iterable[bytes]) -> None:
    """A row a run: what runs are chosen by, and the whole result as JSON in the column ``record``."""
    pa, pq = (
        require("pyarrow", extra="parquet", feature="writing Parquet"),
        require("pyarrow.parquet", extra="parquet", feature="writing Parquet"),
    )
    texts = [(name, pa.string()) for name in (*_COLUMNS, "record")]
    schema = pa.schema([*texts, ("step", pa.int64()), ("confidence", pa.float64())])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        rows: list[dict[str, object]] = []
        for line in lines:
            told = json.loads(line)
            rows.append({**{name: told.get(name) for name in schema.names}, "record": line.decode().rstrip("\n")})
            if len(rows) == 1_000:
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))
                rows.clear()
        writer.write_table(pa.Table.from_pylist(rows, schema=schema))


def _unwritable(place: Path, error: OSError) -> DatasetError:
    return DatasetError(
        f"cannot write {str(place)!r}: {error.strerror or error}. What was done is kept: make room, and give the same "
        "command again"
    )
