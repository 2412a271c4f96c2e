"""A call and its attempts: the team they ran on, what they left behind, and how they are kept and repeated."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy_names import lazy_names

if TYPE_CHECKING:
    from tracer_hooks._api.runs._archive import Archive, diagnose_later, flush, repair_counts_part, save_later
    from tracer_hooks._api.runs._contrast_runs import contrast_attributor
    from tracer_hooks._api.runs._rerunner import Judge, Made, Rerunner, replaying_emitter, rerunner_of_call, weak_call
    from tracer_hooks._api.runs._source import Prepared, TeamSource
    from tracer_hooks._api.runs._store_writer import PATIENCE_S, Part
    from tracer_hooks._api.runs._team_run import Attempt, LatestRuns, TeamRun, own_scope, report_run

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
        "._archive": ("Archive", "diagnose_later", "flush", "repair_counts_part", "save_later"),
        "._contrast_runs": ("contrast_attributor",),
        "._rerunner": ("Judge", "Made", "Rerunner", "replaying_emitter", "rerunner_of_call", "weak_call"),
        "._source": ("Prepared", "TeamSource"),
        "._store_writer": ("PATIENCE_S", "Part"),
        "._team_run": ("Attempt", "LatestRuns", "TeamRun", "own_scope", "report_run"),
    },
)
