"""Processes that are killed at a moment drawn by chance, and what they had said until then."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Say = Callable[..., None]
"""Notes a line. Each is one write to a file, which the death of its process cannot take back."""
_LONGEST_S = 20.0
"""How long a process is waited for that says nothing."""


@dataclass
class Life:
    """One process from its start to its end."""

    number: int
    round: int
    """How many lives before it had ended by themselves when it began."""
    said: list[dict[str, Any]] = field(default_factory=list)
    killed: bool = False
    error: str = ""


@dataclass
class Found:
    """What came of a kind of work."""

    acknowledged: int
    """What the processes said was done after the call had returned."""
    early: int = 0
    """Of those, what had still to be committed when the call returned: it had waited for as long as it may."""
    early_lost: int = 0
    """Of the early ones, what is not there; not counted as lost."""
    lost: int = 0
    """Of those, what is not there."""
    doubled: int = 0
    """What is there more than once."""
    damaged: list[str] = field(default_factory=list)
    """What cannot be read, or is there by half."""
    rounds: int = 0
    """Jobs that were killed, taken up again and came to their end."""


class Work(ABC):
    """A kind of work that processes are killed at.

    Attributes:
        name: For the table.
        processes: How many work at the same time.
        lines: A process is killed after it has said a number of lines from 0 to this, drawn by chance: work, not time,
            passes between two kills, however busy the machine is.
        span_s: And then at a moment within so many seconds.
    """

    name: str
    processes = 1
    lines = 10
    span_s = 0.05

    def prepare(self, folder: Path) -> None:
        """Import what the work needs, in the process that all others are forked from; start no thread."""
        folder.mkdir(parents=True)

    @abstractmethod
    def work(self, folder: Path, life: int, round_: int, say: Say) -> None:
        """What a process does until it is killed, or is done."""

    def look(self, folder: Path, life: Life) -> list[str]:
        """What is damaged now that ``life`` has ended."""
        return []

    @abstractmethod
    def found(self, folder: Path, lives: list[Life]) -> Found:
        """What is there in the end, beside what was said."""


def killed(work: Work, folder: Path, kills: int, seed: int) -> Found:
    """Have ``work`` done by processes that are killed, ``kills`` times in all."""
    work.prepare(folder)
    draw, lives, damaged = random.Random(seed), list[Life](), list[str]()
    alive: dict[int, Life] = {}
    ended = 0

    def start() -> None:
        life = Life(number=len(lives), round=ended)
        lives.append(life)
        alive[_fork(work, folder, life)] = life

    def bury(process: int, *, killed: bool) -> None:
        life = alive.pop(process)
        life.said, life.killed, life.error = _said(folder, life), killed, _error(folder, life)
        damaged.extend([f"life {life.number}: {life.error}"] if life.error else [])
        damaged.extend(work.look(folder, life))

    while sum(life.killed for life in lives) < kills and len(damaged) < 10:
        while len(alive) < work.processes:
            start()
        process = draw.choice(list(alive))
        _wait_for_lines(folder, alive[process], process, draw.randint(0, work.lines))
        time.sleep(draw.uniform(0, work.span_s))
        done, _ = os.waitpid(process, os.WNOHANG)
        if done:
            ended += 1
            bury(process, killed=False)
            continue
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        bury(process, killed=True)
    for process in list(alive):
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        bury(process, killed=False)
    found = work.found(folder, lives)
    found.damaged[:0] = damaged
    return found


def integrity(store: Path) -> list[str]:
    """What SQLite itself says against the file."""
    with closing(sqlite3.connect(store)) as connection:
        said = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
    return [] if said == ["ok"] else [f"{store.name}: {line}" for line in said]


def _fork(work: Work, folder: Path, life: Life) -> int:
    path = folder / f"life-{life.number}.jsonl"
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

        def say(**line: Any) -> None:
            os.write(handle, json.dumps(line).encode() + b"\n")

        work.work(folder, life.number, life.round, say)
        code = 0
    except BaseException:
        path.with_suffix(".error").write_text(traceback.format_exc()[-1500:])
    finally:
        os._exit(code)


def _wait_for_lines(folder: Path, life: Life, process: int, more: int) -> None:
    path, until = folder / f"life-{life.number}.jsonl", time.monotonic() + _LONGEST_S
    wanted = _lines(path) + more
    while time.monotonic() < until and _lines(path) < wanted:
        if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return
        time.sleep(0.002)


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _said(folder: Path, life: Life) -> list[dict[str, Any]]:
    path = folder / f"life-{life.number}.jsonl"
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def _error(folder: Path, life: Life) -> str:
    path = folder / f"life-{life.number}.error"
    return path.read_text() if path.exists() else ""
