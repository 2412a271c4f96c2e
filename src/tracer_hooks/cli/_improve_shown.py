"""An improvement on a terminal: the estimate, bars, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from tracer_hooks._api.improving import ImproveEstimate, ImproveProgress
from tracer_hooks._safe_text import on_screen
from tracer_hooks.cli._bars import ProgressDisplay
from tracer_hooks.cli._prompts_shown import diff_text
from tracer_hooks.report import ReportImprovement
from tracer_hooks.store import prompt_diff

_STYLES = {"succeeded": "bold green", "failed": "bold red", "spread": "bold yellow", "unknown": "bold"}
_MOST_REFUSED = 6
_WHY_CHARS = 160


class ImproveBars(ProgressDisplay):
    """Progress of an improvement: a bar for each phase, and a line for each thing that happened.

    Args:
        console: Where to.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(
            console, TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        )

    def show(self, progress: ImproveProgress) -> None:
        """Take news into account."""
        words = progress.phase.value
        if progress.done:
            words += f", {progress.passed / progress.done:.0%} passed"
        self.update(progress.phase.value, words, progress.done, progress.total)
        if progress.said:
            self.say(on_screen(progress.said[:1].upper() + progress.said[1:]) + ".")


def estimate_words(estimate: ImproveEstimate) -> str:
    """What it will take, in a sentence or two."""
    dealt = estimate.tasks
    parts = [f"at most {estimate.runs:,} runs of the team"]
    if estimate.tokens:
        parts.append(f"about {estimate.tokens:,} tokens")
    if estimate.seconds_per_run is not None:
        needed = _minutes(estimate.seconds_per_run * estimate.runs)
        parts.append(f"{needed} of the team's own time, one run after the other")
    if estimate.cost is not None:
        parts.append(f"a cost of about {estimate.cost:.3g}" if estimate.tokens else "a cost that is not known")
    unknown = " The runs report no tokens." if estimate.tokens == 0 else ""
    return (
        f"{dealt['propose']} tasks propose, {dealt['accept']} accept, {dealt['unused']} are kept for the end.\n"
        f"Estimate: {', '.join(parts)}; the model that writes comes on top.{unknown} Ctrl-C is safe: the same command "
        "goes on."
    )


def improvement_parts(found: ReportImprovement) -> Iterator[Text]:
    """The result, part by part."""
    yield Text(f"\n{on_screen(found.heading)}", style=_STYLES[found.tone])
    yield Text(on_screen(found.reason))
    for note in found.notes:
        yield Text(on_screen(f"Note: {note}."))
    for one in found.compared:
        line = Text(f"\n{one.title}: ", style="bold").append(one.figures, style="not bold")
        yield line.append(f" {one.meaning}" if one.meaning else "", style="not bold dim")
    if found.trial:
        yield Text(f"\n{found.trial}")
    if found.baseline:
        yield Text(f"\n{found.baseline}")
    if found.blame:
        shares = ", ".join(f"{agent} {share:.0%}".replace("%", " %") for agent, share in found.blame)
        yield Text(on_screen(f"Blame for the failures: {shares}."))
    for agent, before, after in found.prompts:
        yield Text(f"\n{on_screen(agent)}", style="bold")
        yield diff_text(prompt_diff(before, after, before_name="before", after_name="new"))
    yield from _looked_for(found)
    yield Text(f"\n{'; '.join(found.spent)}.", style="dim")
    for step in found.next:
        yield Text(on_screen(step.replace("`", "")))


def _looked_for(found: ReportImprovement) -> Iterator[Text]:
    if found.search:
        yield Text(f"\n{on_screen(found.search)}")
    if found.refused:
        yield Text("Written and not kept:")
    for one in found.refused[:_MOST_REFUSED]:
        times = f" ({one.count} times)" if one.count > 1 else ""
        why = one.why if len(one.why) <= _WHY_CHARS else f"{one.why[:_WHY_CHARS]}…"
        yield Text(on_screen(f"  {one.agent}: {' '.join(why.split())}{times}"))
    if len(found.refused) > _MOST_REFUSED:
        yield Text(f"  and for {len(found.refused) - _MOST_REFUSED} more reasons; see --report or --json")


def _minutes(seconds: float) -> str:
    if seconds < 1:
        return "less than a second"
    return f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:,.0f} minutes"
