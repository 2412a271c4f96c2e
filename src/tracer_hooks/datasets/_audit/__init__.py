"""Whether something that understands nothing can find the faults of a labelled set."""

from tracer_hooks.datasets._audit._audit import audit
from tracer_hooks.datasets._audit._options import AuditOptions
from tracer_hooks.datasets._audit._records import Check, DatasetAudit, Finding, LeakWord, NearDuplicate
from tracer_hooks.datasets._audit._render import audit_markdown, audit_tables

__all__ = [
    "AuditOptions",
    "Check",
    "DatasetAudit",
    "Finding",
    "LeakWord",
    "NearDuplicate",
    "audit",
    "audit_markdown",
    "audit_tables",
]
