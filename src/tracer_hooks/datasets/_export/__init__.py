"""Labelled sets in the schemas of other benchmarks."""

from tracer_hooks.datasets._export._export import EXPORT_FORMATS, ExportFormat, export
from tracer_hooks.datasets._export._report import ExportReport, NotExported

__all__ = ["EXPORT_FORMATS", "ExportFormat", "ExportReport", "NotExported", "export"]
