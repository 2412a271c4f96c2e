"""The store as callers see it. SQLAlchemy is imported at its first use, not with this module."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tracer_hooks.errors import StoreError
from tracer_hooks.schema import Attribution, Json, RunOutcome
from tracer_hooks.store._location import default_path, store_file
from tracer_hooks.store._records import RunSummary, StoredRun

if TYPE_CHECKING:
    from tracer_hooks.store._database import Database


class RunStore:
    """Runs on disk, safe to use from several threads and processes at once.

    Nothing is opened or created before the first call of a method. Every method raises :class:`StoreError`
    when the file cannot be used: read-only, locked for too long, damaged, another program's, or the disk is
    full.

    Args:
        path: The SQLite file; by default what ``TRACER_HOOKS_STORE`` names, else ``.tracer_hooks/runs.sqlite`` in
            the current directory.
        busy_timeout_s: Seconds to wait while another process writes.
        read_only: Never create or change the file, for tools that only look.

    Raises:
        StoreError: No path is given and ``TRACER_HOOKS_STORE`` is ``off``.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        busy_timeout_s: float = 5.0,
        read_only: bool = False,
    ) -> None:
        self._path = default_path() if path is None else store_file(path)
        self._busy_timeout_s = busy_timeout_s
        self._read_only = read_only
        self._opened: Database | None = None

    @property
    def path(self) -> Path:
        """The SQLite file, absolute."""
        return self._path

    def save(self, run: StoredRun) -> None:
        """Write ``run``, over an earlier one with the same id.

        A diagnosis, a rewrite or a tape that the store already has stays when ``run`` has none, so that a diagnosis
        made in the background is not lost to a later save of the run.
        """
        from tracer_hooks.store import _queries

        with self._database.write("save the run") as connection:
            _queries.upsert(connection, run)

    def get(self, run_id: str, *, with_tape: bool = True) -> StoredRun:
        """The run with this id, or whose id alone begins with it.

        Args:
            run_id: The id, or its beginning.
            with_tape: Whether the tape is read as well; it is most of what is kept of a run, and only replays need it.

        Raises:
            StoreError: No run, or more than one, fits; the message names those that do.
        """
        from tracer_hooks.store import _queries

        with self._database.read("read the run") as connection:
            return _queries.load(connection, _queries.find_id(connection, run_id), with_tape=with_tape)

    def list(
        self,
        *,
        limit: int = 50,
        team: str | None = None,
        outcome: RunOutcome | None = None,
        since: datetime | None = None,
    ) -> tuple[RunSummary, ...]:
        """Summaries of runs, the newest first, read without their trajectories.

        Args:
            limit: How many at most; at least 1.
            team: Only runs of this team.
            outcome: Only runs that ended so.
            since: Only runs that began at or after this moment; a time zone is needed.
        """
        from tracer_hooks.store import _queries

        if limit < 1:
            raise StoreError(f"limit must be at least 1, got {limit!r}. Next: pass limit=50")
        if since is not None and since.tzinfo is None:
            raise StoreError(f"since must have a time zone, got {since!r}. Next: pass since.astimezone()")
        with self._database.read("list the runs") as connection:
            return _queries.summaries(connection, limit=limit, team=team, outcome=outcome, since=since)

    def attempts(self, session_id: str) -> tuple[StoredRun, ...]:
        """Every attempt of one call, the first attempt first; empty when the session is unknown."""
        from tracer_hooks.store import _queries

        with self._database.read("read the attempts") as connection:
            return _queries.load_session(connection, session_id)

    def set_attribution(self, run_id: str, attribution: Attribution | None) -> None:
        """Put a diagnosis in place of the run's present one; None removes it."""
        from tracer_hooks.store import _queries, _rows

        with self._database.write("save the diagnosis") as connection:
            found = _queries.find_id(connection, run_id)
            _queries.update(connection, found, _rows.attribution_columns(attribution))

    def set_rewrite(self, run_id: str, rewrite: Mapping[str, Json] | None) -> None:
        """Put the prompt rewrite that followed the run in place of the present one; None removes it."""
        from tracer_hooks.store import _queries, _rows

        with self._database.write("save the prompt rewrite") as connection:
            _queries.update(connection, _queries.find_id(connection, run_id), _rows.rewrite_columns(rewrite))

    def delete(self, run_id: str) -> None:
        """Remove the run with this id, or whose id alone begins with it."""
        from tracer_hooks.store import _queries

        with self._database.write("delete the run") as connection:
            _queries.remove(connection, _queries.find_id(connection, run_id))

    def close(self) -> None:
        """Let go of the file; the store may be used again, which opens it anew."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _database(self) -> Database:
        from tracer_hooks.store._database import Database

        # Two threads may both get here first: both then open the same file, and one of the objects is let go.
        opened = self._opened
        if opened is None:
            opened = Database(self._path, busy_timeout_s=self._busy_timeout_s, read_only=self._read_only)
            self._opened = opened
        return opened
