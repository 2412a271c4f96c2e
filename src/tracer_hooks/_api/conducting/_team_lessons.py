"""The lessons of one team: looked up for its calls, counted for and against, kept, doubted and retired."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tracer_hooks._api.runs import PATIENCE_S, Part
from tracer_hooks._background import process_lock
from tracer_hooks._guard import logger, warn_once
from tracer_hooks.errors import StoreError
from tracer_hooks.schema import Json
from tracer_hooks.store import Lesson, LessonOutcome, LessonState

if TYPE_CHECKING:
    from tracer_hooks.improvement import LessonRule, LessonTrial, LessonWatch
    from tracer_hooks.store import LessonStore, Writing

_FRESH_S = 2.0
"""What another process learns or retires is noticed after so long."""
_FAILED_S = 30.0
"""A store that failed is asked again after so long: it may keep every caller waiting."""
_BUSY_S = 5.0
"""How long a lesson's test waits for the store; no call waits for it."""
_WORDS = {
    LessonState.KEPT: "keeps",
    LessonState.ON_TRIAL: "tries again",
    LessonState.RETIRED: "retires",
}


@dataclass
class _Followed:
    """The test that a lesson stands in its present period."""

    period: int
    test: LessonTrial | LessonWatch
    seen: int = 0
    """How many of the period's runs it has seen, or passed over."""


class TeamLessons:
    """The living lessons of one team, shared by all who call it in this process.

    A store that fails costs one warning: no lessons are given.

    Args:
        path: The run store's file.
        team: The team's fingerprint.
        rule: What it takes to keep a lesson; default :class:`~tracer_hooks.improvement.LessonRule`.
    """

    def __init__(self, path: Path, team: str, rule: LessonRule | None = None) -> None:
        self.team = team
        self._path = path
        self._rule = rule
        self._lock = process_lock()
        self._living: tuple[Lesson, ...] = ()
        self._fresh_until = 0.0
        self._tests: dict[int, _Followed] = {}

    @property
    def rule(self) -> LessonRule:
        """What it takes to keep a lesson."""
        from tracer_hooks.improvement import LessonRule

        if self._rule is None:
            self._rule = LessonRule()
        return self._rule

    def near(self, task: str, most: int) -> list[Lesson]:
        """The lessons for tasks like this one, at most so many for an agent: the nearest."""
        from tracer_hooks.improvement import NEAR, kind_of, nearness

        living = self._current()
        if not living:
            return []
        kind = kind_of([task])
        ranked = sorted(((nearness(kind, one.kind), -one.number, one) for one in living), reverse=True)
        chosen: list[Lesson] = []
        for how_near, _, one in ranked:
            if how_near >= NEAR and sum(other.agent == one.agent for other in chosen) < most:
                chosen.append(one)
        return chosen

    def share(self, lesson: Lesson) -> float:
        """With which probability a run is given the lesson."""
        return 1 - self.rule.control_share if lesson.state is LessonState.KEPT else 0.5

    def counting(self, number: int, outcome: LessonOutcome) -> Part:
        """What counts a run for or against a lesson, once, and changes the lesson's state where the runs decide."""

        def write(writing: Writing) -> bool:
            return writing.count_for_lesson(self.team, number, outcome)

        def then() -> None:
            try:
                with self._lock:
                    self._judge(number, outcome.period)
            except StoreError as error:
                warn_once(f"judge lessons {self._path}", "tracer-hooks does not judge lessons: %s", error)

        return Part("count a run for a lesson", write, then)

    # --- details ---------------------------------------------------------------------------------------------------
    @property
    def _store(self) -> LessonStore:
        return open_lessons(self._path, _BUSY_S)

    def _current(self) -> tuple[Lesson, ...]:
        # Whoever holds the lock may wait for the store: what was read before is used then.
        if time.monotonic() >= self._fresh_until and self._lock.acquire(timeout=PATIENCE_S):
            try:
                if time.monotonic() >= self._fresh_until:
                    self._refresh()
            finally:
                self._lock.release()
        return self._living

    def _refresh(self) -> None:
        self._living, fresh_s = (), _FRESH_S
        try:
            if self._path.exists():
                self._living = open_lessons(self._path, PATIENCE_S).lessons(self.team, living_only=True)
        except StoreError as error:
            fresh_s = _FAILED_S
            warn_once(f"lessons {self._path}", "tracer-hooks gives no lessons: %s", error)
        self._fresh_until = time.monotonic() + fresh_s

    def _judge(self, number: int, period: int) -> None:
        lesson = self._store.get(self.team, number)
        if not lesson.is_living or lesson.period != period:
            return  # it was decided meanwhile: the run says nothing about what comes now
        if lesson.state is LessonState.KEPT:
            self._watch(lesson)
        else:
            self._try(lesson)

    def _try(self, lesson: Lesson) -> None:
        from tracer_hooks.improvement import LessonDecision, LessonTrial

        trial = self._followed(lesson).test
        assert isinstance(trial, LessonTrial)
        if trial.decision is not LessonDecision.UNDECIDED:
            state = LessonState.KEPT if trial.decision is LessonDecision.KEEP else LessonState.RETIRED
            evidence = {**trial.evidence, "trials": _number(lesson.evidence.get("trials")) + 1}
            self._change(lesson, state, trial.reason, evidence)

    def _watch(self, lesson: Lesson) -> None:
        from tracer_hooks.improvement import LessonWatch

        watch = self._followed(lesson).test
        assert isinstance(watch, LessonWatch)
        if watch.is_doubtful:
            self._change(lesson, LessonState.ON_TRIAL, watch.reason, {})

    def _followed(self, lesson: Lesson) -> _Followed:
        """The test of the lesson's present period, with all runs that any process has counted so far."""
        followed = self._tests.get(lesson.number)
        if followed is None or followed.period != lesson.period:
            followed = self._tests[lesson.number] = self._begun(lesson)
        for outcome in self._store.outcomes(self.team, lesson.number, period=lesson.period, skip=followed.seen):
            followed.test.add(given=outcome.given, passed=outcome.passed)
            followed.seen += 1
        return followed

    def _begun(self, lesson: Lesson) -> _Followed:
        from tracer_hooks.improvement import LessonTrial, LessonWatch

        if lesson.state is not LessonState.KEPT:
            return _Followed(lesson.period, LessonTrial(self.rule))
        runs, passes = (_number(lesson.evidence.get(name)) for name in ("with_runs", "with_passes"))
        watch = LessonWatch(self.rule, trial_runs=runs, trial_passes=min(passes, runs))
        # A watch looks no further back than its window, and a lesson may have been kept for a million runs.
        counted = self._store.counted(self.team, lesson.number, lesson.period)
        return _Followed(lesson.period, watch, max(counted - self.rule.window, 0))

    def _change(self, lesson: Lesson, state: LessonState, reason: str, evidence: Mapping[str, Json]) -> None:
        self._fresh_until = 0.0
        # Where another process was faster, that one has said so.
        if self._store.change(lesson, state, reason=reason, evidence=evidence):
            logger.warning(
                "tracer-hooks %s lesson %d for agent %r of team %r: %s. See: tracer-hooks lessons show %d",
                _WORDS[state],
                lesson.number,
                lesson.agent,
                lesson.team_name or self.team,
                reason.rstrip("."),
                lesson.number,
            )


@functools.lru_cache(maxsize=64)
def team_lessons(path: Path, team: str) -> TeamLessons:
    """The lessons of a team in a store; one for the process, so that its calls share what was read."""
    return TeamLessons(path, team)


@functools.cache
def open_lessons(path: Path, busy_s: float) -> LessonStore:
    """One open store a file and process: opening costs more than reading."""
    from tracer_hooks.store import LessonStore

    return LessonStore(path, busy_timeout_s=busy_s)


@functools.cache
def warm_up_lessons(path: Path) -> None:
    """Read the store once where there is one: the first call, in an event loop perhaps, need not wait for imports."""
    if path.exists():
        try:
            open_lessons(path, PATIENCE_S).teams()
        except StoreError as error:
            warn_once(f"lessons {path}", "tracer-hooks gives no lessons: %s", error)


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
