"""A diagnosis for the terminal: the answer first, then how the error spread, then the alternatives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tracer_hooks.report._suggestions import suggestion
from tracer_hooks.report._wording import confidence_words, in_seconds, one_line, verdict
from tracer_hooks.schema import Attribution, Evidence, Trajectory

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_BAR = 20
_QUOTE = 240
_MOST_QUOTES = 3
_MOST_CANDIDATES = 4


def diagnosis_text(trajectory: Trajectory, attribution: Attribution) -> RenderableType:
    """What :func:`rich.print` shows of a diagnosis.

    Text from the run is never read as markup, so brackets in it are shown as they are.
    """
    from rich.console import Group

    return Group(*_lines(trajectory, attribution))


def _lines(trajectory: Trajectory, attribution: Attribution) -> Iterator[RenderableType]:
    abstained = attribution.abstained or attribution.agent is None
    yield _text((one_line(verdict(attribution), 400), "bold yellow" if abstained else "bold red"))
    yield _text((_run_line(trajectory), "dim"))
    if not abstained:
        yield from _answer(attribution)
    yield from _quotes("Evidence", trajectory, attribution.evidence)
    yield _text(("\nWhat to try  ", "bold"), (suggestion(attribution), ""))
    yield from _quotes("How it spread", trajectory, attribution.spread)
    yield from _others(attribution, abstained=abstained)
    spent = in_seconds(attribution.elapsed_s)
    yield _text((f"\nby {one_line(attribution.attributor, 80) or 'an unnamed attributor'}, {spent}", "dim"))


def _run_line(trajectory: Trajectory) -> str:
    name = one_line(trajectory.team, 60) or "unnamed team"
    parts = [f"run {one_line(trajectory.run_id, 60)} of {name}", f"{len(trajectory.steps)} steps"]
    parts.append(trajectory.outcome.value)
    if trajectory.outcome_reason:
        parts.append(one_line(trajectory.outcome_reason, 160))
    return ", ".join(parts)


def _answer(attribution: Attribution) -> Iterator[Text]:
    filled = round(attribution.confidence * _BAR)
    yield _text(("\nConfidence   ", "bold"), ("█" * filled, "red"), ("░" * (_BAR - filled), "dim"))
    yield _text((f"             {attribution.confidence:.0%}, {confidence_words(attribution.confidence)}", ""))
    if attribution.error_mode is not None:
        mode = attribution.error_mode
        yield _text(("Error mode   ", "bold"), (f"{mode.value} {mode.title}. ", ""), (mode.definition, "dim"))


def _quotes(title: str, trajectory: Trajectory, quotes: Sequence[Evidence]) -> Iterator[Text]:
    if not quotes:
        return
    yield _text((f"\n{title}", "bold"))
    for each in quotes[:_MOST_QUOTES]:
        agent = trajectory.steps[each.step].agent if each.step < len(trajectory.steps) else "unknown"
        yield _text((f"  step {each.step}, {one_line(agent, 60)}: ", "cyan"), (one_line(each.why, 200), ""))
        yield _text((f"    “{one_line(each.quote, _QUOTE)}”", "italic"))
    if len(quotes) > _MOST_QUOTES:
        yield _text((f"  and {len(quotes) - _MOST_QUOTES} more", "dim"))


def _others(attribution: Attribution, *, abstained: bool) -> Iterator[Text]:
    answer = (attribution.agent, attribution.step)
    others = [each for each in attribution.candidates if abstained or (each.agent, each.step) != answer]
    if not others:
        return
    yield _text(("\nAlternatives" if abstained else "\nOther candidates", "bold"))
    for each in others[:_MOST_CANDIDATES]:
        yield _text((f"  {each.score:>4.0%}  ", ""), (f"step {each.step}, {one_line(each.agent, 60)}", ""))


def _text(*parts: tuple[str, str]) -> Text:
    from rich.text import Text

    return Text.assemble(*parts)
