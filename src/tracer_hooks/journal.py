"""Journal of a job, a line for every unit of work that is done; and files written whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tracer_hooks._files import make_folder, opener, write_files
from tracer_hooks.errors import DatasetError

NAME = "journal.jsonl"
LOCK = ".lock"
AGAIN = "again"
"""Key of a result that says why its unit is to be done again in a later session."""


class Journal:
    """Append-only results of units, by unit id.

    Each line is written and flushed to the disk as a whole before the unit counts as done. A line that a crash cut off
    is removed when the journal is opened again, and its unit is done anew: nothing is lost, nothing doubled. So is a
    unit whose result says, under :data:`AGAIN`, that it was broken off.

    Raises:
        DatasetError: The journal cannot be read or written, or a line in its middle is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._lock = threading.Lock()
        self._done: dict[str, dict[str, Any]] = {}
        try:
            make_folder(folder)
            self._load()
        except OSError as error:
            raise self._unusable(error) from error

    def __contains__(self, unit: str) -> bool:
        return unit in self._done

    def __getitem__(self, unit: str) -> dict[str, Any]:
        return self._done[unit]

    def __len__(self) -> int:
        return len(self._done)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from building in the same folder meanwhile, where the system can."""
        try:
            import fcntl
        except ImportError:  # not on this system
            yield
            return
        place = self.path.with_name(LOCK)
        try:
            file = open(place, "ab", opener=opener)  # noqa: SIM115 - closed below, behind its own errors
        except OSError as error:
            raise self._unusable(error) from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise DatasetError(
                    f"another process is building in {str(place.parent)!r}; wait for it, or take another folder"
                ) from error
            yield

    def add(self, unit: str, result: dict[str, Any]) -> None:
        """Note that ``unit`` is done."""
        line = json.dumps({"unit": unit, **result}, ensure_ascii=False, separators=(",", ":")) + "\n"
        with self._lock:
            if unit in self._done:
                return
            try:
                self._append(line.encode("utf-8", "surrogatepass"))
            except OSError as error:
                raise self._unusable(error) from error
            self._done[unit] = {"unit": unit, **result}

    def results(self, prefix: str) -> Iterator[dict[str, Any]]:
        """The results of the units whose id begins with ``prefix``, in the order in which they were done."""
        with self._lock:
            found = [result for unit, result in self._done.items() if unit.startswith(prefix)]
        yield from found

    def _append(self, line: bytes) -> None:
        size = self.path.stat().st_size if self.path.exists() else 0
        try:
            with open(self.path, "ab", opener=opener) as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            with contextlib.suppress(OSError):  # half a line would stand in the way of the next one
                os.truncate(self.path, size)
            raise

    def _load(self) -> None:
        if not self.path.exists():
            return
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.truncate(self.path, len(whole))
        for number, line in enumerate(whole.split(b"\n")[:-1], start=1):
            try:
                result = json.loads(line.decode("utf-8", "surrogatepass"))
                unit = str(result["unit"])
            except (ValueError, KeyError, TypeError) as error:
                raise DatasetError(
                    f"line {number} of {str(self.path)!r} is damaged ({error}); expected one JSON object with 'unit'. "
                    "Remove the line, and its unit is done again"
                ) from error
            if AGAIN not in result:
                self._done[unit] = result

    def _unusable(self, error: OSError) -> DatasetError:
        return DatasetError(
            f"cannot write {str(self.path)!r}: {error.strerror or error}. Everything that was done so far is kept: "
            "make room, and give the same command again"
        )


def write_atomically(files: Mapping[Path, bytes]) -> None:
    """Write every file, or leave every old one as it was.

    All are written beside their places first and renamed only when the last one is on the disk. Folders are made.

    Raises:
        DatasetError: A file cannot be written, for example since the disk is full.
    """
    try:
        write_files(files)
    except OSError as error:
        raise DatasetError(
            f"cannot write {str(error.filename)!r}: {error.strerror or error}. The old files are as they were; "
            "make room or choose another folder, and run the command again"
        ) from error
