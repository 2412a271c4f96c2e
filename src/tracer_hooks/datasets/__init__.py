"""Trajectories from files of many kinds, and labelled sets that are built from one's own teams."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.datasets._labeled import LabeledSet, Pair, read_parquet, write_parquet
    from tracer_hooks.datasets._load import FORMATS, load
    from tracer_hooks.datasets._record import LoadedRecord
    from tracer_hooks.datasets._stated import OutcomeOverride, OutcomeSource, OverriddenRun, final_answer, lacks
    from tracer_hooks.journal import write_atomically

__all__ = [
    "FORMATS",
    "LabeledSet",
    "LoadedRecord",
    "OutcomeOverride",
    "OutcomeSource",
    "OverriddenRun",
    "Pair",
    "final_answer",
    "lacks",
    "load",
    "read_parquet",
    "write_atomically",
    "write_parquet",
]

lazy_names(
    __name__,
    {
        "._labeled": ("LabeledSet", "Pair", "read_parquet", "write_parquet"),
        "._load": ("FORMATS", "load"),
        "._record": ("LoadedRecord",),
        "._stated": ("OutcomeOverride", "OutcomeSource", "OverriddenRun", "final_answer", "lacks"),
        "tracer_hooks.journal": ("write_atomically",),
    },
)
