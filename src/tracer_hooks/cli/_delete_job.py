"""``tracer-hooks runs delete`` and ``runs prune``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from tracer_hooks.cli._console import DONE, err, out, print_json
from tracer_hooks.cli._needed_store import needed_store
from tracer_hooks.config import Retention, parse_age
from tracer_hooks.errors import ConfigError, StoreError
from tracer_hooks.store import Learnt, RunStore, RunSummary

_SHOWN = 10


@dataclass(frozen=True)
class _Stays:
    """What a deletion leaves in the store."""

    attempts: tuple[str, ...]
    """Other attempts of the same calls."""
    learnt: Learnt

    @property
    def lines(self) -> Iterator[str]:
        """In words; nothing where nothing stays."""
        if self.attempts:
            shown = ", ".join(one[:12] for one in self.attempts[:_SHOWN])
            more = f" and {len(self.attempts) - _SHOWN} more" if len(self.attempts) > _SHOWN else ""
            yield f"of the same calls, with the same tasks, stay: {shown}{more}"
        if self.learnt.counts:
            counts = _counted(self.learnt.counts, "count")
            yield f"what was learnt from them stays, with their ids: {counts} for prompts"


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
    only: bool = False
    """Whether the other attempts of a call stay."""

    def delete(self, names: Sequence[str]) -> int:
        """Delete these runs with the other attempts of their calls; all are found before the first is deleted."""
        with self._opened() as runs:
            named = tuple(dict.fromkeys(map(runs.find_id, names)))
            whole = runs.calls_of(*named)
            found = named if self.only else whole
            if not self._is_agreed([_named(run_id, named) for run_id in found]):
                return DONE
            stays = _stays(runs, found)
            runs.delete(*found)
            self._say(found, is_wiped=runs.wipe(), stays=stays)
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
            ids = tuple(one.run_id for one in found)  # what was shown, whatever has become old meanwhile
            stays = _stays(runs, ids)
            runs.delete(*ids)
            self._say(ids, is_wiped=runs.wipe(), stays=stays)
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

    def _say(self, found: Sequence[str], *, is_wiped: bool | None, stays: _Stays | None = None) -> None:
        if self.as_json:
            name = "would_delete" if is_wiped is None and self.dry_run else "deleted"
            other = {} if stays is None else {"attempts_left": list(stays.attempts), **stays.learnt.model_dump()}
            print_json({name: list(found), "wiped": is_wiped, **other})
            return
        if is_wiped is None:
            out().print(
                f"{_runs(len(found))} would be deleted" if self.dry_run else "no run is that old; nothing was deleted"
            )
            return
        out().print(f"{_runs(len(found))} deleted")
        for line in stays.lines if stays is not None else ():
            out().print(line, soft_wrap=True)
        if not is_wiped:
            err().print(
                "another process is reading the store: what was deleted is out of its reach, and out of the file once "
                "this command is given again without that process"
            )


def _stays(runs: RunStore, found: Sequence[str]) -> _Stays:
    """What will stay when these runs, which are still there, have been deleted."""
    gone = set(found)
    others = tuple(one for one in runs.calls_of(*found) if one not in gone)
    return _Stays(attempts=others, learnt=runs.learnt_from(*found))


def _named(run_id: str, named: Collection[str]) -> str:
    return f"run {run_id}" if run_id in named else f"run {run_id}, another attempt of the same call"


def _runs(count: int) -> str:
    return _counted(count, "run")


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _line(one: RunSummary) -> str:
    return f"{one.run_id[:12]}  {one.started_at.astimezone():%Y-%m-%d %H:%M}  {one.team}"
