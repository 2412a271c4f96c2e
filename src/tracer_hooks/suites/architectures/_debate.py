"""Debate: three agents answer, see each other's answers and revise theirs; an aggregator decides.

After Du et al., "Improving Factuality and Reasoning in Language Models through Multiagent Debate" (2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tracer_hooks.suites.architectures._architecture import Architecture, Said
from tracer_hooks.suites.architectures._wording import BRIEFLY, FINAL

DEBATERS: Final = ("debater_1", "debater_2", "debater_3")
AGGREGATOR: Final = "aggregator"

# Without temperature three agents with equal instructions would say the same.
_WAYS: Final = (
    "Solve the task step by step.",
    "Solve the task your own way and check each number and condition in it.",
    "Solve the task starting from what is asked for.",
)
_COMPARE: Final = "If other answers are shown, look for the mistakes in them and in yours, and correct yours."

_ROLES: Final = {
    **{name: f"You are the {name}. {way} {_COMPARE} {BRIEFLY}" for name, way in zip(DEBATERS, _WAYS, strict=True)},
    AGGREGATOR: (
        "You are the aggregator. Read the debaters' answers and say in at most 2 short sentences which is right. "
        f"Then {FINAL}"
    ),
}

_CUES: Final = {
    **dict.fromkeys(DEBATERS, "Give your own answer, with the reason."),
    AGGREGATOR: "Decide.",
}


def _next(said: Sequence[Said], rounds: int) -> str | None:
    """One after the other, never at once: the steps of equal runs then have equal numbers."""
    spoken, openings_and_revisions = len(said), len(DEBATERS) * (rounds + 1)
    if spoken < openings_and_revisions:
        return DEBATERS[spoken % len(DEBATERS)]
    return AGGREGATOR if spoken == openings_and_revisions else None


def _seen_by(agent: str, said: Sequence[Said]) -> Sequence[Said]:
    """A debater sees the rounds that it has been through; the aggregator sees the last one."""
    if agent == AGGREGATOR:
        return said[-len(DEBATERS) :]
    rounds = sum(one.agent == agent for one in said)
    return said[: len(DEBATERS) * rounds][-len(DEBATERS) :]


DEBATE: Final = Architecture(
    name="debate",
    roles=_ROLES,
    cues=_CUES,
    tool_users=frozenset(DEBATERS),
    next_agent=_next,
    rounds=1,
    seen_by=_seen_by,
)
"""The loop is the revision of the answers."""
