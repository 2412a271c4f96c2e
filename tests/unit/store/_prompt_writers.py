"""Processes that write runs, prompts and outcomes into one store and are killed; run as a script.

``_prompt_writers.py STORE FOLDER WRITERS KILLS`` forks the writers, kills one after the other at a moment drawn by
chance, and puts a new one in its place. Each writer keeps a journal in FOLDER: what it is about to do, then what the
store answered. A line is one write to the file, which the death of its process cannot take back.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tracer_hooks.errors import StoreError
from tracer_hooks.schema import Trajectory
from tracer_hooks.store import PromptArm, PromptOutcome, PromptPhase, PromptStore, RunStore, StoredRun

TEAMS = ("autogen-maths-1234abcd", "langgraph-desk-5678abcd")


class Writer:
    """One process's work, and its journal."""

    def __init__(self, path: str, journal: Path, name: str) -> None:
        self.name = name
        self.draw = random.Random(name)
        self.runs = RunStore(path, busy_timeout_s=60)
        self.prompts = PromptStore(path, busy_timeout_s=60)
        self.journal = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def work(self) -> None:
        for turn in range(1_000_000):
            team = self.draw.choice(TEAMS)
            self.save(f"{self.name}-{turn}", team)
            for _ in range(3):
                # Some runs are counted by several processes, as after a journal is read again.
                run_id = f"{self.name}-{turn}" if self.draw.random() < 0.5 else f"shared-{self.draw.randrange(500)}"
                self.count(run_id, team)
            self.change(team, turn)

    def save(self, run_id: str, team: str) -> None:
        trajectory = Trajectory(run_id=run_id, team=team)
        run = StoredRun(
            run_id=run_id, session_id=run_id, team=team, started_at=datetime.now(UTC), trajectory=trajectory
        )
        self.log("run", run_id=run_id)
        self.runs.save(run)
        self.log("run", run_id=run_id, answer=True)

    def count(self, run_id: str, team: str) -> None:
        versions = self.numbers(team)
        if not versions:
            return
        number, passed = self.draw.choice(versions), self.draw.random() < 0.5
        outcome = PromptOutcome(
            run_id=run_id,
            arm=self.draw.choice(list(PromptArm)),
            phase=self.draw.choice(list(PromptPhase)),
            passed=passed,
            score=float(passed),
            counted_at=datetime.now(UTC),
        )
        said = {"team": team, "number": number, "run_id": run_id}
        self.log("count", **said)
        self.log("count", **said, answer=self.prompts.count(team, number, outcome))

    def change(self, team: str, turn: int) -> None:
        """Bring a version on its way, or take one back."""
        text = f"{self.name}-{turn}"
        self.log("proposed", team=team, text=text)
        number = self.prompts.propose(team, {"solver": text}, {"solver": "own"}).number
        self.log("proposed", team=team, text=text, answer=number)
        prompts = self.prompts
        if self.do("put on trial", team, number, lambda: prompts.start_trial(team, number)):
            self.do("accepted", team, number, lambda: prompts.accept(team, number, evidence={"by": text}))
        used = prompts.current(team)
        if used is not None and self.draw.random() < 0.4:
            self.do("rolled back", team, used.number, lambda: prompts.roll_back(team, used.number, reason=text))

    def do(self, what: str, team: str, number: int, change: Any) -> bool:
        self.log(what, team=team, number=number)
        try:
            change()
        except StoreError as error:  # another process was faster; anything else would be a fault of the store
            if " prompts " not in str(error):
                raise
            self.log(what, team=team, number=number, answer=False)
            return False
        self.log(what, team=team, number=number, answer=True)
        return True

    def numbers(self, team: str) -> list[int]:
        return [version.number for version in self.prompts.versions(team)][-4:]

    def log(self, what: str, **said: Any) -> None:
        os.write(self.journal, json.dumps({"what": what, **said}).encode() + b"\n")


def start(path: str, folder: Path, number: int) -> int:
    """A new writer; gives its process."""
    child = os.fork()
    if child:
        return child
    try:
        Writer(path, folder / f"{number}.jsonl", f"w{number}").work()
    except BaseException as error:
        (folder / f"{number}.error").write_text(f"{type(error).__name__}: {error}")
    os._exit(1)


def main(path: str, folder: Path, writers: int, kills: int) -> None:
    draw = random.Random(11)
    PromptStore(path).teams()  # so that SQLAlchemy is loaded once, not in every child
    alive = [start(path, folder, number) for number in range(writers)]
    for number in range(writers, writers + kills):
        wait_for(folder, draw.randrange(500, 5000))
        time.sleep(draw.uniform(0, 0.02))  # not always just after something was written
        place = draw.randrange(writers)
        end(alive[place])
        alive[place] = start(path, folder, number)
    wait_for(folder, 5000)
    for process in alive:
        end(process)


def wait_for(folder: Path, more: int) -> None:
    """Return when the journals have grown by so many bytes: work, not time, passes between two kills."""
    until, wanted = time.monotonic() + 30, written(folder) + more
    while written(folder) < wanted and time.monotonic() < until:
        time.sleep(0.002)


def written(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.jsonl"))


def end(process: int) -> None:
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
