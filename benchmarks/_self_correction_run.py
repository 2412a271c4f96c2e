"""Runs first attempts and trials against the model, the most urgent first, until the time is over."""

from __future__ import annotations

import heapq
import itertools
import re
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from _self_correction_chains import CHAINS, REASONS, wrong_steps
from _self_correction_journal import ARMS, LADDERS, Journal, Row, changes_of, resume
from _self_correction_tasks import Ask, Known, Turn, decisive_step, judge, play, recorded_team

from tracer_hooks import Verdict, rerunner
from tracer_hooks.diagnosis import get_attributor
from tracer_hooks.frameworks import RunResult
from tracer_hooks.repair import Failure, Ladder, Repair, RepairTarget, attempt_failed, strategies_of
from tracer_hooks.schema import Attribution, Evidence, FindingKind, RunKind, Step, Trajectory, Usage
from tracer_hooks.tasks import SuiteTask
from tracer_hooks_lab.teams._architectures import Blueprint

EVERY_S: Final = 60.0
_PATIENCE_S: Final = 3


@dataclass(frozen=True)
class Experiment:
    """One suite with the team that works on it."""

    suite: str
    plan: Blueprint
    tasks: Sequence[SuiteTask]
    ask: Ask

    def task(self, task_id: str) -> SuiteTask:
        """The task of this id."""
        return next(task for task in self.tasks if task.id == task_id)


def first_attempt(experiment: Experiment, task: SuiteTask, attempt: int) -> Row:
    """A recorded run; of a failed one everything that the repairs need."""
    judged: list[Any] = []

    def check(result: RunResult, _task: str) -> Verdict:
        judged.append(judge(experiment.suite, task, result.text))
        return Verdict(passed=judged[-1].passed, score=judged[-1].score, reason=judged[-1].reason)

    trial = rerunner(recorded_team(experiment.plan), task.text, check=check).run(kind=RunKind.LIVE)
    if trial.error is not None:
        raise trial.error
    spoken = [step for step in trial.trajectory.steps if step.agent in experiment.plan.instructions]
    turns = [_turn(step) for step in spoken]
    row: Row = {
        "kind": "first",
        "id": f"{task.id}#{attempt}",
        "suite": experiment.suite,
        "task": task.id,
        "passed": judged[-1].passed,
        "score": judged[-1].score,
        "turns": [asdict(turn) for turn in turns],
        "tokens_in": sum(turn.tokens_in for turn in turns),
        "tokens_out": sum(turn.tokens_out for turn in turns),
    }
    if not row["passed"]:
        row |= _diagnosed(experiment, task, trial.trajectory, turns, [step.index for step in spoken])
        row["feedback"] = judged[-1].feedback
    return row


def _turn(step: Step) -> Turn:
    usage = step.usage or Usage()
    return Turn(step.agent, step.content, "", usage.input_tokens or 0, usage.output_tokens or 0)


def _diagnosed(
    experiment: Experiment, task: SuiteTask, seen: Trajectory, turns: Sequence[Turn], places: Sequence[int]
) -> Row:
    found = get_attributor("structural").attribute(seen.model_copy(update={"reference": None}))
    blame = {
        "agent": None if found.abstained else found.agent,
        "step": None if found.abstained else sum(place < (found.step or 0) for place in places),
        "confidence": found.confidence,
        "mode": found.error_mode.value if found.error_mode else None,
    }
    wrong = experiment.suite in CHAINS and wrong_steps(experiment.suite, task, [turn.text for turn in turns])
    return {
        "truth": decisive_step(experiment.suite, task, turns),
        "wrong_steps": wrong or None,
        "blame": blame,
        "attribution": found.model_dump(mode="json"),
        "trajectory": seen.model_dump(mode="json"),
    }


def trial(
    experiment: Experiment, failure: Row, action: str, draw: int, known: Known | None = None, told: str = ""
) -> Row:
    """One retry, of which the live turns are paid for."""
    task = experiment.task(failure["task"])
    changes = changes_of(action, failure, told)
    turns = play(experiment.plan, experiment.ask, task.text, changes, known)
    judged = judge(experiment.suite, task, turns[-1].text)
    live = turns[len(changes.kept) :]
    return {
        "kind": "trial",
        "failure": failure["id"],
        "suite": experiment.suite,
        "action": action,
        "draw": draw,
        "passed": judged.passed,
        "score": judged.score,
        "tokens_in": sum(turn.tokens_in for turn in live),
        "tokens_out": sum(turn.tokens_out for turn in live),
        "said": [asdict(turn) for turn in live],
    }


def climbed(failure: Row, arm: str) -> tuple[Repair, str]:
    """The ladder's first repair of a failure, and the name of what it does."""
    general, named = REASONS[failure["suite"]]
    reason = named.format(agent=failure["turns"][failure["truth"]]["agent"]) if arm == "ladder_named" else general
    run = Trajectory.model_validate(failure["trajectory"]).model_copy(update={"outcome_reason": reason})
    found = get_attributor("structural").attribute(run)
    if arm.endswith("finding"):
        found = _sure(found, is_first=arm != "finding", tells_wrong=arm != "right_value_finding")
    reopened = Failure.of(run, found, feedback=reason, steps=range(len(run.steps)))
    repair = Ladder(reopened, strategies_of("auto")).choose()
    if repair.is_plain:
        return repair, resume(None)
    if arm.endswith("finding"):  # the library's own ladder resumes there and does not tell it, since this arm lost
        text = attempt_failed(f"{found.evidence[0].why} {reason}")
        repair = repair.model_copy(update={"target": RepairTarget.MESSAGE, "text": text})
    agents = {turn["agent"] for turn in failure["turns"]}
    kept = sum(step.agent in agents for step in run.steps[: repair.resume_from or 0])
    return repair, f"{resume(kept, repair.agent)}+{arm}"


_NO_PROOF: Final = (FindingKind.ANSWER_ORIGIN, FindingKind.ENDING, FindingKind.LOOP, FindingKind.REASON_MATCHED)


def _sure(found: Attribution, *, is_first: bool, tells_wrong: bool) -> Attribution:
    """The diagnosis as if a finding at the blamed step, or the first finding of the run, were proof of the step."""
    proving = [each for each in found.findings if each.step is not None and each.kind not in _NO_PROOF]
    proving = [each for each in proving if is_first or (each.step == found.step and each.leads_to_answer)]
    if not proving:
        return found
    first = min(proving, key=lambda each: each.step)
    told = first.text if tells_wrong else re.sub(r", not [^,]*$", ".", first.text)
    why = Evidence(step=first.step, quote=first.quote, why=told, kind="value")
    sure = {"agent": first.agent, "step": first.step, "confidence": 1.0, "abstained": False, "evidence": (why,)}
    shown = [first.model_copy(update={"leads_to_answer": True})]
    return found.model_copy(update=sure | {"findings": (*shown, *found.findings)})


class Queue:
    """Work for many threads, the lowest number first."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._count = itertools.count()
        self._lock = threading.Lock()
        self.is_stopped = False

    def put(self, urgency: float, work: Callable[[], None]) -> None:
        """Add work."""
        with self._lock:
            heapq.heappush(self._heap, (urgency, next(self._count), work))

    def stop(self) -> None:
        """Give out no more work."""
        self.is_stopped = True

    def take(self) -> Callable[[], None] | None:
        """The most urgent work; None when there is none."""
        with self._lock:
            return None if self.is_stopped or not self._heap else heapq.heappop(self._heap)[2]


class Workers:
    """Threads that work a queue off, until it is empty and nobody can add to it, or until it is stopped.

    Args:
        queue: The work.
        count: How many threads.
    """

    def __init__(self, queue: Queue, count: int) -> None:
        self._queue = queue
        self._busy = self.failures = 0
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(count)]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    @property
    def are_alive(self) -> bool:
        """Whether any of them still works."""
        return any(thread.is_alive() for thread in self._threads)

    def _run(self) -> None:
        while True:
            with self._lock:
                self._busy += 1
            work = self._queue.take()
            if work is not None:
                self._do(work)
            with self._lock:
                self._busy -= 1
                is_over = work is None and (self._queue.is_stopped or self._busy == 0)
            if is_over:
                return
            if work is None:
                time.sleep(0.2)

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # the endpoint, or a bug: what is missing is run at the next start
            self.failures += 1
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            time.sleep(_PATIENCE_S)


def work_off(queue: Queue, workers: int, seconds: float, report: Callable[[], str]) -> None:
    """Empty the queue, or stop it when the time is over; what is under way still ends."""
    end, shown = time.monotonic() + seconds, 0.0
    threads = Workers(queue, workers)
    threads.start()
    while threads.are_alive:
        if time.monotonic() >= end:
            queue.stop()
        if time.monotonic() - shown >= EVERY_S:
            shown = time.monotonic()
            print(f"{time.strftime('%H:%M:%S')} {report()}; {threads.failures} errors", flush=True)
        time.sleep(0.2)


@dataclass(frozen=True)
class Phase:
    """Trials that are wanted of every failure.

    Attributes:
        urgency: The lower, the sooner.
        late: The urgency for failures of an earlier start; default the same.
    """

    urgency: float
    arms: Sequence[str]
    rounds: int = 1
    late: float | None = None


class Schedule:
    """Puts first attempts, and the trials of those that failed, into a queue.

    Args:
        journal: What was run is not run again.
        queue: Where the work goes.
    """

    def __init__(self, journal: Journal, queue: Queue) -> None:
        self._journal, self._queue = journal, queue
        self._lock = threading.Lock()
        self._running: defaultdict[tuple[str, str, int], threading.Lock] = defaultdict(threading.Lock)

    def add(self, experiment: Experiment, urgency: float, wanted: int, attempts: int, phases: Sequence[Phase]) -> None:
        """First attempts at every task until ``wanted`` of them failed, with the trials of those that fail."""
        for failure in self._journal.failures(experiment.suite):
            late = [replace(one, urgency=one.urgency if one.late is None else one.late) for one in phases]
            self._trials(experiment, failure, late)
        for attempt in range(attempts):
            for task in experiment.tasks:
                if f"{task.id}#{attempt}" not in self._journal.firsts:
                    self._queue.put(urgency + attempt / 100, self._first(experiment, task, attempt, wanted, phases))

    def _first(
        self, experiment: Experiment, task: SuiteTask, attempt: int, wanted: int, phases: Sequence[Phase]
    ) -> Callable[[], None]:
        def work() -> None:
            if len(self._journal.failures(experiment.suite)) >= wanted:
                return
            row = first_attempt(experiment, task, attempt)
            self._journal.add(row)
            if not row["passed"]:
                self._trials(experiment, row, phases)

        return work

    def _trials(self, experiment: Experiment, failure: Row, phases: Sequence[Phase]) -> None:
        for phase in phases:
            if phase.rounds > 1:
                self._queue.put(phase.urgency, lambda phase=phase: self._in_turn(experiment, failure, phase))
                continue
            self._queue.put(phase.urgency, lambda phase=phase: self._one_each(experiment, failure, phase.arms))

    def _one_each(self, experiment: Experiment, failure: Row, arms: Sequence[str]) -> None:
        for arm in arms:
            if arm not in LADDERS:
                self.once(experiment, failure, ARMS[arm](failure, 0), 0)
            elif failure["id"] not in self._journal.chosen.get(arm, {}):
                repair, action = climbed(failure, arm)
                self.once(experiment, failure, action, 0, repair.text)
                row = {"kind": "chosen", "arm": arm, "failure": failure["id"], "actions": [action]}
                self._journal.add(row | {"rung": repair.strategy, "told": repair.text})

    def _in_turn(self, experiment: Experiment, failure: Row, phase: Phase) -> None:
        """Each arm's retries one after the other, until one passes."""
        known = self._journal.finished.get(failure["id"], {})
        arms = [arm for arm in phase.arms if known.get(arm, 0) < phase.rounds]
        for arm in arms:
            used: dict[str, int] = {}
            for round_ in range(phase.rounds):
                action = ARMS[arm](failure, round_)
                draw = used.get(action, 0)
                used[action] = draw + 1
                if self.once(experiment, failure, action, draw)["passed"]:
                    break
        if arms:
            self._journal.add({"kind": "finished", "failure": failure["id"], "arms": arms, "rounds": phase.rounds})

    def once(self, experiment: Experiment, failure: Row, action: str, draw: int, told: str = "") -> Row:
        """The trial, from the journal if it was run; arms that want the same one at once wait for each other.

        What an agent answers to the same words is drawn once for all arms: they differ only from where they say or keep
        something else.
        """
        key = (failure["id"], action, draw)
        with self._lock:
            running = self._running[key]
        with running:
            if key not in self._journal.trials:
                known = self._known(failure["id"], draw)
                self._journal.add(trial(experiment, failure, action, draw, known, told))
        return self._journal.trials[key]

    def _known(self, failure: str, draw: int) -> Known:
        rows = [row for (of, _, number), row in list(self._journal.trials.items()) if (of, number) == (failure, draw)]
        turns = [Turn(**turn) for row in rows for turn in row.get("said", ())]
        return {(turn.agent, turn.prompt): turn for turn in turns}
