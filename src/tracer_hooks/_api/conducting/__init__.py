"""Hooking teams and conducting their calls: one course for every call, whatever its kind."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy_names import lazy_names

if TYPE_CHECKING:
    from tracer_hooks._api.conducting._boundary import RetryBoundary
    from tracer_hooks._api.conducting._calibrated import (
        TeamCard,
        attributors_folder,
        forget_calibrated,
        save_calibrated,
        team_card,
    )
    from tracer_hooks._api.conducting._diagnose import diagnose
    from tracer_hooks._api.conducting._diagnosing import checked_diagnosis
    from tracer_hooks._api.conducting._hook import hook, last_run, unhook
    from tracer_hooks._api.conducting._hooked_functions import factory_of
    from tracer_hooks._api.conducting._hooked_teams import conductor_of, is_built_team
    from tracer_hooks._api.conducting._options import HookOptions
    from tracer_hooks._api.conducting._run import arun, run

__all__ = [
    "HookOptions",
    "RetryBoundary",
    "TeamCard",
    "arun",
    "attributors_folder",
    "checked_diagnosis",
    "conductor_of",
    "diagnose",
    "factory_of",
    "forget_calibrated",
    "hook",
    "is_built_team",
    "last_run",
    "run",
    "save_calibrated",
    "team_card",
    "unhook",
]

lazy_names(
    __name__,
    {
        "._boundary": ("RetryBoundary",),
        "._calibrated": ("TeamCard", "attributors_folder", "forget_calibrated", "save_calibrated", "team_card"),
        "._diagnose": ("diagnose",),
        "._diagnosing": ("checked_diagnosis",),
        "._hook": ("hook", "last_run", "unhook"),
        "._hooked_functions": ("factory_of",),
        "._hooked_teams": ("conductor_of", "is_built_team"),
        "._options": ("HookOptions",),
        "._run": ("arun", "run"),
    },
)
