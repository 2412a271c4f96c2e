"""Which of the Aegis team architectures a run comes from."""

from __future__ import annotations

import re

from tracer_hooks.evaluation._cases import fold_name, speakers_of
from tracer_hooks.schema import Trajectory

ARCHITECTURES = ("debate", "macnet", "agentverse", "dylan", "smolagents", "magentic")
"""What :func:`architecture_of` may answer, beside ``"other"``."""

_TEAM_WORDS = (("magentic", "magentic"), ("smol", "smolagents"), *((name, name) for name in ARCHITECTURES[:4]))
_AGENTVERSE = {"roleassigner", "solver", "critic", "evaluator"}
_DYLAN = {
    "economist", "mathematician", "psychologist", "ranker", "programmer", "tester", "debugger", "reflector",
    "qualitymanager", "algorithmdeveloper", "computerscientist", "pythonassistant",
}  # fmt: skip
_NODE = re.compile(r"node\d+")
_ASSISTANT = re.compile(r"assistant\d+")


def architecture_of(trajectory: Trajectory) -> str:
    """The architecture, by the team's name when the file has one, else by the names of those who speak.

    Debate and DyLAN both number their assistants. In Aegis every debate is opened by the user and no DyLAN run is,
    and debates have three assistants; a run of bare assistants without the user is taken for DyLAN. Labels are not
    looked at.
    """
    team = fold_name(trajectory.team)
    for word, name in _TEAM_WORDS:
        if word in team:
            return name
    speakers = set(speakers_of(trajectory))
    if "magenticoneorchestrator" in speakers:
        return "magentic"
    if {"manager", "searcher"} <= speakers:
        return "smolagents"
    if any(_NODE.fullmatch(name) for name in speakers):
        return "macnet"
    if speakers & _AGENTVERSE:
        return "agentverse"
    if speakers & _DYLAN:
        return "dylan"
    if speakers and all(_ASSISTANT.fullmatch(name) for name in speakers):
        return "debate" if fold_name(trajectory.steps[0].agent) == "user" else "dylan"
    return "other"
