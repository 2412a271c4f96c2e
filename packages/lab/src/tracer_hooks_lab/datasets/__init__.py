"""Labelled sets: building, audit, statistics, card, export."""

from typing import TYPE_CHECKING

from tracer_hooks.extension import lazy_names

if TYPE_CHECKING:
    from tracer_hooks_lab.datasets._audit import audit, audit_markdown, audit_tables
    from tracer_hooks_lab.datasets._audit_records import AuditFinding, AuditOptions, Check, DatasetAudit
    from tracer_hooks_lab.datasets._build_plan import BuildOptions, BuildPlan, Subject
    from tracer_hooks_lab.datasets._build_work import BuildObserver
    from tracer_hooks_lab.datasets._builder import DatasetBuilder
    from tracer_hooks_lab.datasets._card import HowBuilt, write_card
    from tracer_hooks_lab.datasets._export import EXPORT_FORMATS, ExportFormat, ExportReport, export
    from tracer_hooks_lab.datasets._stats import DatasetStats, stats, stats_markdown, stats_tables

__all__ = [
    "EXPORT_FORMATS",
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
    "Subject",
    "audit",
    "audit_markdown",
    "audit_tables",
    "export",
    "stats",
    "stats_markdown",
    "stats_tables",
    "write_card",
]

lazy_names(
    __name__,
    {
        "._audit": (
            "audit",
            "audit_markdown",
            "audit_tables",
        ),
        "._audit_records": (
            "AuditFinding",
            "AuditOptions",
            "Check",
            "DatasetAudit",
        ),
        "._builder": ("DatasetBuilder",),
        "._build_plan": (
            "BuildOptions",
            "BuildPlan",
            "Subject",
        ),
        "._build_work": ("BuildObserver",),
        "._card": (
            "HowBuilt",
            "write_card",
        ),
        "._export": (
            "EXPORT_FORMATS",
            "ExportFormat",
            "ExportReport",
            "export",
        ),
        "._stats": (
            "DatasetStats",
            "stats",
            "stats_markdown",
            "stats_tables",
        ),
    },
)
