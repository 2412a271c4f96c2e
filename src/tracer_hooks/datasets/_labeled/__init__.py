"""Labelled sets on disk: the faulty runs, the passing runs beside them, and what was discarded."""

from tracer_hooks.datasets._labeled._atomic import write_atomically
from tracer_hooks.datasets._labeled._parquet import labeled_row, parquet_rows, read_parquet, write_parquet
from tracer_hooks.datasets._labeled._questions import is_clean, question_groups
from tracer_hooks.datasets._labeled._set import LabeledSet, Pair
from tracer_hooks.datasets._labeled._step_text import step_text
from tracer_hooks.datasets._labeled._verification import count_of, number_of, text_of

__all__ = [
    "LabeledSet",
    "Pair",
    "count_of",
    "is_clean",
    "labeled_row",
    "number_of",
    "parquet_rows",
    "question_groups",
    "read_parquet",
    "step_text",
    "text_of",
    "write_atomically",
    "write_parquet",
]
