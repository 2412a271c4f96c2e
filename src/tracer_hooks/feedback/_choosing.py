"""Which strategies a user's ``repair=`` means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tracer_hooks.errors import ConfigError
from tracer_hooks.feedback._deliverable import Deliverable
from tracer_hooks.feedback._strategies import (
    FeedbackInMessage,
    FeedbackInTask,
    FromScratch,
    Resample,
    RewrittenInstructions,
)
from tracer_hooks.repairs import RepairStrategy

SEARCH, PLAIN = "search", "plain"
_BY_NAME: dict[str, Callable[[], RepairStrategy]] = {
    made.name: made for made in (FromScratch, Resample, FeedbackInTask, FeedbackInMessage, RewrittenInstructions)
}
_SEARCHED = (FromScratch.name, Resample.name, FeedbackInTask.name, FeedbackInMessage.name)
"""What the search chooses from by default. Lessons in instructions have not been shown to be worth anything."""

RepairChoice = str | RepairStrategy | Sequence[str | RepairStrategy]
"""``"search"``, ``"plain"``, a strategy or its name; several to search among."""


class Strategies(NamedTuple):
    """The strategies that a call may use."""

    all: tuple[RepairStrategy, ...]
    """The strategies."""
    is_fixed: bool
    """Whether there is one, and no choice."""


def strategies_of(choice: RepairChoice) -> Strategies:
    """Return the strategies that ``choice`` means.

    Raises:
        ConfigError: It names no strategy, or is none.
    """
    if choice == SEARCH:
        choice = _SEARCHED
    elif choice == PLAIN:
        choice = FromScratch.name
    if isinstance(choice, Sequence) and not isinstance(choice, str):
        if not choice:
            raise ConfigError(f"repair is {choice!r}, expected one strategy or more")
        return Strategies(tuple(_strategy(one) for one in choice), is_fixed=False)
    return Strategies((_strategy(choice),), is_fixed=True)


def _strategy(choice: str | RepairStrategy) -> RepairStrategy:
    if isinstance(choice, str):
        if choice == "guidance":
            raise ConfigError(
                "repair is 'guidance', expected WrittenGuidance(chat) with a function that asks your model"
            )
        if choice not in _BY_NAME:
            known = ", ".join(repr(name) for name in (SEARCH, PLAIN, *_BY_NAME))
            raise ConfigError(f"repair is {choice!r}, expected one of: {known}; or a RepairStrategy of your own")
        return Deliverable(_BY_NAME[choice]())
    if isinstance(choice, type):
        raise ConfigError(f"repair is the class {choice.__name__!r}, expected an object of it: {choice.__name__}(...)")
    if not isinstance(choice, RepairStrategy):
        raise ConfigError(f"repair is {choice!r}, expected a name, or a RepairStrategy with a name and propose()")
    return Deliverable(choice)
