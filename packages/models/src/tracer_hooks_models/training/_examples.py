"""Labelled trajectories as arrays, and figures of a trained encoder on those that it has not seen."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tracer_hooks.schema import ErrorMode, LabeledTrajectory, Trajectory
from tracer_hooks_models.encoder import EncoderInput, EncoderModel

_MODES = {mode: k for k, mode in enumerate(ErrorMode)}


@dataclass(frozen=True, slots=True)
class Labels:
    """Known labels of one trajectory; agents are those that acted, in the reading's order."""

    agents: NDArray[np.float32]
    """(A,): 1 for a faulty agent, 0 for another one."""
    modes: NDArray[np.float32]
    """(A, 14): 1 where the agent shows the mode."""
    bag: NDArray[np.float32]
    """(n,): 1 for every step that may be the decisive one: the labelled step, or all steps of faulty agents."""

    @property
    def useful(self) -> bool:
        """Tell whether some agent is faulty, so that there is something to point at."""
        return bool(self.agents.any())


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled trajectory, read."""

    reading: EncoderInput
    labels: Labels
    question: str
    """Groups the trajectories of one question."""
    architecture: str
    """The kind of team, see :func:`architecture_of`."""


def labels_of(labeled: LabeledTrajectory, reading: EncoderInput) -> Labels:
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
    """Name what is left out together: the team, or for Aegis and for runs of no named team the kind of team."""
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


def area_within(scores: Sequence[NDArray[np.float32]], faulty: Sequence[NDArray[np.float32]]) -> float | None:
    """Mean over trajectories of the area under the ROC curve of faulty against other agents; ties count half.

    Args:
        scores: One array for each trajectory, one score for each agent.
        faulty: In the same shape, 1 for a faulty agent.

    Returns:
        The area; None when no trajectory has agents of both kinds.
    """
    areas = [_area(one[truth > 0.5], one[truth <= 0.5]) for one, truth in zip(scores, faulty, strict=True)]
    known = [area for area in areas if area is not None]
    return float(np.mean(known)) if known else None


def _area(good: NDArray[np.float32], bad: NDArray[np.float32]) -> float | None:
    if not len(good) or not len(bad):
        return None
    difference = good[:, None] - bad[None, :]
    return float(((difference > 0) + 0.5 * (difference == 0)).mean())


def pair_f1(scores: Sequence[NDArray[np.float32]], truth: Sequence[NDArray[np.float32]], threshold: float) -> float:
    """Micro-averaged F1 of pairs of agent and mode whose log-odds pass a threshold."""
    hits = chosen = wanted = 0.0
    for one, known in zip(scores, truth, strict=True):
        picked = one > threshold
        hits += float((picked * known).sum())
        chosen += float(picked.sum())
        wanted += float(known.sum())
    return 2 * hits / (chosen + wanted) if chosen + wanted else 0.0


_BATCH = 16
_LEAST = 5


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores that a model gives some examples, in their order."""

    agents: list[NDArray[np.float32]]
    modes: list[NDArray[np.float32]]


def scores_of(model: EncoderModel, examples: Sequence[Example], tick: Callable[[], None] = lambda: None) -> Scores:
    """Log-odds of every agent, and of every pair of agent and mode."""
    model.eval()
    found = Scores([], [])
    with torch.inference_mode():
        for start in range(0, len(examples), _BATCH):
            batch = examples[start : start + _BATCH]
            output = model([example.reading for example in batch])
            tick()
            for row, example in enumerate(batch):
                count = len(example.labels.agents)
                found.agents.append(output.agents[row, :count].cpu().numpy())
                found.modes.append(output.modes[row, :count].cpu().numpy())
    return found


def vectors_of(
    model: EncoderModel, examples: Sequence[Example], tick: Callable[[], None] = lambda: None
) -> list[Tensor]:
    """For each example, (n, width): the vectors of its candidate steps."""
    model.eval()
    found: list[Tensor] = []
    with torch.no_grad():
        for start in range(0, len(examples), _BATCH):
            found += model.vectors([example.reading for example in examples[start : start + _BATCH]])
            tick()
    return found


def figures_of(examples: Sequence[Example], scores: Scores, mode_threshold: float) -> dict[str, Any]:
    """Area under the ROC curve of faulty against other agents within a trajectory, and pair micro-F1, by architecture.

    An architecture with fewer than five trajectories is counted under ``all`` only.
    """
    groups = {"all": list(range(len(examples)))}
    for name in sorted({example.architecture for example in examples}):
        rows = [k for k, example in enumerate(examples) if example.architecture == name]
        if len(rows) >= _LEAST:
            groups[name] = rows
    return {name: _figures(examples, scores, rows, mode_threshold) for name, rows in groups.items()}


def mode_threshold_of(examples: Sequence[Example], scores: Scores) -> float:
    """The log-odds of a pair of agent and mode above which naming it gives the best micro-F1 on these examples."""
    choices = np.quantile(np.concatenate([one.ravel() for one in scores.modes]), np.linspace(0.5, 0.995, 100))
    truth = [example.labels.modes for example in examples]
    return float(max(choices, key=lambda threshold: pair_f1(scores.modes, truth, float(threshold))))


def _figures(examples: Sequence[Example], scores: Scores, rows: list[int], threshold: float) -> dict[str, Any]:
    labels = [examples[k].labels for k in rows]
    return {
        "trajectories": len(rows),
        "agent_auc": area_within([scores.agents[k] for k in rows], [one.agents for one in labels]),
        "pair_micro_f1": pair_f1([scores.modes[k] for k in rows], [one.modes for one in labels], threshold),
    }
