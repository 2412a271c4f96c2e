"""The public entry points, wired together: hook, run, diagnose."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy_names import lazy_names

if TYPE_CHECKING:
    from tracer_hooks._api.conducting import HookOptions, RetryBoundary, arun, diagnose, hook, last_run, run, unhook
    from tracer_hooks._api.improving import Improvement, ImproveOptions, improve
    from tracer_hooks._api.rerunning import counterfactual, find_decisive_step, replay_run, rerunner, resume
    from tracer_hooks._api.runs import Attempt, TeamRun, contrast_attributor, flush, report_run
    from tracer_hooks.frameworks import Verdict

__all__ = [
    "Attempt",
    "HookOptions",
    "ImproveOptions",
    "Improvement",
    "RetryBoundary",
    "TeamRun",
    "Verdict",
    "arun",
    "contrast_attributor",
    "counterfactual",
    "diagnose",
    "find_decisive_step",
    "flush",
    "hook",
    "improve",
    "last_run",
    "replay_run",
    "report_run",
    "rerunner",
    "resume",
    "run",
    "unhook",
]

lazy_names(
    __name__,
    {
        ".conducting": (
            "HookOptions",
            "RetryBoundary",
            "arun",
            "diagnose",
            "hook",
            "last_run",
            "run",
            "unhook",
        ),
        ".improving": (
            "Improvement",
            "ImproveOptions",
            "improve",
        ),
        ".rerunning": (
            "counterfactual",
            "find_decisive_step",
            "replay_run",
            "rerunner",
            "resume",
        ),
        ".runs": (
            "Attempt",
            "TeamRun",
            "contrast_attributor",
            "flush",
            "report_run",
        ),
        "tracer_hooks.frameworks": ("Verdict",),
    },
)
