"""Trials of a team with other prompts, and runs of the store that count as such; both in the journal."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from tracer_hooks._flight import in_order
from tracer_hooks.budget import Spending
from tracer_hooks.config import StorePlace
from tracer_hooks.diagnosis import blames_environment, get_attributor
from tracer_hooks.errors import CheckError, ConfigError, ReplayError
from tracer_hooks.frameworks import RunResult, Verdict
from tracer_hooks.improvement._improvement import ImproveOptions
from tracer_hooks.improvement._plan import digest
from tracer_hooks.improvement._prompt_writer import JudgedRun
from tracer_hooks.journal import Journal
from tracer_hooks.repair import feedback_of
from tracer_hooks.replay import Trial
from tracer_hooks.rerun import check_for, is_built_with_prompts, judge_of, rerunner
from tracer_hooks.runtime import Check, checked_diagnosis, shared_loop
from tracer_hooks.schema import Attribution, RunKind, RunOutcome, Trajectory, Usage
from tracer_hooks.store import RunStore, StoredRun
from tracer_hooks.tasks import SuiteTask
from tracer_hooks.telemetry import suppressed

_TRIES = 3
"""Runs on one task, before the environment is taken for broken."""


class NotMadeError(Exception):
    """A run is not in the journal, and none is to be made any more."""


class PromptedTeam:
    """A user's team that can be run with other instructions.

    A factory with a parameter ``prompts`` builds it with them; else they are put into the requests to the model.

    Args:
        target: The factory, team or function.
        check: Decides whether a run succeeded; default what the team was hooked with, else the task's reference.
        own: The instructions that the team came with, by agent; those of a candidate that are the same are left alone.

    Attributes:
        present: What agents are told of whom a candidate says nothing; default their own.
    """

    def __init__(self, target: Any, *, check: Check | None = None, own: Mapping[str, str] | None = None) -> None:
        self.own = dict(own or {})
        self.present: dict[str, str] = {}
        self._target = target
        self._turn, self._loop = threading.Lock(), asyncio.Runner()
        weakref.finalize(self, self._loop.close)
        self._check = check

    def accepts(self, task: SuiteTask, answer: str) -> bool:
        """Tell whether an answer that was given before passes; not where the check cannot judge such a task."""
        try:
            judge = judge_of(self._target, check_for(self._target, task, self._check))
            ruling = judge.ruling(RunResult(text=answer, native=answer), task.text)
        except (ConfigError, ReplayError):
            return False
        return isinstance(ruling, Verdict) and ruling.passed

    def run(self, task: SuiteTask, prompts: Mapping[str, str]) -> Trial:
        """Run it once on ``task``."""
        new = self.new_in(prompts)
        runner = rerunner(self._target, task.text, check=check_for(self._target, task, self._check), prompts=new)
        try:
            with self._alone() if runner.is_shared else nullcontext():
                trial = runner.run(kind=RunKind.LIVE)
        except CheckError as error:
            why = str(error).removeprefix("a run cannot be judged: ")
            raise CheckError(
                f"what the team said on the task {task.id!r} cannot be judged: {why}. Runs that are not judged teach "
                "nothing: correct the check, and go on; earlier verdicts are kept"
            ) from error
        self._expect_told(trial.trajectory, new)
        return trial

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """A team object is there once: it works on one task at a time, always in the same event loop."""
        with self._turn, shared_loop(self._loop):
            yield

    def new_in(self, prompts: Mapping[str, str]) -> dict[str, str]:
        """Those of ``prompts``, and of the present ones, that are not the team's own."""
        told = {**self.present, **prompts}
        return {agent: text for agent, text in sorted(told.items()) if self.own.get(agent) != text}

    def _expect_told(self, seen: Trajectory, new: Mapping[str, str]) -> None:
        """Make sure that a run had the prompts that it is counted for."""
        acted, is_built = {step.agent for step in seen.steps}, is_built_with_prompts(self._target)
        for spec in seen.agents:
            own, said = self.own.get(spec.name, "").strip(), (spec.instructions or "").strip()
            if not own or not said:
                continue
            if spec.name not in new and said != own:
                raise ConfigError(
                    f"the instructions of {spec.name!r} are not those that this job began with, expected the same in "
                    "every run. If the team was changed, begin anew with --out DIR; if they hold a date or the task, "
                    "give that in a message"
                )
            if spec.name in new and said == own and is_built:
                raise ConfigError(
                    f"the team was built with prompts[{spec.name!r}], and that agent still has its own instructions; "
                    "expected the new ones. Use them in the factory, or take the parameter 'prompts' away: they are "
                    "then put into the requests to the model"
                )
            if spec.name in new and said == own and spec.name in acted:
                raise ConfigError(
                    f"new instructions do not reach {spec.name!r}: it acts and asks no model that is seen. Give a "
                    "factory with a parameter 'prompts', or let the agent ask for its text with "
                    f"tracer_hooks.instructions({spec.name!r}, ...)"
                )


class TeamTrials:
    """Runs a team on tasks; every run is kept in a journal, so that a job that was killed goes on.

    The team makes ``options.workers`` runs at the same time. Where the diagnosis asks a model, so many more of its
    requests as the attributor says are under way beside them.

    The runs of the same task with the same instructions are numbered: a later one is a new run, and a job that begins
    again gets the same ones in the same order.

    Args:
        team: The team.
        journal: Where runs are kept.
        spending: What may be spent, and what was.
        options: How.
        name: What the runs are made for; those of another name are other runs.
        on_run: Told of each run, those from the journal included.

    Attributes:
        makes_new: Whether runs are made that are not in the journal.
    """

    def __init__(
        self,
        team: PromptedTeam,
        journal: Journal,
        spending: Spending,
        options: ImproveOptions,
        *,
        name: str = "run",
        on_run: Callable[[JudgedRun], None] = lambda run: None,
    ) -> None:
        self._team, self._journal, self._spending, self._options = team, journal, spending, options
        self._name, self._on_run = name, on_run
        self.makes_new = True
        self._workers = max(1, options.workers)
        self._turns = threading.Semaphore(self._workers)
        self._drawn: Counter[str] = Counter()

    def run(self, tasks: Sequence[SuiteTask], prompts: Mapping[str, str]) -> list[JudgedRun]:
        """One new run a task, in the order of the tasks; see :class:`~tracer_hooks.improvement.Trials`."""
        units = [(self._unit(task, prompts), task) for task in tasks]
        at_once = self._workers + _requests_of(self._options)
        return list(in_order(lambda one: self._once(*one, prompts), units, at_once))

    def _unit(self, task: SuiteTask, prompts: Mapping[str, str]) -> str:
        new = self._team.new_in(prompts)
        named = digest(new, 12) if new else "own"
        unit = f"{self._name}/{named}/{task.suite}/{task.id}/{digest([task.text, task.reference], 12)}"
        self._drawn[unit] += 1
        return f"{unit}/{self._drawn[unit]}"

    def _once(self, unit: str, task: SuiteTask, prompts: Mapping[str, str]) -> JudgedRun:
        if unit in self._journal:
            run = JudgedRun.model_validate(self._journal[unit]["run"])
            self._spending.add(run.usage)
        elif not self.makes_new:
            raise NotMadeError(unit)
        else:
            with self._spending.under_way() as settle:
                run = self._made(task, prompts)
                self._journal.add(unit, {"run": run.model_dump(mode="json", exclude_defaults=True)})
                settle(run.usage)
        self._on_run(run)
        return run

    def _made(self, task: SuiteTask, prompts: Mapping[str, str]) -> JudgedRun:
        spent = Usage()
        for attempt in range(_TRIES):
            with self._turns:
                trial = self._team.run(task, prompts)
            run = self._judged(task, trial)
            spent += run.usage
            if not blames_environment(run.attribution):
                return run.model_copy(update={"usage": spent})
            if attempt + 1 < _TRIES:
                time.sleep(self._options.backoff_s * 2**attempt)
        raise ReplayError(
            f"on the task {task.id!r} it was not the team that failed but its surroundings, {_TRIES} times: "
            f"{trial.trajectory.outcome_reason}. See to the model's endpoint and the tools, and give the same command "
            "again: what was run is kept"
        )

    def _judged(self, task: SuiteTask, trial: Trial) -> JudgedRun:
        seen = trial.trajectory.model_copy(update={"reference": task.reference})
        if seen.outcome is RunOutcome.UNKNOWN:
            raise ReplayError(
                f"nothing says whether the run on the task {task.id!r} succeeded: {seen.outcome_reason or 'no check'}"
            )
        return judged_run(task.id, seen, self._options, verdict=trial.verdict, seconds=trial.duration_s)


def judged_run(
    task: str,
    seen: Trajectory,
    options: ImproveOptions,
    *,
    verdict: Verdict | None = None,
    found: Attribution | None = None,
    seconds: float = 0.0,
) -> JudgedRun:
    """A run with its score; a failed one with what the team may be told of the reason, and diagnosed if it is not."""
    passed, spent = seen.outcome is RunOutcome.SUCCEEDED, seen.usage
    if not passed and found is None:
        with suppressed():
            found = checked_diagnosis(get_attributor(options.attributor), seen, seen.reference)
            if found is not None and found.usage is not None:
                spent += found.usage
    score, said = (verdict.rank, verdict.feedback) if verdict is not None else (float(passed), None)
    told = feedback_of(options.feedback, said, seen.outcome_reason, seen.reference, seen.final_output or "")
    return JudgedRun(
        task=task,
        score=min(1.0, max(0.0, score)),
        passed=passed,
        trajectory=seen,
        attribution=found,
        feedback=None if passed else told.text,
        usage=spent,
        seconds=seconds,
    )


_MOST_FAILURES = 60
_MOST_PASSED = 40
_LOOKED_AT = 600


def earlier_failures(
    path: str | StorePlace | None, journal: Journal, like: Trajectory, options: ImproveOptions, *, but: Iterable[str]
) -> tuple[JudgedRun, ...]:
    """The newest failed first attempts in the store of the team that ran ``like``; every session takes the same.

    Tasks ``but`` are left out: new prompts are tried on them, and what was read is no evidence.
    """
    with RunStore(path, read_only=True) as store:
        if "failures" not in journal:
            heads = store.list(limit=_LOOKED_AT, team=like.team, outcome=RunOutcome.FAILED)
            of_team = [one for one in heads if one.framework == like.framework and one.kind is RunKind.LIVE]
            left_out = set(map(_spelled, but))
            found = [one.run_id for one in of_team if _spelled(one.task) not in left_out]
            if not found:
                named = f"{like.team!r}{', other than on tasks that accept' if of_team else ''}"
                raise ConfigError(
                    f"the run store holds no failed run of the team {named}, expected some to learn from. See what it "
                    "holds with: tracer-hooks runs list"
                )
            journal.add("failures", {"runs": found[:_MOST_FAILURES]})
        stored = [store.get(run_id, with_tape=False) for run_id in journal["failures"]["runs"]]

    def judged(run: StoredRun) -> JudgedRun:
        return judged_run(f"run-{run.run_id}", run.judged_trajectory, options, found=run.attribution)

    return tuple(in_order(judged, stored, _requests_of(options) or 1))


def _requests_of(options: ImproveOptions) -> int:
    """How many requests of the diagnosis may be under way; 0 where it asks no model."""
    return int(getattr(get_attributor(options.attributor), "concurrency", 0))


def earlier_passed(
    path: str | StorePlace | None,
    journal: Journal,
    like: Trajectory,
    known: Iterable[str],
    accepts: Callable[[SuiteTask, str], bool],
) -> list[SuiteTask]:
    """Tasks of runs in the store that passed, of the team that ran ``like``; every session takes the same.

    Those that are ``known`` are left out, and those whose answer then is not one that the job ``accepts``.
    """
    if "passed" not in journal:
        taken, found = {"", *map(_spelled, known)}, []
        with RunStore(path) as store:
            for head in store.list(limit=_LOOKED_AT, team=like.team, outcome=RunOutcome.SUCCEEDED):
                text = _spelled(head.task)
                if head.framework != like.framework or head.kind is RunKind.IMPORTED or text in taken:
                    continue
                run = store.get(head.run_id, with_tape=False).trajectory
                task = SuiteTask(id=f"passed-{head.run_id}", text=head.task, reference=run.reference)
                if accepts(task, run.final_output or ""):
                    taken.add(text)
                    found.append(task.model_dump(mode="json"))
                if len(found) == _MOST_PASSED:
                    break
        journal.add("passed", {"tasks": found})
    return [SuiteTask.model_validate(row) for row in journal["passed"]["tasks"]]


def _spelled(text: str) -> str:
    return " ".join(text.split()).casefold()
