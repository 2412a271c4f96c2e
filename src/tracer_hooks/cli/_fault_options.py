"""Options of every command that injects faults."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from tracer_hooks.errors import ConfigError


class Strategy(StrEnum):
    """How faults are put in."""

    RESPONSE_CORRUPTION = "response_corruption"
    PROMPT_INJECTION = "prompt_injection"
    TOOL = "tool"
    CHANNEL = "channel"


class WriterName(StrEnum):
    """Who writes faults."""

    PROGRAMMATIC = "programmatic"
    LLM = "llm"


def tool_rules(given: Sequence[str], *, others: str | None = "rebuilt") -> dict[str, str]:
    """Rules from ``NAME=USE``; tools that are not named are used as ``others`` says, or have no rule if it is ``None``.

    Raises:
        ConfigError: One of them is not of that form.
    """
    rules = {} if others is None else {"*": others}
    for rule in given:
        name, separator, use = rule.rpartition("=")
        if not separator or not name:
            raise ConfigError(f"--tool is {rule!r}, expected NAME=USE, as in --tool search=replayable")
        rules[name] = use
    return rules
