"""Diagnosing of many runs at once: in parts, in this process or on a Ray cluster, resumable."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.batch._diagnosed import Diagnosed as Diagnosed
    from tracer_hooks.batch._diagnosed import DiagnoseSettings as DiagnoseSettings
    from tracer_hooks.batch._diagnosed import diagnosed as diagnosed
    from tracer_hooks.batch._job import BatchCounts as BatchCounts
    from tracer_hooks.batch._job import BatchJob as BatchJob
    from tracer_hooks.batch._job import in_process as in_process
    from tracer_hooks.batch._parts import Part as Part
    from tracer_hooks.batch._parts import RecordsPart as RecordsPart
    from tracer_hooks.batch._parts import StorePart as StorePart
    from tracer_hooks.batch._parts import record_parts as record_parts
    from tracer_hooks.batch._parts import store_parts as store_parts
    from tracer_hooks.batch._ray import joined_cluster as joined_cluster
    from tracer_hooks.batch._ray import on_ray as on_ray

__all__ = lazy_names(__name__)
