"""A diagnosis for the terminal: the answer first, then how the error spread, then the alternatives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tracer_hooks.report._candidates import visible
from tracer_hooks.report._suggestions import suggestion
from tracer_hooks.report._ways import VALUE_LONGEST, told_of, ways_of
from tracer_hooks.report._wording import agent_words, belief_note, certainty_words, in_seconds, one_line, verdict
from tracer_hooks.schema import Attribution, Evidence, Trajectory, ValueLink, ValueOrigin

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_BAR = 20
_QUOTE = 240
_WHY = 500
_MOST_QUOTES = 3
_MOST_CANDIDATES = 4
_MOST_VALUES = 4


def diagnosis_text(trajectory: Trajectory, attribution: Attribution) -> RenderableType:
    """What :func:`rich.print` shows of a diagnosis.

    Text from the run is never read as markup, so brackets in it are shown as they are.
    """
    from rich.console import Group

    return Group(*_lines(trajectory, attribution))


def _lines(trajectory: Trajectory, attribution: Attribution) -> Iterator[RenderableType]:
    abstained = attribution.certainty is None
    yield _text(
        (one_line(verdict(attribution), 400), "bold red" if attribution.certainty == "clear" else "bold yellow")
    )
    yield _text((_run_line(trajectory), "dim"))
    if not abstained:
        yield from _answer(attribution)
    yield from _quotes("Evidence", trajectory, attribution.evidence)
    if attribution.certainty in ("clear", "likely"):
        yield from _values(trajectory, attribution)
    yield _text(("\nWhat to try  ", "bold"), (one_line(suggestion(attribution, trajectory), 600), ""))
    yield from _quotes("How it spread", trajectory, attribution.spread)
    yield from _others(trajectory, attribution, abstained=abstained)
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
    yield _text((f"             {attribution.confidence:.0%}, {certainty_words(attribution)}", ""))
    if said := agent_words(attribution):
        yield _text((f"             {one_line(said, 160)}", ""))
    if attribution.error_mode is not None:
        mode = attribution.error_mode
        doubt = ", if it is this step" if attribution.certainty == "weak" else ""
        yield _text(("Error mode   ", "bold"), (f"{mode.value} {mode.title}{doubt}. ", ""), (mode.definition, "dim"))


def _quotes(title: str, trajectory: Trajectory, quotes: Sequence[Evidence]) -> Iterator[Text]:
    if not quotes:
        return
    yield _text((f"\n{title}", "bold"))
    for each in quotes[:_MOST_QUOTES]:
        agent = trajectory.steps[each.step].agent if each.step < len(trajectory.steps) else "unknown"
        yield _text((f"  step {each.step}, {one_line(agent, 60)}: ", "cyan"), (one_line(each.why, _WHY), ""))
        if each.quote:
            yield _text((f"    “{one_line(each.quote, _QUOTE)}”", "italic"))
    if len(quotes) > _MOST_QUOTES:
        yield _text((f"  and {len(quotes) - _MOST_QUOTES} more", "dim"))


def _values(trajectory: Trajectory, attribution: Attribution) -> Iterator[Text]:
    """The way of the values that matter most, in a few lines."""
    ways = [way for way in ways_of(attribution) if way.matters]
    told = [(link, words) for way in ways for link, words in told_of(way)]
    if len(told) < 2 or any(max(link.step, link.source or 0) >= len(trajectory.steps) for link, _ in told):
        return
    last = max(link.step for link, _ in told)
    told.sort(key=lambda one: _weight(one[0], last))
    told = sorted(told[:_MOST_VALUES], key=lambda one: one[0].step)
    yield _text((f"\nWhere the {'value comes' if len(ways) == 1 else 'values come'} from", "bold"))
    values = [one_line(link.value, VALUE_LONGEST) for link, _ in told]
    places = [_place(trajectory, link.step) for link, _ in told]
    for value, place, (_, words) in zip(values, places, told, strict=True):
        said = "".join(part.text if part.step is None else _place(trajectory, part.step) for part in words)
        yield _text(
            (f"  {value:<{max(map(len, values))}}  ", "bold"),
            (f"{place:<{max(map(len, places))}}  ", "cyan"),
            (one_line(said, _QUOTE), ""),
        )


def _weight(link: ValueLink, last: int) -> tuple[bool, bool, bool, int]:
    """What is told first: what went wrong, the answer, where values come from, and who only repeats them."""
    return not link.origin.is_departure, link.step != last, link.origin is ValueOrigin.COPIED, link.step


def _place(trajectory: Trajectory, step: int) -> str:
    return f"step {step} {one_line(trajectory.steps[step].agent, 40)}"


def _others(trajectory: Trajectory, attribution: Attribution, *, abstained: bool) -> Iterator[Text]:
    answer = (attribution.agent, attribution.step)
    others = [each for each in visible(attribution) if abstained or (each.agent, each.step) != answer]
    if not others:
        return
    yield _text(("\nAlternatives" if abstained else "\nOther candidates", "bold"))
    for each in others[:_MOST_CANDIDATES]:
        yield _text((f"  {each.score:>4.0%}  ", ""), (f"step {each.step}, {one_line(each.agent, 60)}", ""))
    shown = [each.score for each in others[:_MOST_CANDIDATES]] + ([] if abstained else [attribution.confidence])
    if note := belief_note(shown, steps=len(trajectory.steps)):
        yield _text((f"  {note}", "dim"))


def _text(*parts: tuple[str, str]) -> Text:
    from rich.text import Text

    return Text.assemble(*parts)
