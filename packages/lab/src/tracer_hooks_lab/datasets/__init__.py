"""Labelled sets: building, audit, statistics, card, export."""

from typing import TYPE_CHECKING

from tracer_hooks.extension import lazy_names

if TYPE_CHECKING:
    from tracer_hooks_lab.datasets._audit import audit as audit
    from tracer_hooks_lab.datasets._audit import audit_markdown as audit_markdown
    from tracer_hooks_lab.datasets._audit import audit_tables as audit_tables
    from tracer_hooks_lab.datasets._audit_records import AuditFinding as AuditFinding
    from tracer_hooks_lab.datasets._audit_records import AuditOptions as AuditOptions
    from tracer_hooks_lab.datasets._audit_records import Check as Check
    from tracer_hooks_lab.datasets._audit_records import DatasetAudit as DatasetAudit
    from tracer_hooks_lab.datasets._build_plan import BuildOptions as BuildOptions
    from tracer_hooks_lab.datasets._build_plan import BuildPlan as BuildPlan
    from tracer_hooks_lab.datasets._build_plan import Subject as Subject
    from tracer_hooks_lab.datasets._build_work import BuildObserver as BuildObserver
    from tracer_hooks_lab.datasets._builder import DatasetBuilder as DatasetBuilder
    from tracer_hooks_lab.datasets._card import HowBuilt as HowBuilt
    from tracer_hooks_lab.datasets._card import write_card as write_card
    from tracer_hooks_lab.datasets._export import EXPORT_FORMATS as EXPORT_FORMATS
    from tracer_hooks_lab.datasets._export import ExportFormat as ExportFormat
    from tracer_hooks_lab.datasets._export import ExportReport as ExportReport
    from tracer_hooks_lab.datasets._export import export as export
    from tracer_hooks_lab.datasets._stats import DatasetStats as DatasetStats
    from tracer_hooks_lab.datasets._stats import stats as stats
    from tracer_hooks_lab.datasets._stats import stats_markdown as stats_markdown
    from tracer_hooks_lab.datasets._stats import stats_tables as stats_tables

__all__ = lazy_names(__name__)
