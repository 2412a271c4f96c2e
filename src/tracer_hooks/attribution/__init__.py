"""Which agent, at which step, made the run fail."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tracer_hooks.attribution._abstaining import ENVIRONMENT_FAULT, blames_environment, is_environment_fault
from tracer_hooks.attribution._diagnose import diagnose_trajectory, fault_of_answer
from tracer_hooks.attribution._diagnose_each import diagnose_each
from tracer_hooks.attribution._ensemble import EnsembleAttributor
from tracer_hooks.attribution._fitting import FitReport, Fittable, TenMore, fitted_only
from tracer_hooks.attribution._protocol import Attributor
from tracer_hooks.attribution._reading import expected_values
from tracer_hooks.attribution._registry import attributor_names, get_attributor, register_attributor
from tracer_hooks.attribution._scores import Scorer, StepScores
from tracer_hooks.attribution._structural import StructuralAttributor

if TYPE_CHECKING:
    from tracer_hooks.attribution._contrast import ContrastAttributor, ContrastOptions, RunSource
    from tracer_hooks.attribution._judge import JudgeAttributor, JudgeBudget, JudgeOptions
    from tracer_hooks.attribution._prefill import PrefillAttributor, PrefillOptions
    from tracer_hooks.attribution.encoder import EncoderAttributor

__all__ = [
    "ENVIRONMENT_FAULT",
    "Attributor",
    "ContrastAttributor",
    "ContrastOptions",
    "EncoderAttributor",
    "EnsembleAttributor",
    "FitReport",
    "Fittable",
    "JudgeAttributor",
    "JudgeBudget",
    "JudgeOptions",
    "PrefillAttributor",
    "PrefillOptions",
    "RunSource",
    "Scorer",
    "StepScores",
    "StructuralAttributor",
    "TenMore",
    "attributor_names",
    "blames_environment",
    "diagnose_each",
    "diagnose_trajectory",
    "expected_values",
    "fault_of_answer",
    "fitted_only",
    "get_attributor",
    "is_environment_fault",
    "register_attributor",
]

# Read at the first use: most programs need one of them at most.
_LATER = {
    "ContrastAttributor": "_contrast",
    "ContrastOptions": "_contrast",
    "EncoderAttributor": "encoder",
    "JudgeAttributor": "_judge",
    "JudgeBudget": "_judge",
    "JudgeOptions": "_judge",
    "PrefillAttributor": "_prefill",
    "PrefillOptions": "_prefill",
    "RunSource": "_contrast",
}


def __getattr__(name: str) -> Any:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)
