"""What everything that writes new instructions offers, and what it is given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from tracer_hooks.improvement._judged_run import JudgedRun
from tracer_hooks.schema import Usage


@dataclass(frozen=True, kw_only=True)
class TriedPrompt:
    """Instructions that were tried before and were not kept."""

    agent: str
    """Whose they were."""
    text: str
    """The instructions."""
    why: str
    """Why they were not kept."""


@dataclass(frozen=True, kw_only=True)
class PromptCase:
    """What is known of an agent whose instructions are to be rewritten."""

    agent: str
    """Whose instructions."""
    instructions: str
    """They as they are now."""
    own: str
    """They as the team came with them; how long a rewrite may become is measured by them."""
    runs: tuple[JudgedRun, ...]
    """The runs to learn from."""
    tried: tuple[TriedPrompt, ...] = ()
    """What was tried before for this agent."""
    tools: tuple[str, ...] = ()
    """The names of its tools."""
    others: tuple[str, ...] = ()
    """The other agents of the team."""


@dataclass(frozen=True, kw_only=True)
class WrittenPrompt:
    """What came of it."""

    text: str | None = None
    """The new instructions; None where there are none that could be used."""
    rejected: str = ""
    """Why not, in words."""
    usage: Usage = field(default_factory=Usage)
    """Tokens that it took."""


@runtime_checkable
class PromptWriter(Protocol):
    """Writes new instructions for one agent from runs that it made fail."""

    name: str
    """Name that its prompts are signed with."""
    reads_only_blamed: bool
    """Whether it is shown only the failures that the diagnosis lays on this agent, or all runs."""

    def write(self, case: PromptCase) -> WrittenPrompt:
        """New instructions; a text that tells an expected answer is refused by the caller, too.

        Args:
            case: The agent, and the runs.
        """
        ...
