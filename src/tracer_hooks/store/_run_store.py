"""The runs as callers see them. SQLAlchemy is imported at its first use, not with this module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

from tracer_hooks.config import Retention
from tracer_hooks.errors import StoreError
from tracer_hooks.schema import Attribution, Json, RunOutcome
from tracer_hooks.store._records import Learnt, RunSummary, StoredRun
from tracer_hooks.store._store_file import StoreFile
from tracer_hooks.store._writing import Writing


class RunStore(StoreFile):
    """Runs on disk, safe to use from several threads and processes at once.

    Nothing is opened or created before the first call of a method. Every method raises :class:`StoreError`
    when the file cannot be used: read-only, locked for too long, damaged, another program's, or the disk is
    full.

    Args:
        path: The SQLite file; by default what ``TRACER_HOOKS_STORE`` names, else ``.tracer_hooks/runs.sqlite`` in
            the current directory.
        busy_timeout_s: Seconds to wait while another process writes.
        read_only: Never create or change the file, for tools that only look.
        stays_open: Keep the file open between uses, until :meth:`close_idle`: for many that follow each other.

    Raises:
        StoreError: No path is given and ``TRACER_HOOKS_STORE`` is ``off``.
    """

    def load(self) -> None:
        """Import what the first use of the file needs, which takes long; the file is not touched."""
        from tracer_hooks.store import _lesson_statements, _prompt_changes, _queries, _repair_counts  # noqa: F401

        assert self._database is not None

    def save(self, run: StoredRun) -> None:
        """Write ``run``, over an earlier one with the same id.

        A diagnosis, a repair log or a tape that the store already has stays when ``run`` has none, so that a diagnosis
        made in the background is not lost to a later save of the run.
        """
        from tracer_hooks.store import _queries, _rows

        with self._database.write("save the run") as connection:
            _queries.upsert(connection, _rows.row_of(run))

    @contextmanager
    def writing(self, doing: str = "save the run") -> Iterator[Writing]:
        """One transaction for several changes, which holds the write lock from its begin.

        Args:
            doing: Completes "cannot ..." in an error.
        """
        with self._database.write(doing) as connection:
            yield Writing(connection)

    def probe(self) -> None:
        """Take the write lock of a file that is there, and let go of it again; what it holds stays as it is.

        Raises:
            StoreError: The file cannot be written, or is locked for longer than ``busy_timeout_s``.
        """
        self._database.probe("write")

    def add(self, run: StoredRun) -> bool:
        """Write ``run`` unless the store has one with its id; says whether it was written."""
        from tracer_hooks.store import _queries

        with self._database.write("save the run") as connection:
            return _queries.insert_new(connection, run)

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

    def set_repair(self, run_id: str, repair: Mapping[str, Json] | None) -> None:
        """Put what was tried to recover the call in place of what is kept with the run; None removes it."""
        from tracer_hooks.store import _queries, _rows

        with self._database.write("save what was tried") as connection:
            _queries.update(connection, _queries.find_id(connection, run_id), _rows.repair_columns(repair))

    def repair_counts(self, team: str) -> tuple[tuple[str, int, int, str, int, int], ...]:
        """How often each kind of repair was tried for a team, and passed; empty for a team that is not known.

        Each row is the strategy's name, the part of the run that was kept, the part of the belief in it, the error
        mode (empty without one), trials and passes.

        Args:
            team: The team's fingerprint.
        """
        from tracer_hooks.store import _repair_counts

        with self._database.read("read which repairs helped") as connection:
            return _repair_counts.read(connection, team)

    def add_repair_counts(self, team: str, rows: Iterable[tuple[str, int, int, str, int, int]]) -> None:
        """Add trials and passes to a team's counts, all rows or none; other processes may do the same at once.

        Args:
            team: The team's fingerprint.
            rows: As :meth:`repair_counts` gives them; those of one kind are added up.
        """
        from tracer_hooks.store import _repair_counts

        with self._database.write("save which repairs helped") as connection:
            _repair_counts.add(connection, team, rows)

    def find_id(self, run_id: str) -> str:
        """The id of the run that ``run_id`` names or begins, which is not read: it may be damaged.

        Raises:
            StoreError: No run, or more than one, fits.
        """
        from tracer_hooks.store import _queries

        with self._database.read("find the run") as connection:
            return _queries.find_id(connection, run_id)

    def calls_of(self, *run_ids: str) -> tuple[str, ...]:
        """The ids of all attempts of the calls that runs with exactly these ids belong to; themselves included."""
        from tracer_hooks.store import _queries

        with self._database.read("read the attempts") as connection:
            return _queries.calls_of(connection, run_ids)

    def learnt_from(self, *run_ids: str) -> Learnt:
        """What the store holds of runs with exactly these ids beside the runs themselves; deleting leaves it."""
        from tracer_hooks.store import _queries

        with self._database.read("read what was learnt") as connection:
            return _queries.learnt_from(connection, run_ids)

    def delete(self, run_id: str, *more: str) -> None:
        """Remove the run with this id, or whose id alone begins with it; :meth:`wipe` removes its last traces.

        The other attempts of its call stay, with the same task: :meth:`calls_of` gives their ids.

        Args:
            run_id: Id of the run, or its beginning.
            more: Other runs; all go in one transaction, or none.
        """
        from tracer_hooks.store import _queries

        with self._database.write("delete the run") as connection:
            for name in (run_id, *more):
                _queries.remove(connection, _queries.find_id(connection, name))

    def prune(self, which: Retention, *, dry_run: bool = False, limit: int | None = None) -> tuple[RunSummary, ...]:
        """Remove the runs that ``which`` does not keep; gives them, the newest first.

        Prompts, lessons and counts that were learnt from them stay.

        Args:
            which: Which runs stay.
            dry_run: Remove nothing.
            limit: Remove so many at most, the oldest, so that nobody waits for long.
        """
        from tracer_hooks.store import _pruning, _queries

        if dry_run:
            with self._database.read("list the runs") as connection:
                return _pruning.fallen_out(connection, which, limit)
        with self._database.write("delete runs") as connection:
            found = _pruning.fallen_out(connection, which, limit)
            for one in found:
                _queries.remove(connection, one.run_id)
            return found

    def wipe(self, *, compact: bool = True) -> bool:
        """Take what was deleted out of the files, and give its room back; says whether nothing was in the way.

        Where another process is reading, its bytes may stay in the write-ahead log until the next call.
        """
        return self._database.wipe(compact=compact)
