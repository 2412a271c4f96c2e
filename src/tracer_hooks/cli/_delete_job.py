"""``tracer-hooks runs delete`` and ``runs prune``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from tracer_hooks.cli._console import DONE, err, out, print_json
from tracer_hooks.cli._needed_store import needed_store
from tracer_hooks.config import Retention, parse_age
from tracer_hooks.errors import ConfigError, StoreError
from tracer_hooks.store import RunStore, RunSummary

_SHOWN = 10


@dataclass(frozen=True)
class DeleteJob:
    """Takes runs out of the run store for good.

    Args:
        store: The store's file, if the user named one.
        yes: Whether nobody is asked.
        as_json: Whether the result is one JSON document.
        dry_run: Whether nothing is deleted.
    """

    store: Path | None
    yes: bool
    as_json: bool
    dry_run: bool = False

    def delete(self, names: Sequence[str]) -> int:
        """Delete these runs; all of them are found before the first is deleted."""
        with self._opened() as runs:
            found = tuple(dict.fromkeys(runs.get(name, with_tape=False).run_id for name in names))
            if not self._is_agreed([f"run {run_id}" for run_id in found]):
                return DONE
            runs.delete(*found)
            self._say(found, is_wiped=runs.wipe())
        return DONE

    def prune(self, older_than: str | None, keep: int | None) -> int:
        """Delete the runs that are old, or not among the newest."""
        if older_than is None and keep is None:
            raise ConfigError("expected --older-than AGE, --keep N, or both: which runs are to go?")
        age = parse_age(older_than, name="--older-than") if older_than is not None else None
        which = Retention(older_than=age, keep=keep)
        with self._opened() as runs:
            found = runs.prune(which, dry_run=True)
            if self.dry_run or not found:
                self._say(tuple(one.run_id for one in found), is_wiped=None)
                return DONE
            if not self._is_agreed([_line(one) for one in found]):
                return DONE
            runs.delete(*(one.run_id for one in found))  # what was shown, whatever has become old meanwhile
            self._say(tuple(one.run_id for one in found), is_wiped=runs.wipe())
        return DONE

    def _opened(self) -> RunStore:
        path = needed_store(self.store)
        runs = RunStore(path)
        if not runs.path.exists():
            raise StoreError(f"there is no run store at {str(runs.path)!r}. Hook a team, or run: tracer-hooks demo")
        return runs

    def _is_agreed(self, lines: Sequence[str]) -> bool:
        if self.yes:
            return True
        if self.as_json:
            raise ConfigError("--json asks nobody, expected --yes with it")
        for line in lines[:_SHOWN]:
            err().print(line, soft_wrap=True)
        if len(lines) > _SHOWN:
            err().print(f"and {len(lines) - _SHOWN} more")
        return typer.confirm(f"Delete {_runs(len(lines))} for good?", err=True)

    def _say(self, found: Sequence[str], *, is_wiped: bool | None) -> None:
        if self.as_json:
            name = "would_delete" if is_wiped is None and self.dry_run else "deleted"
            print_json({name: list(found), "wiped": is_wiped})
            return
        if is_wiped is None:
            out().print(
                f"{_runs(len(found))} would be deleted" if self.dry_run else "no run is that old; nothing was deleted"
            )
            return
        out().print(f"{_runs(len(found))} deleted")
        if not is_wiped:
            err().print(
                "another process is reading the store: what was deleted is out of its reach, and out of the file once "
                "this command is given again without that process"
            )


def _runs(count: int) -> str:
    return f"{count:,} run{'' if count == 1 else 's'}"


def _line(one: RunSummary) -> str:
    return f"{one.run_id[:12]}  {one.started_at.astimezone():%Y-%m-%d %H:%M}  {one.team}"
