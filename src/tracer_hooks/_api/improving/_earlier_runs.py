"""What a team's own runs in the run store give an improvement: failures to propose from, and tasks that passed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tracer_hooks._api.conducting import checked_diagnosis
from tracer_hooks._api.improving._team_trials import TrialOptions
from tracer_hooks.errors import ConfigError
from tracer_hooks.improvement import JudgedRun
from tracer_hooks.journal import Journal
from tracer_hooks.repairs import feedback_of
from tracer_hooks.schema import RunKind, RunOutcome, Trajectory
from tracer_hooks.store import RunStore, StoredRun
from tracer_hooks.tasks import SuiteTask

_MOST_FAILURES = 60
_MOST_PASSED = 40
_LOOKED_AT = 600


class EarlierRuns:
    """Runs of one team in the store; what is taken of them stands in the journal, so that every session takes the same.

    Args:
        store: The run store's file; None for the usual one.
        journal: Of the job.
        like: A run of the team.
    """

    def __init__(self, store: str | Path | None, journal: Journal, like: Trajectory) -> None:
        self._store, self._journal, self._like = store, journal, like

    def failures(self, options: TrialOptions) -> tuple[JudgedRun, ...]:
        """The newest failed first attempts, diagnosed anew where they have no diagnosis.

        Args:
            options: Who diagnoses, and what may be told.

        Raises:
            ConfigError: The store holds none.
            StoreError: The store cannot be read, or holds one of them no more.
        """
        if "failures" not in self._journal:
            self._journal.add("failures", {"runs": self._newest_failures()})
        with RunStore(self._store, read_only=True) as runs:
            stored = [runs.get(run_id, with_tape=False) for run_id in self._journal["failures"]["runs"]]
        return tuple(judged_failure(run, options) for run in stored)

    def passed_tasks(self, known: Iterable[SuiteTask], accepts: Callable[[SuiteTask, str], bool]) -> list[SuiteTask]:
        """Tasks of runs that passed.

        Args:
            known: Tasks that the job has already.
            accepts: Whether the answer that was given then passes now; a task that cannot be judged is left out.
        """
        if "passed" not in self._journal:
            rows = [task.model_dump(mode="json") for task in self._passed(known, accepts)]
            self._journal.add("passed", {"tasks": rows})
        return [SuiteTask.model_validate(row) for row in self._journal["passed"]["tasks"]]

    def _passed(self, known: Iterable[SuiteTask], accepts: Callable[[SuiteTask, str], bool]) -> list[SuiteTask]:
        taken = {_spelled(task.text) for task in known}
        found: list[SuiteTask] = []
        for run in self._succeeded():
            if _spelled(run.task) in taken:
                continue
            task = SuiteTask(id=f"passed-{run.run_id}", text=run.task, reference=run.trajectory.reference)
            if accepts(task, run.trajectory.final_output or ""):
                taken.add(_spelled(task.text))
                found.append(task)
            if len(found) == _MOST_PASSED:
                break
        return found

    def _succeeded(self) -> Iterator[StoredRun]:
        with RunStore(self._store) as store:
            for head in store.list(limit=_LOOKED_AT, team=self._like.team, outcome=RunOutcome.SUCCEEDED):
                of_team = head.framework == self._like.framework and head.kind is not RunKind.IMPORTED
                if of_team and head.task.strip():
                    yield store.get(head.run_id, with_tape=False)

    def _newest_failures(self) -> list[str]:
        team = self._like.team
        with RunStore(self._store, read_only=True) as runs:
            heads = runs.list(limit=_LOOKED_AT, team=team, outcome=RunOutcome.FAILED)
        found = [one.run_id for one in heads if one.framework == self._like.framework and one.kind is RunKind.LIVE]
        if not found:
            raise ConfigError(
                f"the run store holds no failed run of the team {team!r}, expected some to learn from. See what it "
                "holds with: tracer-hooks runs list"
            )
        return found[:_MOST_FAILURES]


def judged_failure(run: StoredRun, options: TrialOptions) -> JudgedRun:
    """A failed run of the store with its diagnosis; made anew where none is stored."""
    seen, found = run.trajectory, run.attribution
    if found is None:
        found = checked_diagnosis(options.attributor, seen, seen.reference)
    told = feedback_of(options.feedback, None, run.outcome_reason, seen.reference, seen.final_output or "")
    return JudgedRun(
        task=f"run-{run.run_id}",
        score=0.0,
        passed=False,
        trajectory=seen,
        attribution=found,
        feedback=told.text,
        usage=seen.usage,
    )


def _spelled(text: str) -> str:
    return " ".join(text.split()).casefold()
