"""What was tried to recover a run, for the terminal: the result first, then a line a trial."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracer_hooks.repairs import Repair, RepairLog, RepairTarget
from tracer_hooks.report._trial_words import (
    capital,
    from_where,
    outcome_word,
    price,
    result,
    sentence,
    was_run,
    what_it_shows,
    what_was_done,
    whole_price,
    why_it_stopped,
)
from tracer_hooks.report._wording import one_line
from tracer_hooks.schema import Trajectory

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_TOLD = 160
_NOTE = 300
_MOST = 20
_STYLES = {"passed": "green", "failed": "red", "not run": "yellow", "not known": "yellow"}


def repair_text(log: RepairLog, trajectory: Trajectory | None = None) -> RenderableType:
    """What :func:`rich.print` shows of the repairs of one call.

    Text from the run is never read as markup, so brackets in it are shown as they are.

    Args:
        log: What was tried.
        trajectory: A run of the call, to name the agents of the steps.
    """
    from rich.console import Group

    return Group(*_lines(log, trajectory))


def repair_line(repair: Repair, trajectory: Trajectory | None = None) -> str:
    """One repair in a few words: ``"told the team, with the task, resumed at step 2 (calculator)"``.

    Args:
        repair: The repair.
        trajectory: The failed run, to name the agent of the step.
    """
    return f"{what_was_done(repair)}, {from_where(repair, _agent(repair, trajectory))}"


def _lines(log: RepairLog, trajectory: Trajectory | None) -> Iterator[RenderableType]:
    yield _text(("What was tried  ", "bold"), (result(log), "green" if log.recovered else "yellow"))
    trials = log.trials[:_MOST]
    cells = [(outcome_word(each), what_was_done(each.repair), _from(each.repair, trajectory)) for each in trials]
    wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for number, (trial, (word, done, where)) in enumerate(zip(trials, cells, strict=True), start=1):
        yield _text(
            (f"  {number:>2}  ", "dim"),
            (f"{word:<{wide[0]}}  ", _STYLES[word]),
            (f"{done:<{wide[1]}}  {where}", ""),
        )
        if paid := price(trial):
            yield _below((", ".join(paid), "dim"))
        if trial.repair.text and was_run(trial) and trial.repair.target is not RepairTarget.INSTRUCTIONS:
            yield _below((f"“{one_line(trial.repair.text, _TOLD)}”", "italic"))
        if trial.note:
            yield _below((sentence(one_line(trial.note, _NOTE)), "dim"))
    if len(log.trials) > _MOST:
        yield _text((f"  and {len(log.trials) - _MOST} more", "dim"))
    ends = (("Why it stopped", sentence(why_it_stopped(log))), ("What it shows", what_it_shows(log)))
    for title, said in (*ends, ("What it cost", sentence(capital(whole_price(log))))):
        if said:
            yield _text((f"{title:<14}  ", "bold"), (said, ""))


def _from(repair: Repair, trajectory: Trajectory | None) -> str:
    """The first live step, in few words: the line is to fit into 80 columns."""
    if repair.resume_from is None:
        return "from scratch"
    agent = one_line(_agent(repair, trajectory), 40)
    return f"from step {repair.resume_from}" + (f" ({agent})" if agent else "")


def _below(*parts: tuple[str, str]) -> RenderableType:
    """A line that belongs to the one above it, as its continuations do."""
    from rich.padding import Padding

    return Padding(_text(*parts), (0, 0, 0, 6), expand=False)


def _agent(repair: Repair, trajectory: Trajectory | None) -> str:
    step = repair.resume_from
    if step is None or trajectory is None or step >= len(trajectory.steps):
        return ""
    return trajectory.steps[step].agent


def _text(*parts: tuple[str, str]) -> Text:
    from rich.text import Text

    return Text.assemble(*parts)
