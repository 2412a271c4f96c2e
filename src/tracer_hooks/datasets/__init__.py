"""Trajectories from files of many kinds, and labelled sets that are built from one's own teams."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy_names import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.datasets._labeled import LabeledSet, Pair, read_parquet, write_atomically, write_parquet
    from tracer_hooks.datasets._load import FORMATS, load
    from tracer_hooks.datasets._record import LoadedRecord
    from tracer_hooks.datasets._stated import OutcomeOverride, OutcomeSource, OverriddenRun, final_answer, lacks
    from tracer_hooks_lab.datasets._audit import (
        AuditFinding,
        AuditOptions,
        Check,
        DatasetAudit,
        audit,
        audit_markdown,
        audit_tables,
    )
    from tracer_hooks_lab.datasets._builder import (
        BuildObserver,
        BuildOptions,
        BuildPlan,
        DatasetBuilder,
        Journal,
        Subject,
    )
    from tracer_hooks_lab.datasets._card import HowBuilt, write_card
    from tracer_hooks_lab.datasets._duplicates import near_duplicates
    from tracer_hooks_lab.datasets._export import EXPORT_FORMATS, ExportFormat, ExportReport, export
    from tracer_hooks_lab.datasets._stats import DatasetStats, stats, stats_markdown, stats_tables

__all__ = [
    "EXPORT_FORMATS",
    "FORMATS",
    "AuditFinding",
    "AuditOptions",
    "BuildObserver",
    "BuildOptions",
    "BuildPlan",
    "Check",
    "DatasetAudit",
    "DatasetBuilder",
    "DatasetStats",
    "ExportFormat",
    "ExportReport",
    "HowBuilt",
    "Journal",
    "LabeledSet",
    "LoadedRecord",
    "OutcomeOverride",
    "OutcomeSource",
    "OverriddenRun",
    "Pair",
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
        "._labeled": (
            "LabeledSet",
            "Pair",
            "read_parquet",
            "write_atomically",
            "write_parquet",
        ),
        "._load": (
            "FORMATS",
            "load",
        ),
        "._record": ("LoadedRecord",),
        "._stated": (
            "OutcomeOverride",
            "OutcomeSource",
            "OverriddenRun",
            "final_answer",
            "lacks",
        ),
        "tracer_hooks_lab.datasets._audit": (
            "AuditFinding",
            "AuditOptions",
            "Check",
            "DatasetAudit",
            "audit",
            "audit_markdown",
            "audit_tables",
        ),
        "tracer_hooks_lab.datasets._builder": (
            "BuildObserver",
            "BuildOptions",
            "BuildPlan",
            "DatasetBuilder",
            "Journal",
            "Subject",
        ),
        "tracer_hooks_lab.datasets._card": (
            "HowBuilt",
            "write_card",
        ),
        "tracer_hooks_lab.datasets._duplicates": ("near_duplicates",),
        "tracer_hooks_lab.datasets._export": (
            "EXPORT_FORMATS",
            "ExportFormat",
            "ExportReport",
            "export",
        ),
        "tracer_hooks_lab.datasets._stats": (
            "DatasetStats",
            "stats",
            "stats_markdown",
            "stats_tables",
        ),
    },
)
