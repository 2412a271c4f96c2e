"""Improving the prompts of a team: better ones are looked for, tried on other tasks, and kept."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy_names import lazy_names

if TYPE_CHECKING:
    from tracer_hooks._api.improving._improve import improve
    from tracer_hooks._api.improving._improve_options import ImproveEstimate, ImproveOptions
    from tracer_hooks._api.improving._improvement import BeforeAfter, Improvement, Refused, Share, TrialPair
    from tracer_hooks._api.improving._improver import Improver
    from tracer_hooks._api.improving._journaled_chat import JournaledChat
    from tracer_hooks._api.improving._phases import ImproveProgress, Phase
    from tracer_hooks._api.improving._team_trials import PromptedTeam, TeamTrials, TrialOptions
    from tracer_hooks._api.improving._told import told

__all__ = [
    "BeforeAfter",
    "ImproveEstimate",
    "ImproveOptions",
    "ImproveProgress",
    "Improvement",
    "Improver",
    "JournaledChat",
    "Phase",
    "PromptedTeam",
    "Refused",
    "Share",
    "TeamTrials",
    "TrialOptions",
    "TrialPair",
    "improve",
    "told",
]

lazy_names(
    __name__,
    {
        "._improve": ("improve",),
        "._improve_options": ("ImproveEstimate", "ImproveOptions"),
        "._improvement": ("BeforeAfter", "Improvement", "Refused", "Share", "TrialPair"),
        "._improver": ("Improver",),
        "._journaled_chat": ("JournaledChat",),
        "._phases": ("ImproveProgress", "Phase"),
        "._team_trials": ("PromptedTeam", "TeamTrials", "TrialOptions"),
        "._told": ("told",),
    },
)
