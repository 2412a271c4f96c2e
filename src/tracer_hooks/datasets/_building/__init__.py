"""Building labelled data from teams and tasks."""

from tracer_hooks.datasets._building._builder import DatasetBuilder
from tracer_hooks.datasets._building._journal import Journal
from tracer_hooks.datasets._building._options import BuildOptions
from tracer_hooks.datasets._building._progress import Progress
from tracer_hooks.datasets._building._subject import Subject

__all__ = ["BuildOptions", "DatasetBuilder", "Journal", "Progress", "Subject"]
