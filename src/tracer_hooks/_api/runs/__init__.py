"""A call and its attempts: the team they ran on, what they left behind, and how they are kept and repeated."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy_names import lazy_names

if TYPE_CHECKING:
    from tracer_hooks._api.runs._archive import Archive, repair_counts_part
    from tracer_hooks._api.runs._background import diagnose_later, flush, save_later
    from tracer_hooks._api.runs._contrast_runs import contrast_attributor
    from tracer_hooks._api.runs._keeper import PATIENCE_S, Part
    from tracer_hooks._api.runs._latest import LatestRuns, own_scope
    from tracer_hooks._api.runs._rerunner import Judge, Made, Rerunner, replaying_emitter, rerunner_of_call, weak_call
    from tracer_hooks._api.runs._source import Prepared, TeamSource
    from tracer_hooks._api.runs._team_run import Attempt, TeamRun, report_run

__all__ = [
    "PATIENCE_S",
    "Archive",
    "Attempt",
    "Judge",
    "LatestRuns",
    "Made",
    "Part",
    "Prepared",
    "Rerunner",
    "TeamRun",
    "TeamSource",
    "contrast_attributor",
    "diagnose_later",
    "flush",
    "own_scope",
    "repair_counts_part",
    "replaying_emitter",
    "report_run",
    "rerunner_of_call",
    "save_later",
    "weak_call",
]

lazy_names(
    __name__,
    {
        "._archive": ("Archive", "repair_counts_part"),
        "._background": ("diagnose_later", "flush", "save_later"),
        "._contrast_runs": ("contrast_attributor",),
        "._keeper": ("PATIENCE_S", "Part"),
        "._latest": ("LatestRuns", "own_scope"),
        "._rerunner": ("Judge", "Made", "Rerunner", "replaying_emitter", "rerunner_of_call", "weak_call"),
        "._source": ("Prepared", "TeamSource"),
        "._team_run": ("Attempt", "TeamRun", "report_run"),
    },
)
