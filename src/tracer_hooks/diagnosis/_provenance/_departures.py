"""Departures of a run from what it was given and shown, and the links between its values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tracer_hooks.schema import ValueOrigin as Origin

__all__ = ["Departure", "DepartureKind", "Link", "Origin"]


class DepartureKind(StrEnum):
    """Way in which a value went wrong."""

    MISCALCULATED = "miscalculated"
    """A written calculation, or a term between dates, does not come out."""
    MISREAD = "misread"
    """It says something else than the tool that it rests on returned."""
    MISCOPIED = "miscopied"
    """It says something else than the task or an earlier step said."""
    DROPPED = "dropped"
    """One of several values that were handed over is left out."""
    SWAPPED = "swapped"
    """The operands of a difference, a quotient or a call may stand the wrong way round."""
    UNSUPPORTED = "unsupported"
    """Nothing before it in the run gives this value, nor can it be worked out."""
    PLANNED = "planned"
    """The wrong answer's value is what a calculation gives that is asked for here; a later step only worked it out."""
    BROUGHT_IN = "brought in"
    """The wrong answer's value comes from here; nothing shows what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """A step that brought in a value which what came before does not bear out."""

    kind: DepartureKind
    step: int
    why: str
    """A sentence that is true of the step, without the full stop."""
    quote: str | None
    value: str | None
    """The wrong value as the step writes it; None where something is missing."""
    right: str | None = None
    """The right value, as it can be worked out or as the source writes it; None where that is not known."""
    missing: str | None = None
    """The item that is left out, as its source writes it."""
    sources: tuple[int, ...] = ()
    """The steps that the sentence speaks of."""
    strength: float = 1.0
    """From 0 to 1: how sure it is that this is a departure at all."""
    leads_to_answer: bool = False
    """The wrong final answer was followed back to it."""
    is_recorded: bool = False
    """It rests on a record that a tool returned, rather than on a likeness."""


@dataclass(frozen=True, slots=True)
class Link:
    """One value of one step, and where it comes from."""

    value: str
    step: int
    origin: Origin
    source: int | None
    """The step that it comes from; None where it comes from no step: the task, a tool, or nothing."""
    note: str = ""
    """The tool that returned it, or what is wrong with it."""
    operands: tuple[str, ...] = ()
    """The values that it was worked out from, as it is written there."""
    leads_to_answer: bool = True
    """Whether the wrong final answer was followed back to it."""
