"""Which agent, at which step, made the run fail."""

from tracer_hooks.attribution._diagnose import diagnose_trajectory
from tracer_hooks.attribution._ensemble import EnsembleAttributor
from tracer_hooks.attribution._fitting import FitReport, Fittable
from tracer_hooks.attribution._protocol import Attributor
from tracer_hooks.attribution._reading import expected_values
from tracer_hooks.attribution._registry import attributor_names, get_attributor, register_attributor
from tracer_hooks.attribution._scores import Scorer, StepScores
from tracer_hooks.attribution._structural import StructuralAttributor

__all__ = [
    "Attributor",
    "EnsembleAttributor",
    "FitReport",
    "Fittable",
    "Scorer",
    "StepScores",
    "StructuralAttributor",
    "attributor_names",
    "diagnose_trajectory",
    "expected_values",
    "get_attributor",
    "register_attributor",
]
