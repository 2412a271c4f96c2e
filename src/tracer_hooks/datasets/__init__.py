"""Trajectories from files of many kinds, and labelled sets that are built from one's own teams."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy_names import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.datasets._audit import (
        AuditOptions,
        Check,
        DatasetAudit,
        Finding,
        audit,
        audit_markdown,
        audit_tables,
    )
    from tracer_hooks.datasets._builder import BuildOptions, BuildPlan, DatasetBuilder, Journal, Progress, Subject
    from tracer_hooks.datasets._card import HowBuilt, write_card
    from tracer_hooks.datasets._export import EXPORT_FORMATS, ExportFormat, ExportReport, export
    from tracer_hooks.datasets._fidelity import lacks
    from tracer_hooks.datasets._labeled import LabeledSet, Pair, read_parquet, write_atomically, write_parquet
    from tracer_hooks.datasets._load import FORMATS, load
    from tracer_hooks.datasets._near_duplicates import near_duplicates
    from tracer_hooks.datasets._record import LoadedRecord
    from tracer_hooks.datasets._stated import OutcomeSource, Stated, StatedRun, final_answer
    from tracer_hooks.datasets._stats import DatasetStats, stats, stats_markdown, stats_tables

__all__ = [
    "EXPORT_FORMATS",
    "FORMATS",
    "AuditOptions",
    "BuildOptions",
    "BuildPlan",
    "Check",
    "DatasetAudit",
    "DatasetBuilder",
    "DatasetStats",
    "ExportFormat",
    "ExportReport",
    "Finding",
    "HowBuilt",
    "Journal",
    "LabeledSet",
    "LoadedRecord",
    "OutcomeSource",
    "Pair",
    "Progress",
    "Stated",
    "StatedRun",
    "Subject",
    "audit",
    "audit_markdown",
    "audit_tables",
    "export",
    "final_answer",
    "lacks",
    "load",
    "near_duplicates",
    "read_parquet",
    "stats",
    "stats_markdown",
    "stats_tables",
    "write_atomically",
    "write_card",
    "write_parquet",
]

lazy_names(
    __name__,
    {
        "._audit": ("AuditOptions", "Check", "DatasetAudit", "Finding", "audit", "audit_markdown", "audit_tables"),
        "._builder": ("BuildOptions", "BuildPlan", "DatasetBuilder", "Journal", "Progress", "Subject"),
        "._card": ("HowBuilt", "write_card"),
        "._export": ("EXPORT_FORMATS", "ExportFormat", "ExportReport", "export"),
        "._fidelity": ("lacks",),
        "._labeled": ("LabeledSet", "Pair", "read_parquet", "write_atomically", "write_parquet"),
        "._load": ("FORMATS", "load"),
        "._near_duplicates": ("near_duplicates",),
        "._record": ("LoadedRecord",),
        "._stated": ("OutcomeSource", "Stated", "StatedRun", "final_answer"),
        "._stats": ("DatasetStats", "stats", "stats_markdown", "stats_tables"),
    },
)
