"""What was run, what each retry does, and what each arm made of each failure."""

from __future__ import annotations

import hashlib
import json
import lzma
import random
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

from _self_correction_tasks import Changes

from tracer_hooks_lab.teams._architectures import TeamUtterance

Row = dict[str, Any]

_TEXTS: Final = ("trajectory", "attribution", "rewrite", "said", "turns", "feedback", "told")


def _text_of(path: Path) -> str:
    if not path.exists():
        return ""
    if path.suffix == ".xz":
        return lzma.decompress(path.read_bytes()).decode("utf-8")
    return path.read_text(encoding="utf-8")


def _bare(row: Row) -> Row:
    """A row without texts; of the turns what arms depend on is kept."""
    bare = {key: value for key, value in row.items() if key not in _TEXTS}
    if row["kind"] == "first" and not row["passed"]:
        bare["turns"] = [{"agent": turn["agent"]} for turn in row["turns"]]
    return bare


class Journal:
    """First attempts by their id, trials by failure, action and number, and the rounds that arms were run to.

    A line that was cut off by a crash is passed over, and the next one begins on a line of its own.

    Args:
        path: The file; it is made if it is not there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self.firsts: dict[str, Row] = {}
        self.trials: dict[tuple[str, str, int], Row] = {}
        self.finished: dict[str, dict[str, int]] = {}
        self.chosen: dict[str, dict[str, Row]] = {}
        text = _text_of(path)
        for line in text.split("\n"):
            self._take(line)
        self._file: TextIO | None = None
        self._is_cut = bool(text) and not text.endswith("\n")

    def add(self, row: Row) -> None:
        """Keep one row, on the disk before it counts."""
        with self._lock:
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self._path.open("a", encoding="utf-8")
                self._file.write("\n" if self._is_cut else "")
            self._file.write(json.dumps(row, ensure_ascii=False) + "\n")
            self._file.flush()
            self._index(row)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def save_outcomes(self, path: Path) -> None:
        """Write what the report needs, without the texts of the runs, to a compressed file that can be read again."""
        chosen = [row for arm in self.chosen.values() for row in arm.values()]
        done = [
            {"kind": "finished", "failure": one, "arms": [arm], "rounds": rounds} for one, arm, rounds in self._done()
        ]
        rows = [*map(_bare, [*self.firsts.values(), *self.trials.values()]), *done, *map(_bare, chosen)]
        path.parent.mkdir(parents=True, exist_ok=True)
        with lzma.open(path, "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

    def _done(self) -> list[tuple[str, str, int]]:
        return [(one, arm, rounds) for one, arms in self.finished.items() for arm, rounds in arms.items()]

    def failures(self, suite: str) -> list[Row]:
        """The first attempts that failed, in the order of their runs."""
        return [row for row in list(self.firsts.values()) if row["suite"] == suite and not row["passed"]]

    def _take(self, line: str) -> None:
        if not line.strip():
            return
        try:
            row = json.loads(line)
        except ValueError:
            return
        self._index(row)

    def _index(self, row: Row) -> None:
        if row["kind"] == "first":
            self.firsts[row["id"]] = row
        elif row["kind"] in ("chosen", "searched"):  # the library's choice: of its ladder, formerly of its search
            self.chosen.setdefault(row["arm"], {})[row["failure"]] = row
        elif row["kind"] == "finished":
            known = self.finished.setdefault(row["failure"], {})
            known |= {arm: max(row["rounds"], known.get(arm, 0)) for arm in row["arms"]}
        else:
            self.trials[row["failure"], row["action"], row["draw"]] = row


Chooser = Callable[[Row, int], str]
"""The action of a failure in a round, which counts from 0."""

PLAIN: Final = "plain"
TASK: Final = "task"


LADDERS: Final = ("ladder", "ladder_named", "finding", "first_finding", "right_value_finding")
"""Arms that the library's ladder chooses: with a reason that tells nothing, and one that names the true step's agent;
with the former, taking a finding at the blamed step, or the first one of the run, for proof of the step; the
last says nothing of the wrong value."""


def changes_of(action: str, failure: Row, told: str = "") -> Changes:
    """What an action changes in a retry of this failure; ``told`` is said to an agent instead of the feedback."""
    kept: Sequence[TeamUtterance] = ()
    task_note, notes = "", {}
    for part in action.split("+"):
        what, _, where = part.partition(":")
        if what == "resume":
            kept = [TeamUtterance(turn["agent"], turn["text"]) for turn in failure["turns"][: int(where)]]
        elif what == "message":
            notes[where] = told or failure["feedback"]
        elif what == TASK:
            task_note = failure["feedback"]
        elif what not in (PLAIN, *LADDERS):
            raise ValueError(f"unknown action {action!r}")
    return Changes(kept=kept, task_note=task_note, notes=notes)


def resume(step: int | None, note_for: str | None = None) -> str:
    """The name of resuming at a step, told something or not; at the first step it is a run from scratch."""
    parts = [f"resume:{step}"] if step else []
    parts += [f"message:{note_for}"] if note_for else []
    return "+".join(parts) or PLAIN


def _blamed(failure: Row) -> tuple[int | None, str | None]:
    return failure["blame"]["step"], failure["blame"]["agent"]


def _true(failure: Row) -> tuple[int, str]:
    return failure["truth"], failure["turns"][failure["truth"]]["agent"]


def in_message(failure: Row, round_: int) -> str:
    """The feedback in the blamed agent's message."""
    return resume(None, _blamed(failure)[1])


def resumed(failure: Row, round_: int) -> str:
    """From the blamed step on, and one step earlier in each later round."""
    step = _blamed(failure)[0]
    return resume(None if step is None else max(step - round_, 0))


def resumed_oracle(failure: Row, round_: int) -> str:
    """From the step that is really the first wrong one."""
    return resume(_true(failure)[0])


def resumed_told(failure: Row, round_: int) -> str:
    """From the blamed step on, whose agent is told."""
    step, agent = _blamed(failure)
    return resume(None if step is None else max(step - round_, 0), agent)


def resumed_told_oracle(failure: Row, round_: int) -> str:
    """From the true step on, whose agent is told."""
    return resume(*_true(failure))


def resumed_anywhere(failure: Row, round_: int) -> str:
    """From a step that is drawn without looking."""
    return resume(random.Random(f"{failure['id']} {round_}").randrange(len(failure["turns"])))


ARMS: Final[Mapping[str, Chooser]] = {
    "plain": lambda failure, round_: PLAIN,
    "resume": resumed,
    "feedback_in_task": lambda failure, round_: TASK,
    "feedback_in_message": in_message,
    "resume_oracle": resumed_oracle,
    "resume+feedback_in_message": resumed_told,
    "oracle_resume+feedback": resumed_told_oracle,
    "resume_random": resumed_anywhere,
}
"""Arms that need nothing but the failure."""


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


def chosen_courses(journal: Journal, failures: Iterable[Row], arm: str) -> dict[str, Course]:
    """What an arm whose actions the library chose made of the failures that it was run on."""
    found: dict[str, Course | None] = {}
    for failure in failures:
        if (row := journal.chosen[arm].get(failure["id"])) is not None:
            actions = row["actions"]
            found[failure["id"]] = course(journal, failure, lambda _, round_, done=actions: done[round_], len(actions))
    return {name: one for name, one in found.items() if one is not None}


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
