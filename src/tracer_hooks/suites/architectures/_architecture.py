"""What makes an architecture: its agents, and who acts next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Tool = Callable[..., Any]
"""A plain function with a docstring, which says what it does, and annotated parameters."""


class Said(NamedTuple):
    """What one agent said in one turn."""

    agent: str
    """The agent's name."""
    text: str
    """Its words."""


def everything(agent: str, said: Sequence[Said]) -> Sequence[Said]:
    """An agent sees all that was said before it."""
    return said


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """One way in which agents work together, without any framework."""

    name: str
    """Its public name."""
    roles: Mapping[str, str]
    """Agents and their instructions, in the order in which they first act."""
    cues: Mapping[str, str]
    """What each agent is asked for at the end of its prompt: small models follow the last words that they read."""
    tool_users: frozenset[str]
    """The agents that get the tools."""
    next_agent: Callable[[Sequence[Said], int], str | None]
    """Who acts after what was said, given how often the loop may go round; None at the end."""
    rounds: int | None = None
    """How often its loop goes round unless told otherwise; None where there is no loop."""
    seen_by: Callable[[str, Sequence[Said]], Sequence[Said]] = everything
    """What an agent is shown of what was said."""
    goes_on: Said | None = None
    """Whose words, and such as which, send the loop round once more."""
    last_cue: str = ""
    """What that agent is asked for once the loop may not go round any more."""
    chooser: str | None = None
    """The agent whose words decide who acts next."""
