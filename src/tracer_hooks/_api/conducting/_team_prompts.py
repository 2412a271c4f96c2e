"""The accepted prompts of one team: looked up for its calls, counted for and against, and rolled back."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tracer_hooks._api.runs import PATIENCE_S, Part
from tracer_hooks._background import process_lock
from tracer_hooks._guard import logger, warn_once
from tracer_hooks.errors import StoreError
from tracer_hooks.store import PromptArm, PromptOutcome, PromptPhase, PromptState, PromptVersion

if TYPE_CHECKING:
    from tracer_hooks.improvement import PromptWatch
    from tracer_hooks.store import PromptStore, Writing

_FRESH_S = 2.0
"""What another process accepts or rolls back is noticed after so long."""
_FAILED_S = 30.0
"""A store that failed is asked again after so long: it may keep every caller waiting."""
_BUSY_S = 5.0
"""How long a version's watch waits for the store; no call waits for it."""
_OVERLAP = 16
"""Outcomes that are read once more, since other processes count at the same time."""


@dataclass(frozen=True)
class CurrentPrompts:
    """What a team's calls are to use."""

    version: PromptVersion
    """The version that was accepted last."""
    before: PromptVersion | None
    """What was current before it, for runs that it is compared with; None for the team's own prompts."""


@dataclass
class _Watched:
    """A version whose runs are watched; the outcomes that were looked at."""

    watch: PromptWatch
    known: set[str] = field(default_factory=set)
    fresh_until: float = 0.0

    def see(self, outcome: PromptOutcome) -> None:
        """Look at an outcome, once."""
        if outcome.run_id not in self.known:
            self.known.add(outcome.run_id)
            self.watch.add(outcome.score, is_new=outcome.arm is PromptArm.NEW)


class TeamPrompts:
    """The accepted prompts of one team, shared by all who call it in this process.

    A store that fails costs one warning: the team's own prompts are used.

    Args:
        path: The run store's file.
        team: The team's fingerprint.
    """

    def __init__(self, path: Path, team: str) -> None:
        self.team = team
        self._path = path
        self._lock = process_lock()
        self._current: CurrentPrompts | None = None
        self._fresh_until = 0.0
        self._watched: dict[int, _Watched] = {}

    def current(self) -> CurrentPrompts | None:
        """What a call is to use; None for the team's own prompts. Read from the store every few seconds at most."""
        # Whoever holds the lock may wait for the store: what was read before is used then.
        if time.monotonic() >= self._fresh_until and self._lock.acquire(timeout=PATIENCE_S):
            try:
                if time.monotonic() >= self._fresh_until:
                    self._refresh()
            finally:
                self._lock.release()
        return self._current

    def counting(self, version: PromptVersion, outcome: PromptOutcome) -> Part:
        """What counts a run for or against a version, once; the version is rolled back where its runs became worse."""

        def write(writing: Writing) -> bool:
            return writing.count_for_prompts(self.team, version.number, outcome)

        def then() -> None:
            try:
                with self._lock:
                    self._watch(version.number, outcome)
            except StoreError as error:
                warn_once(f"watch prompts {self._path}", "tracer-hooks does not watch prompts: %s", error)

        return Part("count a run for prompts", write, then)

    # --- details ---------------------------------------------------------------------------------------------------
    @property
    def _store(self) -> PromptStore:
        return open_prompts(self._path, _BUSY_S)

    def _refresh(self) -> None:
        self._current, fresh_s = None, _FRESH_S
        try:
            if self._path.exists():
                self._current = self._read(open_prompts(self._path, PATIENCE_S))
        except StoreError as error:
            fresh_s = _FAILED_S
            warn_once(f"prompts {self._path}", "tracer-hooks uses the team's own prompts: %s", error)
        self._fresh_until = time.monotonic() + fresh_s

    def _read(self, store: PromptStore) -> CurrentPrompts | None:
        version = store.current(self.team)
        if version is None:
            return None
        before = store.get(self.team, version.parent) if version.parent is not None else None
        is_good = before is not None and before.state is PromptState.ACCEPTED
        return CurrentPrompts(version, before if is_good else None)

    def _watch(self, number: int, outcome: PromptOutcome) -> None:
        watched = self._watched.get(number)
        if watched is None or time.monotonic() >= watched.fresh_until:
            watched = self._synced(number, watched)
        watched.see(outcome)
        if watched.watch.is_worse:
            version = self._store.get(self.team, number)
            if version.state is PromptState.ACCEPTED and not version.is_pinned:
                self._roll_back(version, watched.watch.reason)

    def _synced(self, number: int, watched: _Watched | None) -> _Watched:
        """What is watched, with what other processes have counted since it was read last."""
        version = self._store.get(self.team, number)
        if watched is None:
            watched = self._watched[number] = _Watched(_watch_of(version))
        watched.fresh_until = time.monotonic() + _FRESH_S
        last = max(version.live.new_runs + version.live.old_runs - len(watched.known), 0) + _OVERLAP
        for outcome in self._store.outcomes(self.team, number, phase=PromptPhase.LIVE, last=last):
            watched.see(outcome)
        return watched

    def _roll_back(self, version: PromptVersion, reason: str) -> None:
        self._fresh_until = 0.0
        try:
            self._store.roll_back(self.team, version.number, reason=reason)
        except StoreError:
            # Another process was faster, and has said so; or somebody has just pinned the version.
            now = self._store.get(self.team, version.number)
            if now.state is PromptState.ROLLED_BACK or now.is_pinned:
                return
            raise
        logger.warning(
            "tracer-hooks rolled back version %d of the prompts of team %r: %s. See: tracer-hooks prompts show %d",
            version.number,
            version.team_name or self.team,
            reason.rstrip("."),
            version.number,
        )


@functools.lru_cache(maxsize=64)
def team_prompts(path: Path, team: str) -> TeamPrompts:
    """The prompts of a team in a store; one for the process, so that its calls share what was read."""
    return TeamPrompts(path, team)


@functools.cache
def open_prompts(path: Path, busy_s: float) -> PromptStore:
    """One open store a file and process: opening costs more than reading."""
    from tracer_hooks.store import PromptStore

    return PromptStore(path, busy_timeout_s=busy_s)


@functools.cache
def warm_up(path: Path) -> None:
    """Read the store once where there is one: the first call, in an event loop perhaps, need not wait for imports."""
    if path.exists():
        try:
            open_prompts(path, PATIENCE_S).teams()
        except StoreError as error:
            warn_once(f"prompts {path}", "tracer-hooks uses the team's own prompts: %s", error)


def _watch_of(version: PromptVersion) -> PromptWatch:
    """A watch that expects of the version what its trial showed; scores count where the check gave some."""
    from tracer_hooks.improvement import PromptWatch

    trial = version.trial
    return PromptWatch(
        new_runs=trial.new_runs, new_passes=trial.new_score, old_runs=trial.old_runs, old_passes=trial.old_score
    )
