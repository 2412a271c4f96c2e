"""Trajectories from files of many kinds, and labelled sets that are built from one's own teams."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.datasets._labeled import LabeledSet as LabeledSet
    from tracer_hooks.datasets._labeled import Pair as Pair
    from tracer_hooks.datasets._labeled import read_parquet as read_parquet
    from tracer_hooks.datasets._labeled import write_parquet as write_parquet
    from tracer_hooks.datasets._load import FORMATS as FORMATS
    from tracer_hooks.datasets._load import NO_RUN as NO_RUN
    from tracer_hooks.datasets._load import FilePart as FilePart
    from tracer_hooks.datasets._load import load as load
    from tracer_hooks.datasets._load import parts_of as parts_of
    from tracer_hooks.datasets._load import runs_of as runs_of
    from tracer_hooks.datasets._near_duplicates import near_duplicates as near_duplicates
    from tracer_hooks.datasets._record import LoadedRecord as LoadedRecord
    from tracer_hooks.datasets._record import refused as refused
    from tracer_hooks.datasets._stated import WITHOUT_CONTENT as WITHOUT_CONTENT
    from tracer_hooks.datasets._stated import OutcomeOverride as OutcomeOverride
    from tracer_hooks.datasets._stated import OutcomeSource as OutcomeSource
    from tracer_hooks.datasets._stated import OverriddenRun as OverriddenRun
    from tracer_hooks.datasets._stated import final_answer as final_answer
    from tracer_hooks.datasets._stated import lacks as lacks
    from tracer_hooks.journal import write_atomically as write_atomically

__all__ = lazy_names(__name__)
