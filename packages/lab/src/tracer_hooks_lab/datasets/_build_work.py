"""Units of work done in parallel, each noted in the journal, and the runs recorded there."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, Protocol

from tracer_hooks.budget import Spending
from tracer_hooks.journal import AGAIN, Journal
from tracer_hooks.replay import Tape, Trial
from tracer_hooks.schema import Trajectory
from tracer_hooks_lab.datasets._build_plan import RunUnit


@dataclass(frozen=True, kw_only=True)
class BuildObserver:
    """Progress of a phase of a build."""

    phase: str
    """``runs``, ``faults`` or ``failures``."""
    done: int
    """Units that are done, earlier sessions included."""
    total: int
    """All units of the phase."""
    kept: int
    """Of those, how many gave what was wanted: runs that succeeded, verified faults, labelled failures."""
    resumed: int = 0
    """Of those that are done, how many were done in earlier sessions."""


class Bench(Protocol):
    """Where units are worked on."""

    def submit(self, phase: str, unit: Any) -> Future[dict[str, Any]]:
        """Begin a unit; at most as many as there are workers are under way."""

    def close(self) -> None:
        """Let go of the workers; nothing is under way any more."""


class Work:
    """Does each unit once.

    Args:
        journal: Where results go; units that are in it are passed over.
        spending: Says when a cap is reached; no unit is begun from then on.
        bench: Where units are worked on.
        workers: How many units are worked on at the same time.
    """

    def __init__(self, journal: Journal, spending: Spending, bench: Bench, *, workers: int) -> None:
        self._journal = journal
        self._spending = spending
        self._bench = bench
        self._workers = workers

    def do(self, units: Iterable[tuple[str, Any]], phase: str) -> Generator[tuple[str, dict[str, Any]], None, None]:
        """Do what has not been done yet, and give each result after it was noted.

        An exception of a unit ends the phase: what it means to go on is said in its result. Close the generator to end
        early; units that are being worked on are then finished and noted.
        """
        left = iter([(name, unit) for name, unit in units if name not in self._journal])
        running: dict[Future[dict[str, Any]], str] = {}
        try:
            self._fill(running, left, phase)
            while running:
                ended, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    name = running.pop(future)
                    result = future.result()
                    self._journal.add(name, result)
                    yield name, result
                self._fill(running, left, phase)
        finally:
            wait(running)
            self._keep(running)

    def _keep(self, running: dict[Future[dict[str, Any]], str]) -> None:
        """Note what was finished while the phase was being broken off."""
        for future, name in running.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                self._journal.add(name, future.result())

    def _fill(self, running: dict[Future[dict[str, Any]], str], left: Iterator[tuple[str, Any]], phase: str) -> None:
        while len(running) < self._workers and self._spending.refusal is None:
            following = next(left, None)
            if following is None:
                return
            name, unit = following
            running[self._bench.submit(phase, unit)] = name


@dataclass(frozen=True, kw_only=True)
class RecordedRun:
    """A run with its tape."""

    unit: RunUnit
    trial: Trial

    @property
    def passed(self) -> bool:
        """Tell whether it succeeded."""
        return self.trial.passed

    @property
    def failed(self) -> bool:
        """Tell whether the team failed."""
        return self.trial.failed


def run_result(unit: RunUnit, trial: Trial) -> dict[str, Any]:
    """A run for the journal; one that a model call broke off is to be made again."""
    trajectory = trial.trajectory.model_copy(update={"reference": unit.task.reference})
    lost = lost_call(trial)
    return {
        **({} if lost is None else broken_off(lost)),
        "outcome": trajectory.outcome.value,
        "trajectory": trajectory.model_dump(mode="json"),
        "tape": trial.tape.model_dump(mode="json", exclude_defaults=True),
        "seconds": trial.duration_s,
    }


def lost_call(trial: Trial, *, since: int = 0) -> str | None:
    """The failed model call that ended a run, from step ``since`` on; None where the team ended it itself."""
    if trial.error is None:
        return None
    lost = next((call for call in trial.tape.model_calls if call.step >= since and call.error), None)
    return None if lost is None else f"a model call of step {lost.step} failed: {lost.error}"


def broken_off(reason: str) -> dict[str, Any]:
    """A unit that came to nothing for a reason outside the team's work: it is done again in the next session."""
    return {AGAIN: reason, "broken": True}


def left_over(reason: str) -> dict[str, Any]:
    """A unit that a cap has stopped: it is done again in the next session, and nothing is wrong with it."""
    return {AGAIN: reason, "broken": False}


def is_broken(result: Mapping[str, Any]) -> bool:
    """Tell whether a unit was broken off."""
    return bool(result.get("broken"))


def recorded_run(unit: RunUnit, result: Mapping[str, Any]) -> RecordedRun | None:
    """The run as it was; None where something else than the team's work ended it."""
    if is_broken(result):
        return None
    trajectory = Trajectory.model_validate(result["trajectory"])
    trial = Trial(
        trajectory=trajectory,
        tape=Tape.model_validate(result["tape"]),
        output=trajectory.final_output or "",
        duration_s=float(result["seconds"]),
    )
    return RecordedRun(unit=unit, trial=trial)
