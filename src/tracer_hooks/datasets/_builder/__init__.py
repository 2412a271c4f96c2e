"""Building labelled data from teams and tasks."""

from tracer_hooks.datasets._builder._builder import DatasetBuilder
from tracer_hooks.datasets._builder._journal import Journal
from tracer_hooks.datasets._builder._kept_plan import BuildPlan
from tracer_hooks.datasets._builder._options import BuildOptions
from tracer_hooks.datasets._builder._units import Subject
from tracer_hooks.datasets._builder._work import Progress

__all__ = ["BuildOptions", "BuildPlan", "DatasetBuilder", "Journal", "Progress", "Subject"]
