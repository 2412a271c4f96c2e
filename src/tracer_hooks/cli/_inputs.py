"""What the commands read: files, folders, and runs of the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from tracer_hooks.config import store_path
from tracer_hooks.datasets import LoadedRecord, load
from tracer_hooks.errors import StoreError, TrajectoryError

FileFormat = Literal["auto", "trajectory", "whowhen", "aegis", "agentrx", "trail", "otlp"]


def records_of(target: str, *, file_format: FileFormat = "auto", store: Path | None = None) -> Iterator[LoadedRecord]:
    """The runs that ``target`` names: those of a file or folder; where there is none of this name, a stored run.

    Args:
        target: A path, a run's id, or the beginning of one. A path that exists wins.
        file_format: What files hold.
        store: The run store's file; None for the usual one.
    """
    try:
        is_path = Path(target).exists()
    except OSError:  # a name that no file can have; reading it says why
        is_path = True
    if is_path:
        yield from records_in(target, file_format=file_format)
    else:
        yield _stored(target, store)


def records_in(path: str, *, file_format: FileFormat = "auto") -> Iterator[LoadedRecord]:
    """The runs of a file or folder; a path that cannot be read at all is one bad record, so that others go on."""
    try:
        yield from load(path, format=file_format)
    except (TrajectoryError, OSError) as error:
        yield LoadedRecord(source=path, error=TrajectoryError(f"{path!r}: {error}"))


def _stored(target: str, store: Path | None) -> LoadedRecord:
    missing = f"{target!r}: there is no file or folder of this name"
    path = store_path(store)
    if path is None:
        return _failed(target, f"{missing}, and the run store is switched off by TRACER_HOOKS_STORE='off'")
    from tracer_hooks.store import RunStore

    try:
        with RunStore(path, read_only=True) as runs:
            if not runs.path.exists():
                return _failed(target, f"{missing}, and no run store at {str(runs.path)!r} to look for a run in")
            run = runs.get(target, with_tape=False)
    except StoreError as error:
        return _failed(target, f"{missing}, and in the run store: {error}")
    # The store's own columns are what the user sees; an outcome that was set later stands there.
    changes = {"outcome": run.outcome, "outcome_reason": run.outcome_reason}
    return LoadedRecord(source=run.run_id, trajectory=run.trajectory.model_copy(update=changes))


def _failed(target: str, why: str) -> LoadedRecord:
    return LoadedRecord(source=target, error=TrajectoryError(why))
