"""The library's own search on the recorded failures: it chooses, and the trials are real ones.

Failures come in the order in which they happened, in batches: those of one batch run side by side and know what was
learned from the batches before. The choices depend on nothing but seed, failures and results, so that a second start
takes the same way through the journal, and asks the model only where it has not been.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from _self_correction_journal import PLAIN, TASK, Course, Journal, course_of

from tracer_hooks.repair import EffectCounts, Failure, PastTrial, Repair, RepairSearch, RepairTarget
from tracer_hooks.schema import Attribution, Candidate, RunOutcome, Trajectory, Usage

Row = Mapping[str, Any]
RunTrial = Callable[[Row, str, int], Row]
"""Gives the trial of a failure, an action and a number."""

BATCH: Final = 64
_SURE: Final = 0.95


@dataclass(frozen=True)
class Strategy:
    """One way of repairing, with the very text of the arms it is compared with."""

    name: str
    target: RepairTarget = RepairTarget.NOTHING

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        """The repair at a step."""
        if self.target is RepairTarget.NOTHING:
            return Repair(strategy=self.name, resume_from=step)
        if failure.feedback is None:
            return None
        agent = None
        if self.target is RepairTarget.MESSAGE:
            agent = failure.agent if step is None else failure.agent_at(step)
            if agent is None:
                return None
        return Repair(strategy=self.name, target=self.target, agent=agent, text=failure.feedback, resume_from=step)


@dataclass(frozen=True)
class Searching:
    """One way of letting the search choose.

    Attributes:
        oracle: Whether the diagnosis is replaced by the true step.
        by_cost: Whether the budget is in tokens, so that success by the token counts.
        trials: How many retries there may be.
        budget: Tokens after which there are no more, in those of the failed first attempt.
    """

    oracle: bool = False
    by_cost: bool = True
    trials: int = 6
    budget: float = 3.0


SEARCHES: Final = {
    "search": Searching(),
    "search, 3 retries": Searching(by_cost=False, trials=3, budget=math.inf),
    "search with an oracle step": Searching(oracle=True),
}
"""Arms of the library's search."""

STRATEGIES: Final = (
    Strategy("from_scratch"),
    Strategy("resample"),
    Strategy("feedback_in_task", RepairTarget.TASK),
    Strategy("feedback_in_message", RepairTarget.MESSAGE),
)


def action_of(repair: Repair) -> str:
    """The short name of what a repair does."""
    parts = [f"resume:{repair.resume_from}"] if repair.resume_from else []
    if repair.target is RepairTarget.TASK:
        parts.append(TASK)
    elif repair.target is RepairTarget.MESSAGE:
        parts.append(f"message:{repair.agent}")
    return "+".join(parts) or PLAIN


def failure_of(row: Row, *, oracle: bool) -> Failure:
    """The filtered failure; the oracle's diagnosis names the true step with near certainty."""
    run = Trajectory.model_validate(row["trajectory"])
    found = Attribution.model_validate(row["attribution"])
    if oracle:
        agent = run.steps[row["truth"]].agent
        sure = Candidate(agent=agent, step=row["truth"], score=_SURE)
        found = found.model_copy(
            update={
                "agent": agent,
                "step": row["truth"],
                "confidence": _SURE,
                "candidates": (sure,),
                "abstained": False,
                "abstained_reason": None,
                "evidence": (),
            }
        )
    steps = range(len(run.steps))
    return Failure.of(run, found, feedback=row["feedback"], steps=steps)


def searched(
    failures: Sequence[Row], run_trial: RunTrial, how: Searching, *, seed: int = 0
) -> Iterator[tuple[Row, list[tuple[str, Row]]]]:
    """Each failure with the actions that were chosen for it and their trials."""
    counts = EffectCounts()
    for begin in range(0, len(failures), BATCH):
        batch = failures[begin : begin + BATCH]
        with ThreadPoolExecutor(BATCH) as pool:
            done = list(pool.map(lambda row, known=counts: _search(row, known, run_trial, how, seed), batch))
        for row, (trials, gained) in zip(batch, done, strict=True):
            counts = counts.plus(gained)
            yield row, trials


def search_courses(journal: Journal, failures: Sequence[Row], arm: str) -> dict[str, Course]:
    """What the search made of the failures that it was run on."""
    found: dict[str, Course] = {}
    for row in failures:
        if (searched := journal.searched.get(arm, {}).get(row["id"])) is not None:
            found[row["id"]] = _course(journal, row, searched["actions"])
    return found


def _course(journal: Journal, row: Row, actions: Sequence[str]) -> Course:
    used: Counter[str] = Counter()
    trials = []
    for action in actions:
        trials.append(journal.trials[row["id"], action, used[action]])
        used[action] += 1
    tokens = [trial["tokens_in"] + trial["tokens_out"] for trial in trials]
    solved = len(trials) - 1 if trials[-1]["passed"] else None
    return course_of(row, tokens, [trial["tokens_out"] for trial in trials], solved)


def _search(
    row: Row, counts: EffectCounts, run_trial: RunTrial, how: Searching, seed: int
) -> tuple[list[tuple[str, Row]], EffectCounts]:
    number = zlib.crc32(f"{seed} {row['id']}".encode())
    search = RepairSearch(failure_of(row, oracle=how.oracle), STRATEGIES, counts, seed=number)
    used: dict[str, int] = {}
    trials: list[tuple[str, Row]] = []
    left_over = how.budget * (row["tokens_in"] + row["tokens_out"])
    for left in range(how.trials, 0, -1):
        repair = search.choose(trials_left=left, by_cost=how.by_cost)
        action = action_of(repair)
        result = run_trial(row, action, used.get(action, 0))
        used[action] = used.get(action, 0) + 1
        trials.append((action, result))
        search.learn(_past(repair, result))
        left_over -= result["tokens_in"] + result["tokens_out"]
        if result["passed"] or left_over <= 0:
            break
    return trials, search.gained


def _past(repair: Repair, result: Row) -> PastTrial:
    return PastTrial(
        repair=repair,
        outcome=RunOutcome.SUCCEEDED if result["passed"] else RunOutcome.FAILED,
        score=result["score"],
        usage=Usage(input_tokens=result["tokens_in"], output_tokens=result["tokens_out"]),
    )
