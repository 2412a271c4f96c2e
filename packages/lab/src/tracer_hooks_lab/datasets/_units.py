"""What is done with one unit of a build: a run of a team, a fault put into one, a failure searched by replay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tracer_hooks.budget import Spending
from tracer_hooks.errors import CheckError, FaultError, ReplayError, TracerHooksError
from tracer_hooks.replay import (
    DecisiveSearch,
    StepReplay,
    Tape,
    TapePlayer,
    ToolRules,
    ToolUse,
    Trial,
    find_decisive_step,
)
from tracer_hooks.schema import RunKind, Usage
from tracer_hooks_lab.datasets._build_plan import BuildOptions, RunUnit
from tracer_hooks_lab.datasets._build_work import (
    RecordedRun,
    broken_off,
    is_broken,
    left_over,
    lost_call,
    run_result,
)
from tracer_hooks_lab.datasets._labels import (
    discarded_failure,
    discarded_fault,
    discarded_run,
    injected_label,
    natural_label,
    weak_label,
)
from tracer_hooks_lab.faults import FaultSpec, Injector

UNJUDGED = "unjudged"
"""Key of the result of a run that the check could not judge."""


class UnitWork:
    """Does units, one after the other or in several threads.

    Args:
        options: How the data set is built.
        spending: What it may cost, and has cost.
    """

    def __init__(self, options: BuildOptions, spending: Spending) -> None:
        self._options, self._spending = options, spending

    def do(self, phase: str, unit: Any) -> dict[str, Any]:
        """Do a unit of ``phase``; gives its result for the journal.

        An error of the user's factory or writer makes a broken unit: one of them ends no long build.
        """
        kinds: dict[str, Callable[[Any], dict[str, Any]]] = {
            "runs": self._run_team, "faults": self._inject_fault, "failures": self._replay_failure,
        }  # fmt: skip
        try:
            return kinds[phase](unit)
        except TracerHooksError:
            raise
        except Exception as error:
            return broken_off(f"{type(error).__name__}: {error}")

    def _run_team(self, unit: RunUnit) -> dict[str, Any]:
        try:
            trial = unit.subject.runner(unit.task).run(_watching(), kind=RunKind.LIVE)
        except CheckError as error:
            return {**broken_off(str(error)), UNJUDGED: True, "discarded": discarded_run(unit, str(error))}
        self._spending.add(trial.trajectory.usage)
        result = run_result(unit, trial)
        return {**result, "discarded": discarded_run(unit, result["again"])} if is_broken(result) else result

    def _inject_fault(self, planned: tuple[RecordedRun, FaultSpec]) -> dict[str, Any]:
        run, spec = planned
        runner = run.unit.subject.runner(run.unit.task)
        injection = Injector(runner, run.trial, self._options.inject, spending=self._spending).inject(spec)
        if injection.is_broken_off:
            reason = injection.discarded or ""
            if self._spending.refusal is not None:
                return left_over(reason)
            return {**broken_off(reason), "discarded": discarded_fault(run.unit, injection)}
        if not injection.is_verified:
            return {"discarded": discarded_fault(run.unit, injection)}
        return {"labeled": injected_label(run.unit, injection).model_dump(mode="json")}

    def _replay_failure(self, run: RecordedRun) -> dict[str, Any]:
        own = _Shared(self._spending)
        try:
            search = self._search(run, own)
        except _LostRunError as error:
            return {**broken_off(str(error)), "discarded": discarded_failure(run.unit, str(error), own)}
        except (ReplayError, FaultError) as error:
            return {"discarded": discarded_failure(run.unit, str(error), own)}
        if search.decisive is None:
            if own.refusal is not None:
                return left_over(own.refusal)
            return {**self._undecided(run, search, own), "search": _summary(search)}
        label = natural_label(run, search, seed=self._options.seed, seconds=own.seconds)
        return {"labeled": label.model_dump(mode="json"), "search": _summary(search)}

    def _undecided(self, run: RecordedRun, search: DecisiveSearch, own: Spending) -> dict[str, Any]:
        if self._options.weak_from is not None:
            least, seed = self._options.weak_from, self._options.seed
            label = weak_label(run, search, least=least, seed=seed, seconds=own.seconds)
            if label is not None:
                return {"labeled": label.model_dump(mode="json")}
        return {"discarded": discarded_failure(run.unit, search.reason, own)}

    def _search(self, run: RecordedRun, own: Spending) -> DecisiveSearch:
        runner = run.unit.subject.runner(run.unit.task)
        options = replace(self._options.replay, cap=self._options.cap)
        # Known to the replay, so that no correction tells it; never to those who write one.
        judged = run.trial.trajectory.model_copy(update={"reference": run.unit.task.reference})
        recorded = replace(run.trial, trajectory=judged)
        replay = StepReplay(runner, recorded, options, spending=own, on_trial=_expect_answers)
        trajectory = judged.model_copy(update={"reference": None})
        attribution = self._options.attribute(trajectory) if self._options.attribute is not None else None
        return find_decisive_step(replay, attribution=attribution, proposer=self._options.proposer)


class _LostRunError(Exception):
    """A replay ended for want of a model: whatever it was to test, nothing came of it."""


class _Shared(Spending):
    """Counts what one search spends, and charges it to the build."""

    def __init__(self, whole: Spending) -> None:
        super().__init__(whole.cap)
        self._whole = whole

    def add(self, usage: Usage) -> None:
        super().add(usage)
        self._whole.add(usage)

    def charge(self, usage: Usage) -> None:
        super().charge(usage)
        self._whole.charge(usage)

    @property
    def refusal(self) -> str | None:
        return self._whole.refusal


def _watching() -> TapePlayer:
    """A player that has nothing to play.

    Runs with a fault are made under one, and what that takes of their time must not tell them from runs without.
    """
    return TapePlayer(Tape(run_id="none"), until=0, tools=ToolRules(default=ToolUse.LIVE))


def _expect_answers(trial: Trial) -> None:
    lost = lost_call(trial)
    if lost is not None:
        raise _LostRunError(lost)


def _summary(search: DecisiveSearch) -> dict[str, Any]:
    """The search without the corrections' texts, for the journal."""
    dumped: dict[str, Any] = search.model_dump(mode="json", exclude={"tested": {"__all__": {"correction"}}})
    return dumped
