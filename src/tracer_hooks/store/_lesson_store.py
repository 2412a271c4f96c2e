"""Lessons as callers see them. SQLAlchemy is imported at its first use, not with this module."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tracer_hooks.errors import StoreError
from tracer_hooks.schema import Json
from tracer_hooks.store._database import StoreFile
from tracer_hooks.store._lesson_records import Lesson, LessonDraft, LessonOutcome, LessonState

_NOTHING: Mapping[str, Json] = MappingProxyType({})


class LessonStore(StoreFile):
    """Lessons of teams, in the file of the runs; safe to use from several threads and processes.

    A lesson begins on trial. It is kept when it is shown to help, goes on trial again when that becomes doubtful, and
    is retired when it is not shown in time; a retired one stays retired. Every change is one transaction, and is made
    only where nobody changed the lesson meanwhile.

    Nothing is opened or created before the first call of a method. Every method raises :class:`StoreError` when the
    file cannot be used.

    Args:
        path: The SQLite file; by default what ``TRACER_HOOKS_STORE`` names, else ``.tracer_hooks/runs.sqlite`` in
            the current directory.
        busy_timeout_s: Seconds to wait while another process writes.
        read_only: Never create or change the file, for tools that only look.

    Raises:
        StoreError: No path is given and ``TRACER_HOOKS_STORE`` is ``off``.
    """

    def propose(self, team: str, draft: LessonDraft) -> Lesson | None:
        """Put a new lesson on trial.

        Args:
            team: The team's fingerprint.
            draft: What it says, to whom, on what kind of task.

        Returns:
            The lesson; None where the agent has learnt from one of these runs already, has its most living lessons, or
            has one with this text: another process may have been faster.
        """
        from tracer_hooks.store import _lesson_statements

        if not team:
            raise StoreError("team is '', expected the team's fingerprint. Next: pass fingerprint(framework, name)")
        with self._database.write("propose a lesson") as connection:
            return _lesson_statements.propose(connection, team, draft)

    def change(self, seen: Lesson, state: LessonState, *, reason: str, evidence: Mapping[str, Json] = _NOTHING) -> bool:
        """Change the state of a lesson; its next period begins.

        Args:
            seen: The lesson as the decision was made on it.
            state: What it is from now on.
            reason: Why.
            evidence: What the runs showed; added to what is there.

        Returns:
            False where its state was changed meanwhile, and nothing was done.

        Raises:
            StoreError: It is retired, or it is in this state already.
        """
        from tracer_hooks.store import _lesson_statements

        if not seen.is_living or seen.state is state:
            raise StoreError(
                f"lesson {seen.number} of {seen.team!r} is {seen.state.value!r} and cannot become {state.value!r}. "
                "Run: tracer-hooks lessons list"
            )
        with self._database.write("change a lesson") as connection:
            return _lesson_statements.change(connection, seen, state, reason, evidence)

    def retire(self, team: str, number: int, *, reason: str) -> Lesson:
        """Retire a lesson, whatever its state.

        Raises:
            StoreError: There is none with this number, or it is retired already.
        """
        from tracer_hooks.store import _lesson_statements

        with self._database.write("retire a lesson") as connection:
            _lesson_statements.retire(connection, team, number, reason)
        # Read after the change is made, so that a damaged lesson can be retired.
        return self.get(team, number)

    def get(self, team: str, number: int) -> Lesson:
        """One lesson.

        Raises:
            StoreError: There is none with this number; the message names those that there are.
        """
        from tracer_hooks.store import _lesson_statements

        with self._database.read("read a lesson") as connection:
            return _lesson_statements.lesson(connection, team, number)

    def lessons(self, team: str | None = None, *, living_only: bool = False) -> tuple[Lesson, ...]:
        """Lessons of a team, or of all teams one after the other; the oldest first."""
        from tracer_hooks.store import _lesson_statements

        with self._database.read("list lessons") as connection:
            return _lesson_statements.all_lessons(connection, team, living_only=living_only)

    def teams(self) -> tuple[str, ...]:
        """The fingerprints of all teams that have a lesson, sorted."""
        from tracer_hooks.store import _lesson_statements

        with self._database.read("list teams with lessons") as connection:
            return tuple(_lesson_statements.teams(connection))

    def learnt_from(self, team: str) -> frozenset[tuple[str, str]]:
        """Agents with the ids of the failed runs that they have learnt from, by lessons of any state."""
        from tracer_hooks.store import _lesson_statements

        with self._database.read("read what was learnt from") as connection:
            return _lesson_statements.learnt_from(connection, team)

    def count(self, team: str, number: int, outcome: LessonOutcome) -> bool:
        """Count a run for or against a lesson; False where that run was counted for it before.

        Raises:
            StoreError: There is no such lesson.
        """
        from tracer_hooks.store import _lesson_statements

        with self._database.write("count a run for a lesson") as connection:
            return _lesson_statements.count(connection, team, number, outcome)

    def outcomes(
        self, team: str, number: int, *, period: int | None = None, last: int | None = None, skip: int = 0
    ) -> tuple[LessonOutcome, ...]:
        """The runs that were counted, in the order of counting.

        Args:
            team: The team's fingerprint.
            number: The lesson.
            period: Only those of this period.
            last: Only so many, the last ones.
            skip: Leave out so many, the first ones; without ``last``.
        """
        from tracer_hooks.store import _lesson_statements

        if last is not None and last < 1:
            raise StoreError(f"last must be at least 1, got {last!r}. Next: pass last=100")
        with self._database.read("read runs that counted for a lesson") as connection:
            return _lesson_statements.outcomes(connection, team, number, period=period, last=last, skip=skip)

    def counted(self, team: str, number: int, period: int) -> int:
        """How many runs were counted in a period of a lesson."""
        from tracer_hooks.store import _lesson_statements

        with self._database.read("count the runs of a lesson") as connection:
            return _lesson_statements.counted(connection, team, number, period)
