"""Several attributors in one."""

from tracer_hooks.attribution._ensemble._attributor import EnsembleAttributor
from tracer_hooks.attribution._ensemble._automatic import automatic

__all__ = ["EnsembleAttributor", "automatic"]
