"""Several attributors in one."""

from tracer_hooks.attribution._ensemble._attributor import EnsembleAttributor

__all__ = ["EnsembleAttributor"]
