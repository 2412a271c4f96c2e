"""Accepted prompts of one team: looked up for its calls, counted for and against, watched, and rolled back."""

from __future__ import annotations

import functools
import math
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tracer_hooks._background import process_lock, start_daemon
from tracer_hooks._guard import logger
from tracer_hooks.config import StorePlace
from tracer_hooks.errors import ConfigError, StoreError
from tracer_hooks.runtime._store_writer import PATIENCE_S, SERVER_PATIENCE_S, Part, warn_of_store
from tracer_hooks.store import PromptArm, PromptOutcome, PromptPhase, PromptState, PromptVersion

if TYPE_CHECKING:
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
    """Prompts that a team's calls are to use."""

    version: PromptVersion
    """The version that was accepted last."""
    before: PromptVersion | None
    """What was current before it, for runs that it is compared with; None for the team's own prompts."""


@dataclass
class _WatchedVersion:
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
    """

    def __init__(self, place: StorePlace, team: str) -> None:
        self.team = team
        self._place = place
        self._lock = process_lock()
        self._current: CurrentPrompts | None = None
        self._fresh_until = 0.0
        self._watched: dict[int, _WatchedVersion] = {}

    def current(self) -> CurrentPrompts | None:
        """Return the prompts of a call; None for the team's own. Read from the store every few seconds at most."""
        # Whoever holds the lock may wait for the store: what was read before is used then.
        if time.monotonic() >= self._fresh_until and self._lock.acquire(timeout=PATIENCE_S):
            try:
                if time.monotonic() >= self._fresh_until:
                    self._refresh()
            finally:
                self._lock.release()
        return self._current

    def counting(self, version: PromptVersion, outcome: PromptOutcome) -> Part:
        """Return the part that counts a run for or against a version, once, and rolls back one that became worse."""

        def write(writing: Writing) -> bool:
            return writing.count_for_prompts(self.team, version.number, outcome)

        def then() -> None:
            try:
                with self._lock:
                    self._watch(version.number, outcome)
            except StoreError as error:
                warn_of_store(self._place, error, "does not watch prompts")

        return Part("count a run for prompts", write, then)

    # --- details ---------------------------------------------------------------------------------------------------
    @property
    def _store(self) -> PromptStore:
        return open_prompts(self._place, _BUSY_S)

    def _refresh(self) -> None:
        if isinstance(self._place, Path):
            self._refresh_now()
            return
        began = time.monotonic()  # a server may not answer for long: in a thread that nobody waits for longer than that
        start_daemon(self._refresh_now, "tracer-hooks-prompts").join(SERVER_PATIENCE_S)
        if self._fresh_until < began:  # it is still to answer: nobody else asks it meanwhile
            self._fresh_until = time.monotonic() + _FAILED_S

    def _refresh_now(self) -> None:
        current, fresh_s = None, _FRESH_S
        try:
            if not isinstance(self._place, Path) or self._place.exists():
                current = self._read(open_prompts(self._place, PATIENCE_S))
        except StoreError as error:
            fresh_s = _FAILED_S
            warn_of_store(self._place, error, "uses the team's own prompts")
        finally:
            self._current, self._fresh_until = current, time.monotonic() + fresh_s

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

    def _synced(self, number: int, watched: _WatchedVersion | None) -> _WatchedVersion:
        """Return the watched version, with what other processes have counted since it was read last."""
        version = self._store.get(self.team, number)
        if watched is None:
            watched = self._watched[number] = _WatchedVersion(_watch_of(version))
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
def team_prompts(place: StorePlace, team: str) -> TeamPrompts:
    """The prompts of a team in a store; one for the process, so that its calls share what was read."""
    return TeamPrompts(place, team)


@functools.cache
def open_prompts(place: StorePlace, busy_s: float) -> PromptStore:
    """One open store a place and process: opening costs more than reading."""
    from tracer_hooks.store import PromptStore

    return PromptStore(place, busy_timeout_s=busy_s)


@functools.cache
def warm_up(place: StorePlace) -> None:
    """Read the store once where there is one: the first call, in an event loop perhaps, need not wait for imports."""
    TeamPrompts(place, "").current()


def _watch_of(version: PromptVersion) -> PromptWatch:
    """A watch that expects of the version what its trial showed; scores count where the check gave some."""
    trial = version.trial
    return PromptWatch(
        new_runs=trial.new_runs, new_passes=trial.new_score, old_runs=trial.old_runs, old_passes=trial.old_score
    )


WINDOW = 30
"""So many of the last runs are compared with all runs before them. The rule that finds a fall within a given number of
runs most often looks at just that number (Guépié, Fillatre and Nikiforov 2012)."""
LEAST_RUNS = 8
"""Fewer runs than these say nothing: failures come in bursts."""
ONLY_NEW_FELL = 10.0
"""How much better the control runs must fit "only the new prompts fell" than "the tasks became harder"."""
ALL_FELL = 20.0
"""How much better they must fit the opposite, for the watch to expect less from then on."""
CONTROLS_END = 90
"""Without a control run in so many runs there are no control runs any more, and none is waited for."""


@dataclass(frozen=True)
class _RunTally:
    count: int = 0
    score: float = 0.0

    def plus(self, score: float) -> _RunTally:
        return _RunTally(self.count + 1, self.score + score)

    @property
    def rate(self) -> float:
        """The rate, drawn a little towards a half, as of a Beta(1/2, 1/2) belief."""
        return (self.score + 0.5) / (self.count + 1)


class PromptWatch:
    """Watches the runs with accepted prompts, and says when they pass less often than they did.

    The last 30 runs are compared with all runs before them, those of the trial included. How often would so few of them
    pass if nothing had changed? The rate before is itself known from few runs only, so it is a belief (a beta
    distribution), not a number: after a short trial, which may have been lucky, more must fail than after a long one.
    The prompts are worse when that probability is below ``alarm``, the last runs also passed less often than runs with
    the old prompts did, so that going back is a gain, and control runs, where there are any, did not fall alike.

    Scores from 0 to 1 are taken as shares of a pass. They vary less than passes do, so that is cautious.

    Args:
        new_runs: Runs of the trial with the new prompts.
        new_passes: How many of them passed, or the sum of their scores.
        old_runs: Runs of the trial with the old prompts.
        old_passes: How many of these passed, or the sum of their scores.
        alarm: How improbable the last runs must be. 0.0004 rolls back one good version in fifty per 300 runs; a
            larger value sees a fall sooner, and rolls back good versions more often.
    """

    def __init__(
        self, *, new_runs: int, new_passes: float, old_runs: int, old_passes: float, alarm: float = 0.0004
    ) -> None:
        for name, runs, passes in (("new", new_runs, new_passes), ("old", old_runs, old_passes)):
            if runs < 0 or not 0.0 <= passes <= runs:
                raise ConfigError(f"{name}_passes is {passes!r} of {runs!r} runs; expected a number from 0 to the runs")
        if not 0.0 < alarm < 1.0:
            raise ConfigError(f"alarm is {alarm!r}; expected a number between 0 and 1")
        self._alarm = alarm
        self._new, self._old = _RunTally(new_runs, float(new_passes)), _RunTally(old_runs, float(old_passes))
        self._last: deque[tuple[float, bool]] = deque()
        self._since_control = CONTROLS_END
        self._waits = False
        self._reason = ""

    def add(self, passed_or_score: float, *, is_new: bool) -> None:
        """Take one run into account.

        Args:
            passed_or_score: True or False, or a score from 0 to 1.
            is_new: Whether it was run with the accepted prompts; else it was a control run with the old ones.

        Raises:
            ConfigError: The score is not a number from 0 to 1; nothing is counted then.
        """
        if not 0.0 <= passed_or_score <= 1.0:  # also false for nan
            raise ConfigError(f"A run's score is {passed_or_score!r}; expected True, False or a number from 0 to 1")
        self._last.append((float(passed_or_score), is_new))
        self._since_control = self._since_control + 1 if is_new else 0
        if not self._waits:
            self._slide()
        if not self._reason:
            self._judge()

    @property
    def is_worse(self) -> bool:
        """Tell whether the prompts are to be rolled back. Stays true once it is."""
        return bool(self._reason)

    @property
    def reason(self) -> str:
        """Reason in one sentence, with the figures at that time; empty while the prompts are not worse."""
        return self._reason

    def _slide(self) -> None:
        """Move the oldest of the last runs to the runs before."""
        while self._recent(is_new=True).count > WINDOW:
            score, is_new = self._last.popleft()
            if is_new:
                self._new = self._new.plus(score)
            else:
                self._old = self._old.plus(score)

    def _recent(self, *, is_new: bool) -> _RunTally:
        scores = [score for score, new in self._last if new is is_new]
        return _RunTally(len(scores), sum(scores))

    def _judge(self) -> None:
        recent, control = self._recent(is_new=True), self._recent(is_new=False)
        old = _RunTally(self._old.count + control.count, self._old.score + control.score)
        chance = self._chance(recent, old)
        self._waits = False
        if chance > self._alarm:
            return
        if self._since_control < CONTROLS_END:
            ratio = self._only_new_fell(recent, control)
            if ratio < -math.log(ALL_FELL):
                # Tasks became harder: from here on, what is seen now is what is expected.
                self._new, self._old = recent, control
                self._last.clear()
                return
            if ratio < math.log(ONLY_NEW_FELL):
                # What is seen stays apart from the runs before until more control runs have decided.
                self._waits = True
                return
        self._reason = self._sentence(recent, old, chance)

    def _chance(self, recent: _RunTally, old: _RunTally) -> float:
        """The probability of so few passes; 1 where they are not fewer than before, or than with the old prompts."""
        if recent.count < LEAST_RUNS or recent.score / recent.count >= self._new.rate:
            return 1.0
        if old.count and recent.score / recent.count >= old.score / old.count:
            return 1.0
        return _probability_of_at_most(recent, self._new)

    def _only_new_fell(self, recent: _RunTally, control: _RunTally) -> float:
        """By how much, as a log likelihood ratio, the control runs look like those before, and not as if all fell."""
        shift = _log_odds(recent.rate) - _log_odds(self._new.rate)
        before = self._old.rate
        harder = 1 / (1 + math.exp(-(_log_odds(before) + shift)))
        failed = control.count - control.score
        return control.score * math.log(before / harder) + failed * math.log((1 - before) / (1 - harder))

    def _sentence(self, recent: _RunTally, old: _RunTally, chance: float) -> str:
        before = "there were no runs before"
        if self._new.count:
            before = f"{100 * self._new.score / self._new.count:.0f} % of the {self._new.count} runs before did"
        others = f"; the old prompts passed {100 * old.score / old.count:.0f} % of {old.count}" if old.count else ""
        odds = f"1 time in {1 / chance:,.0f}" if chance > 1e-6 else "less than 1 time in a million"
        return (
            f"Of the last {recent.count} runs with these prompts {recent.score:.3g} passed, where {before}: "
            f"by chance alone that few pass {odds}{others}."
        )


def _probability_of_at_most(recent: _RunTally, before: _RunTally) -> float:
    """The probability that so few of so many runs pass, given the runs before (beta-binomial, Jeffreys prior)."""
    a, b = before.score + 0.5, before.count - before.score + 0.5
    below = math.floor(recent.score)
    total = math.fsum(_probability_of(passes, recent.count, a, b) for passes in range(below + 1))
    if recent.score == below:
        return total
    # Between two whole numbers of passes, so far along as the score is.
    return total + (recent.score - below) * _probability_of(below + 1, recent.count, a, b)


def _probability_of(passes: int, runs: int, a: float, b: float) -> float:
    failed = runs - passes
    ways = math.lgamma(runs + 1) - math.lgamma(passes + 1) - math.lgamma(failed + 1)
    beta = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(ways + beta + math.lgamma(a + passes) + math.lgamma(b + failed) - math.lgamma(a + b + runs))


def _log_odds(rate: float) -> float:
    return math.log(rate / (1 - rate))
