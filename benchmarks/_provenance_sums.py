"""Calculations in all spellings: which wrong ones are found, and which right ones are falsely accused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from _provenance_measure import Share, share

from tracer_hooks.schema import RunOutcome, Step, Trajectory

Rule = Callable[[str], bool]
"""Whether a text is accused of a wrong calculation."""


@dataclass(frozen=True)
class Line:
    """One text, and whether all that it calculates holds."""

    text: str
    holds: bool
    note: str


@dataclass(frozen=True)
class Sums:
    """How one rule did on one file."""

    rule: str
    half: str
    found: Share
    accused: Share
    wrong: tuple[Line, ...]
    """Lines that the rule gets wrong."""


def read_lines(path: Path) -> list[Line]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Line(**json.loads(line)) for line in lines if line.strip()]


def parser_rule() -> Rule | None:
    """The parser of calculations; None in versions that have none."""
    try:
        from tracer_hooks.values import calculations_in
    except ImportError:
        return None
    return lambda text: any(one.holds is False for one in calculations_in(text))


def signal_rule() -> Rule | None:
    """The rule "a sum does not add up" of the structural rules, on a run of one step; None where there is none."""
    try:
        from tracer_hooks.attribution._reading._trace import Trace
        from tracer_hooks.attribution._rules._values import wrong_sums
    except ImportError:
        return None

    def rule(text: str) -> bool:
        steps = (Step(index=0, agent="calculator", content=text),)
        trace = Trace(Trajectory(run_id="sum", steps=steps, outcome=RunOutcome.FAILED))
        return any(True for _ in wrong_sums(trace))

    return rule


def measure_sums(name: str, rule: Rule, path: Path) -> Sums:
    lines = read_lines(path)
    accused = {line: rule(line.text) for line in lines}
    return Sums(
        rule=name,
        half=path.stem.removeprefix("sums_"),
        found=share(accused[line] for line in lines if not line.holds),
        accused=share(accused[line] for line in lines if line.holds),
        wrong=tuple(line for line in lines if accused[line] == line.holds),
    )
