"""Labelled trajectories as arrays that the encoder can be trained on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution.encoder import Reading
from tracer_hooks.schema import ErrorMode, LabeledTrajectory, Trajectory

_MODES = {mode: k for k, mode in enumerate(ErrorMode)}


@dataclass(frozen=True, slots=True)
class Labels:
    """What is known of one trajectory; agents are those that acted, in the reading's order."""

    agents: NDArray[np.float32]
    """(A,): 1 for a faulty agent, 0 for another one."""
    modes: NDArray[np.float32]
    """(A, 14): 1 where the agent shows the mode."""
    bag: NDArray[np.float32]
    """(n,): 1 for every step that may be the decisive one: the labelled step, or all steps of faulty agents."""

    @property
    def useful(self) -> bool:
        """Whether some agent is faulty, so that there is something to point at."""
        return bool(self.agents.any())


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled trajectory, read."""

    reading: Reading
    labels: Labels
    question: str
    """Groups the trajectories of one question."""
    architecture: str
    """The kind of team, see :func:`architecture_of`."""


def labels_of(labeled: LabeledTrajectory, reading: Reading) -> Labels:
    """The labels in terms of the agents and steps that the encoder sees.

    Labels name agents in other spellings than the log does; a label whose agent never acts is dropped.
    """
    roster = reading.text.agents
    agents = np.zeros(len(roster), np.float32)
    modes = np.zeros((len(roster), len(_MODES)), np.float32)
    faults = [(fault.agent, fault.error_mode) for fault in labeled.faults]
    if labeled.decisive is not None:
        faults.append((labeled.decisive.agent, labeled.decisive.error_mode))
    for name, mode in faults:
        position = find_agent(name, roster)
        if position is not None:
            agents[position] = 1
            if mode is not None:
                modes[position, _MODES[mode]] = 1
    bag = agents[reading.speakers] if len(reading.speakers) else np.zeros(0, np.float32)
    if labeled.decisive is not None and labeled.decisive.step in reading.steps:
        bag = (reading.steps == labeled.decisive.step).astype(np.float32)
    return Labels(agents, modes, bag)


def find_agent(label: str, roster: Sequence[str]) -> int | None:
    """Position in ``roster`` of the agent that a label means; None when there is none, or more than one."""
    spellings = ((label, str), (_folded(label), _folded), (re.sub(r"\d+$", "", _folded(label)), _folded))
    for wanted, spelt in spellings:
        found = [k for k, name in enumerate(roster) if spelt(name) == wanted]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def team_of(trajectory: Trajectory) -> str:
    """What is left out of training together: the team, or for Aegis and for runs of no named team the kind of team."""
    is_named = bool(trajectory.team) and trajectory.framework != "aegis"
    return trajectory.team if is_named else architecture_of(trajectory.agent_names)


def _folded(name: str) -> str:
    return re.sub(r"[\s_]+", "", name.casefold())  # a hyphen counts: "Node-1" and "Node1" are two agents


_ARCHITECTURES = (
    ("magentic-one", re.compile(r"magenticoneorchestrator")),
    ("smolagents", re.compile(r"manager|searcher")),
    ("macnet", re.compile(r"node-?\d+")),
    ("agentverse", re.compile(r"roleassigner|solver|critic|evaluator")),
)
ARCHITECTURES = ("agentverse", "debate", "dylan", "macnet", "magentic-one", "smolagents")
"""The six kinds of team in Aegis."""


def architecture_of(names: Sequence[str]) -> str:
    """The kind of team in Aegis (arXiv 2509.14295), told from the speakers' names, since its records do not say."""
    folded = {_folded(name) for name in names}
    for architecture, pattern in _ARCHITECTURES:
        if any(pattern.fullmatch(name) for name in folded):
            return architecture
    return "debate" if "user" in folded else "dylan"
