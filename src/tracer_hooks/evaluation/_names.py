"""When two spellings name the same agent."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection

from tracer_hooks.schema import Trajectory

_NOTE = re.compile(r"\s*\((?:->[^()]*|thought|termination condition)\)\s*$", re.IGNORECASE)
_PEOPLE = frozenset({"human", "user", "userproxy", "system"})
_TERMINALS = ("terminal", "executor")


@functools.lru_cache(maxsize=1 << 16)
def fold(name: str) -> str:
    """A name without case, spaces and punctuation: ``"Web Surfer"``, ``"web_surfer"`` and ``"WebSurfer"`` are one.

    Notes that Magentic-One writes behind a name, ``(thought)`` or ``(-> WebSurfer)``, are dropped first. A name that
    has neither letters nor digits keeps its signs.
    """
    bare = _NOTE.sub("", name)
    return "".join(char for char in bare.casefold() if char.isalnum()) or bare.strip().casefold()


def resolve(label: str, speakers: Collection[str]) -> str:
    """The folded name of a labelled agent, as the run has it.

    Aegis puts a running number behind some labels (``"psychologist4"`` for the speaker ``"Psychologist"``). It is
    dropped when the label as it stands names no speaker and the rest of it does.

    Args:
        label: The label's spelling.
        speakers: Folded names of those who speak.
    """
    folded = fold(label)
    if folded in speakers:
        return folded
    bare = folded.rstrip("0123456789")
    return bare if bare in speakers else folded


def is_person(name: str) -> bool:
    """Whether a speaker is the user or the frame around the team, which no data set blames."""
    return fold(name) in _PEOPLE


def is_terminal(name: str) -> bool:
    """Whether a speaker only runs code."""
    folded = fold(name)
    return any(word in folded for word in _TERMINALS)


def speakers_of(trajectory: Trajectory) -> tuple[str, ...]:
    """Folded names of the agents that act, in order of their first step; people are left out."""
    return tuple(dict.fromkeys(fold(step.agent) for step in trajectory.steps if not is_person(step.agent)))
