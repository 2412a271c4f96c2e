"""What each arm made of each failure, read from the journal."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from _self_correction_actions import ARMS, PLAIN, Chooser
from _self_correction_journal import Journal

Row = Mapping[str, Any]
MOST_ROUNDS: Final = 3


@dataclass(frozen=True)
class Course:
    """One arm on one failure: its retries up to the first that passed.

    Attributes:
        tokens: Of each retry, in and out, only what the model was really asked.
        solved: The retry that passed, from 0; None if none did.
        unit: Tokens of the failed first attempt.
    """

    failure: str
    task: str
    is_right: bool
    tokens: Sequence[int]
    written: Sequence[int]
    solved: int | None
    unit: int

    def passed(self, rounds: int) -> bool:
        """Whether one of the first ``rounds`` retries passed."""
        return self.solved is not None and self.solved < rounds

    def spent(self, rounds: int) -> int:
        """Tokens of the first ``rounds`` retries that were made."""
        return sum(self.tokens[:rounds])

    @property
    def solved_at(self) -> float:
        """Tokens until the retry that passed had ended, in first attempts; infinite if none passed."""
        return float("inf") if self.solved is None else sum(self.tokens[: self.solved + 1]) / self.unit


def course(journal: Journal, failure: Row, chooser: Chooser, rounds: int) -> Course | None:
    """The course of an arm; None where a retry that it needs was not run."""
    used: dict[str, int] = {}
    tokens, written, solved = [], [], None
    for round_ in range(rounds):
        action = chooser(failure, round_)
        row = journal.trials.get((failure["id"], action, used.get(action, 0)))
        if row is None:
            return None
        used[action] = used.get(action, 0) + 1
        tokens.append(row["tokens_in"] + row["tokens_out"])
        written.append(row["tokens_out"])
        if row["passed"]:
            solved = round_
            break
    return course_of(failure, tokens, written, solved)


def course_of(failure: Row, tokens: Sequence[int], written: Sequence[int], solved: int | None) -> Course:
    """The course of retries with these tokens."""
    return Course(
        failure=failure["id"],
        task=failure["task"],
        is_right=failure["blame"]["step"] == failure["truth"],
        tokens=tokens,
        written=written,
        solved=solved,
        unit=failure["tokens_in"] + failure["tokens_out"],
    )


def courses(
    journal: Journal, failures: Iterable[Row], arm: str | Chooser, rounds: int, needs: Sequence[str] = ()
) -> dict[str, Course]:
    """The courses of an arm by failure, of those whose retries were run to the end.

    Later retries are run only where earlier ones failed. Of failures whose later retries are still to come, the easy
    ones would look complete: so all are left out for which the journal does not say that the arms were finished.
    ``needs`` are the arms that must be finished, by default the arm itself.
    """
    chooser = ARMS[arm] if isinstance(arm, str) else arm
    needed = [arm] if isinstance(arm, str) else needs
    found: dict[str, Course] = {}
    for failure in failures:
        known = journal.finished.get(failure["id"], {})
        if rounds == 1 or all(known.get(name, 0) >= rounds for name in needed):
            one = course(journal, failure, chooser, rounds)
            if one is not None:
                found[failure["id"]] = one
    return found


def half_of(task: str) -> int:
    """0 or 1: the half that a task belongs to, the same on every machine."""
    return hashlib.sha256(task.encode()).digest()[0] % 2


def gated(arm: str, cut: float) -> Chooser:
    """An arm where the blame is at least this sure, and a plain retry elsewhere."""

    def choose(failure: Row, round_: int) -> str:
        sure = failure["blame"]["step"] is not None and (failure["blame"]["confidence"] or 0.0) >= cut
        return ARMS[arm](failure, round_) if sure else PLAIN

    return choose


def best_cut(journal: Journal, failures: Sequence[Row], arm: str) -> float:
    """The cut with which the gated arm solves most in one retry; among equals the highest, which trusts least."""
    ran = [courses(journal, failures, name, 1) for name in (PLAIN, arm)]
    failures = [failure for failure in failures if all(failure["id"] in found for found in ran)]
    known = sorted({failure["blame"]["confidence"] or 0.0 for failure in failures})
    cuts = [known[int(share / 20 * (len(known) - 1))] for share in range(21)] + [2.0] if known else [2.0]

    def value(cut: float) -> tuple[int, float]:
        found = courses(journal, failures, gated(arm, cut), 1).values()
        return sum(one.passed(1) for one in found), cut

    return max(cuts, key=value)


def cross_gated(
    journal: Journal, failures: Sequence[Row], arm: str, rounds: int
) -> tuple[dict[str, Course], list[float]]:
    """The gated arm on each half of the tasks, with the cut that is best on the other half."""
    halves = [[one for one in failures if half_of(one["task"]) == half] for half in (0, 1)]
    cuts = [best_cut(journal, halves[1 - half], arm) for half in (0, 1)]
    judged: dict[str, Course] = {}
    for half in (0, 1):
        judged |= courses(journal, halves[half], gated(arm, cuts[half]), rounds, needs=(PLAIN, arm))
    return judged, cuts
