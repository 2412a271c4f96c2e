"""What tools may do in a replay: their effects on the world are not on the tape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tracer_hooks.errors import ConfigError, ReplayError


class ToolUse(StrEnum):
    """What becomes of a tool's calls in a replay.

    Up to the step where the replay leaves the tape every result comes from the tape; these words are about the calls
    after it, except for the last.
    """

    LIVE = "live"
    """It runs."""
    REPLAYABLE = "replayable"
    """It only reads: a call that is on the tape is answered from there, another one runs."""
    BLOCKED = "blocked"
    """It never runs: a call that is on the tape is answered from there, another one gets an error."""
    REBUILT = "rebuilt"
    """Its state lives in the team's own process and is built anew with the team: taped calls run as well, for their
    effect on that state, and have to give what the tape holds; later ones run."""


@dataclass(frozen=True, kw_only=True)
class ToolRules:
    """Which tool may do what.

    Args:
        default: For tools that are not named; None stops a replay at the first new call of such a tool, since nobody
            has said whether it may be made a second time.
        named: By the tool's name.
    """

    default: ToolUse | None = None
    named: Mapping[str, ToolUse] = field(default_factory=dict)

    @classmethod
    def of(cls, rules: ToolRules | str | Mapping[str, str] | None) -> ToolRules:
        """Rules from what a user writes: one word for all tools, or a word for each; ``"*"`` names the others.

        Raises:
            ConfigError: A word is none of :class:`ToolUse`.
        """
        if isinstance(rules, ToolRules):
            return rules
        if rules is None:
            return cls()
        if isinstance(rules, str):
            return cls(default=_use(rules))
        named = {name: _use(word) for name, word in rules.items()}
        return cls(default=named.pop("*", None), named=named)

    def use(self, tool: str) -> ToolUse:
        """What ``tool`` may do.

        Raises:
            ReplayError: It is not declared.
        """
        found = self.named.get(tool, self.default)
        if found is None:
            raise ReplayError(
                f"the replay wants to call the tool {tool!r}, and nobody has said whether that may happen again. "
                f"Declare it: tools={{{tool!r}: 'replayable'}} (it only reads), 'live', 'blocked' or 'rebuilt'; "
                f"on the command line --tool {tool}=replayable"
            )
        return found

    def rebuilds(self, tool: str) -> bool:
        """Whether taped calls of ``tool`` run for their effect."""
        return self.named.get(tool, self.default) is ToolUse.REBUILT


def _use(word: str) -> ToolUse:
    try:
        return ToolUse(word)
    except ValueError:
        expected = ", ".join(repr(str(use)) for use in ToolUse)
        raise ConfigError(f"the tool rule {word!r} is unknown, expected one of: {expected}") from None
