"""What is right of answers and of single calculations: counts with intervals, by fault, framework and certainty."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from _provenance_runs import Run

from tracer_hooks.diagnosis import Attributor
from tracer_hooks.replay import wilson
from tracer_hooks.schema import Attribution, RunOutcome, StepKind
from tracer_hooks.values import calculations_in

HELD_OUT = "held_out"
"""Cases whose half begins with this are counted; no text, name or id of them is written anywhere."""


@dataclass(frozen=True)
class Answer:
    """What was said of one failed run, and whether it is right."""

    run: Run
    agent: str | None
    step: int | None
    certainty: str
    error_mode: str | None
    evidence: str

    @property
    def is_agent_right(self) -> bool:
        return self.agent == self.run.agent

    @property
    def is_right(self) -> bool:
        return self.is_agent_right and self.step == self.run.step


@dataclass(frozen=True)
class Share:
    """How many of how many, with the 95 % Wilson interval."""

    right: int
    of: int

    def __str__(self) -> str:
        low, high = wilson(self.right, self.of)
        return f"{self.right}/{self.of} [{low:.2f}, {high:.2f}]"

    def as_json(self) -> dict[str, Any]:
        low, high = wilson(self.right, self.of)
        return {"right": self.right, "of": self.of, "low": round(low, 4), "high": round(high, 4)}


def share(truths: Iterable[bool]) -> Share:
    listed = list(truths)
    return Share(sum(listed), len(listed))


def certainty_of(attribution: Attribution) -> str:
    """How sure it says that it is; versions that do not say are ``not said``."""
    if attribution.abstained:
        return "abstained"
    said = getattr(attribution, "certainty", None)
    return "not said" if said is None else str(getattr(said, "value", said))


def answers(attributor: Attributor, runs: Iterable[Run]) -> list[Answer]:
    """Diagnose the failed runs, told nothing but that the check failed."""
    return [_answer(attributor, run) for run in runs if run.twin == "failed"]


def _answer(attributor: Attributor, run: Run) -> Answer:
    told = attributor.attribute(run.trajectory)
    mode = told.error_mode.value if told.error_mode is not None else None
    evidence = "; ".join(f"{item.step}: {item.why} «{item.quote}»" for item in told.evidence[:2])
    return Answer(run, told.agent, told.step, certainty_of(told), mode, evidence)


@dataclass(frozen=True)
class Clean:
    """What is said of runs without a mistake."""

    unknown: Share
    """Faults found where nobody said that the run failed; all of them are false."""
    clear: Share
    """Claimed to be clear where a check rejects what is right."""
    false: tuple[Answer, ...]
    """The faults found, and the clear ones."""


def clean(attributor: Attributor, runs: Sequence[Run]) -> Clean:
    """What is said of the clean twins, as runs of unknown outcome and as failed ones."""
    twins = [run for run in runs if run.twin == "clean"]
    unknown = {"outcome": RunOutcome.UNKNOWN, "outcome_reason": None}
    told = [_answer(attributor, replace(run, trajectory=run.trajectory.model_copy(update=unknown))) for run in twins]
    rejected = [_answer(attributor, run) for run in twins]
    found = [one for one in told if one.certainty != "abstained"]
    clear = [one for one in rejected if one.certainty == "clear"]
    return Clean(Share(len(found), len(twins)), Share(len(clear), len(twins)), (*found, *clear))


def grouped(rows: Iterable[Answer], key: Callable[[Answer], str]) -> dict[str, list[Answer]]:
    groups: dict[str, list[Answer]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return dict(groups)


def in_all_frameworks(rows: Sequence[Answer]) -> Share:
    """Cases that are right in every framework: the frameworks see the same case, so their runs are not independent."""
    return share(all(row.is_right for row in of_case) for of_case in grouped(rows, lambda row: row.run.case).values())


def baselines(rows: Sequence[Answer]) -> dict[str, float]:
    """What is right by reading nothing."""
    if not rows:
        return {}
    first = sum(row.run.step == 0 for row in rows)
    last = sum(row.run.step == len(row.run.trajectory.steps) - 1 for row in rows)
    chance = sum(1 / len(row.run.trajectory.steps) for row in rows)
    words = [[step for step in row.run.trajectory.steps if step.kind is StepKind.MESSAGE] for row in rows]
    second = sum(len(said) > 1 and said[1].index == row.run.step for row, said in zip(rows, words, strict=True))
    counts = {"first step": first, "last step": last, "second agent's words": second, "random step": chance}
    return {name: count / len(rows) for name, count in counts.items()}


@dataclass(frozen=True)
class Line:
    """One text, and whether all that it calculates holds."""

    text: str
    holds: bool
    note: str


@dataclass(frozen=True)
class Sums:
    """How the parser did on one file."""

    half: str
    found: Share
    accused: Share
    wrong: tuple[Line, ...]
    """Lines that the parser gets wrong."""


def read_lines(path: Path) -> list[Line]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Line(**json.loads(line)) for line in lines if line.strip()]


def is_accused(text: str) -> bool:
    """Whether the parser of calculations finds one that does not hold."""
    return any(one.holds is False for one in calculations_in(text))


def measure_sums(path: Path) -> Sums:
    """What the parser finds in the single calculations of a file."""
    lines = read_lines(path)
    accused = {line: is_accused(line.text) for line in lines}
    return Sums(
        half=path.stem.removeprefix("sums_"),
        found=share(accused[line] for line in lines if not line.holds),
        accused=share(accused[line] for line in lines if line.holds),
        wrong=tuple(line for line in lines if accused[line] == line.holds),
    )
