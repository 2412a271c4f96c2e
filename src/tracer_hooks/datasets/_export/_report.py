"""What an export wrote, and what it could not."""

from __future__ import annotations

from tracer_hooks.schema import Record


class NotExported(Record):
    """A run that the other schema cannot hold."""

    run_id: str
    """The run."""
    reason: str
    """Why it cannot."""


class ExportReport(Record):
    """What was written."""

    format: str
    """``whowhen`` or ``aegis``."""
    path: str
    """The folder or file."""
    written: int
    """Runs that were written."""
    skipped: tuple[NotExported, ...] = ()
    """Runs that were not."""
