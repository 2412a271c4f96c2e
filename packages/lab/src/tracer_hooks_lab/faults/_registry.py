"""The mutators of each error mode, and the place to add one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Any, TypeVar

from tracer_hooks.errors import FaultError
from tracer_hooks.schema import ErrorMode
from tracer_hooks_lab.faults._context import FaultContext

TextMutator = Callable[[str, FaultContext, Random], str | None]
"""Gives a changed reply text, or None where this text offers nothing to change."""
ArgumentsMutator = Callable[[Any, FaultContext, Random], Any]
"""Gives changed arguments of the reply's last tool call, or None."""


class Target(StrEnum):
    """What part of a reply a mutator changes."""

    TEXT = "text"
    """The text of a reply without tool calls."""
    TURN = "turn"
    """The text of any reply; its tool calls are not made."""
    ARGUMENTS = "arguments"
    """The arguments of one tool call."""


@dataclass(frozen=True, kw_only=True)
class Mutator:
    """A programmatic way to make a reply err in one mode."""

    mode: ErrorMode
    """How the changed reply errs."""
    kind: str
    """Its name; unique within the mode."""
    target: Target
    """What it changes."""
    mutate: TextMutator | ArgumentsMutator
    """The function: text or arguments, context and random source to the changed thing, or None."""


_MUTATORS: dict[ErrorMode, dict[str, Mutator]] = {mode: {} for mode in ErrorMode}

F = TypeVar("F", bound=Callable[[Any, FaultContext, Random], Any])


def register_mutator(mode: ErrorMode, kind: str, *, target: Target = Target.TEXT) -> Callable[[F], F]:
    """Add a mutator of ``mode`` under the name ``kind``; for use as a decorator.

    The function must leave no marker, keep the reply's format, take all chance from the random source that it gets,
    and give None where nothing fits. With ``Target.ARGUMENTS`` it gets and gives arguments, else text.

    Raises:
        FaultError: The mode has a mutator of this name already.
    """

    def add(function: F) -> F:
        if kind in _MUTATORS[mode]:
            raise FaultError(f"{mode.value} has a mutator {kind!r} already, expected another name")
        _MUTATORS[mode][kind] = Mutator(mode=mode, kind=kind, target=target, mutate=function)
        return function

    return add


def mutators_of(mode: ErrorMode) -> tuple[Mutator, ...]:
    """The mutators of a mode, in the order in which they were added."""
    return tuple(_MUTATORS[mode].values())


def get_mutator(mode: ErrorMode, kind: str) -> Mutator:
    """The mutator of a mode by name.

    Raises:
        FaultError: The mode has none of this name; the message lists those that it has.
    """
    try:
        return _MUTATORS[mode][kind]
    except KeyError:
        names = ", ".join(_MUTATORS[mode])
        raise FaultError(f"{mode.value} has no mutator {kind!r}, expected one of {names}") from None
