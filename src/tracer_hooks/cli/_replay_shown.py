"""Counterfactual replays on a terminal: progress, tables, verdicts."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from tracer_hooks.cli._bars import ProgressDisplay
from tracer_hooks.replay import Arm, Counterfactual, DecisiveSearch, Trial
from tracer_hooks.schema import Usage

_WORTH_SAYING = 0.5
"""A step that is likelier than all others together."""


class TrialProgress(ProgressDisplay):
    """Counts the runs of the team while they are made, on a terminal.

    Args:
        console: Where to.
        what: What is going on.
    """

    def __init__(self, console: Console, what: str) -> None:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        super().__init__(console, *columns, transient=True, on_terminals_only=True)
        self._what = what
        self._task = self._bars.add_task(what, total=None)
        self._runs = self._passed = 0

    def trial_ended(self, trial: Trial) -> None:
        """Count one run."""
        self._runs += 1
        self._passed += trial.passed
        said = f"{self._what}: {self._runs} runs, {self._passed} succeeded"
        self._bars.update(self._task, description=said)


def counterfactual_shown(result: Counterfactual) -> RenderableType:
    """The arms, the difference with its interval, the verdict and the cost."""
    table = Table(box=None, pad_edge=False)
    table.add_column("runs")
    for title in ("made", "succeeded", "rate"):
        table.add_column(title, justify="right")
    arms = [(f"step {result.step} ({result.agent}) corrected", result.corrected), ("as recorded", result.control)]
    if result.placebo_step is not None:
        arms.append((f"step {result.placebo_step} corrected instead", result.placebo))
    for name, arm in arms:
        table.add_row(Text(name), str(arm.trials), str(arm.flips), f"{arm.rate:.0%}" if arm.trials else "-")
    low, high = result.interval
    difference = Text(f"difference {result.effect:+.2f}, 95 % interval {low:+.2f} to {high:+.2f}")
    return Group(table, difference, _verdict(result), _cost(result.runs, result.usage))


def search_shown(found: DecisiveSearch) -> RenderableType:
    """The answer, what speaks for it, and the cost."""
    if found.decisive is None:
        answer = Text("no decisive step found", style="yellow")
        answer.append(f": {found.reason}", style="default")
        return Group(answer, *_suspected(found), _cost(found.runs, found.usage))
    answer = Text(f"decisive step {found.decisive.step}, agent {found.decisive.agent}", style="bold red")
    answer.append(f": {found.reason}", style="not bold default")
    evidence = found.evidence
    cost = _cost(found.runs, found.usage)
    return Group(answer, cost) if evidence is None else Group(answer, counterfactual_shown(evidence), cost)


def _suspected(found: DecisiveSearch) -> list[Text]:
    """The step that the runs point at without proving it, where there is one."""
    likeliest = next(iter(found.suspects), None)
    if likeliest is None or likeliest.score < _WORTH_SAYING or not found.tested:
        return []
    return [Text(f"most likely, and not proven: step {likeliest.step} ({likeliest.agent}), {likeliest.score:.0%}")]


def tested_line(test: Counterfactual) -> Text:
    """One line about a step that was tested in a search."""
    line = Text(f"step {test.step} ({test.agent}): corrected {_of(test.corrected)}, as recorded {_of(test.control)}")
    if test.is_significant:
        return line.append(" - it matters", style="red")
    return line.append(" - " + ("nothing had gone wrong yet" if test.control.rate > 0.5 else "no effect shown"))


def _verdict(result: Counterfactual) -> Text:
    if not result.is_significant:
        return Text(f"no effect of step {result.step} is shown ({result.stopped})", style="yellow")
    verdict = Text(f"step {result.step} matters: corrected, the run succeeds", style="green")
    if result.placebo.flips:
        verdict.append(
            f"; but with step {result.placebo_step} corrected instead it succeeds as well, "
            f"{_of(result.placebo)}: the correction may give the answer away",
            style="yellow",
        )
    return verdict


def _cost(runs: int, usage: Usage) -> Text:
    return Text(f"{runs} runs, {usage.input_tokens} tokens read and {usage.output_tokens} written live", style="dim")


def _of(arm: Arm) -> str:
    return f"{arm.flips} of {arm.trials}"
