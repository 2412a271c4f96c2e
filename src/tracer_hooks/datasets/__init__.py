"""Trajectories from files: our own, Who&When, Aegis, and OpenTelemetry traces of any instrumentation."""

from tracer_hooks.datasets._load import FORMATS, load
from tracer_hooks.datasets._record import LoadedRecord

__all__ = ["FORMATS", "LoadedRecord", "load"]
