"""Trajectories from files of many kinds, and labelled sets that are built from one's own teams."""

from tracer_hooks.datasets._building import BuildOptions, DatasetBuilder, Journal, Progress, Subject
from tracer_hooks.datasets._labeled import LabeledSet, Pair, read_parquet, write_parquet
from tracer_hooks.datasets._load import FORMATS, load
from tracer_hooks.datasets._record import LoadedRecord

__all__ = [
    "FORMATS",
    "BuildOptions",
    "DatasetBuilder",
    "Journal",
    "LabeledSet",
    "LoadedRecord",
    "Pair",
    "Progress",
    "Subject",
    "load",
    "read_parquet",
    "write_parquet",
]
