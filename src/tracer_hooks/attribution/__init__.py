"""Which agent, at which step, made the run fail."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tracer_hooks.attribution._diagnose import diagnose_trajectory
from tracer_hooks.attribution._ensemble import EnsembleAttributor
from tracer_hooks.attribution._fitting import FitReport, Fittable
from tracer_hooks.attribution._protocol import Attributor
from tracer_hooks.attribution._reading import expected_values
from tracer_hooks.attribution._registry import attributor_names, get_attributor, register_attributor
from tracer_hooks.attribution._scores import Scorer, StepScores
from tracer_hooks.attribution._structural import StructuralAttributor

if TYPE_CHECKING:
    from tracer_hooks.attribution._contrast import ContrastAttributor, ContrastOptions, RunSource
    from tracer_hooks.attribution._encoder import EncoderAttributor
    from tracer_hooks.attribution._judge import JudgeAttributor, JudgeBudget, JudgeOptions
    from tracer_hooks.attribution._prefill import PrefillAttributor, PrefillOptions

__all__ = [
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
    "attributor_names",
    "diagnose_trajectory",
    "expected_values",
    "get_attributor",
    "register_attributor",
]

# Read at the first use: most programs need one of them at most.
_LATER = {
    "ContrastAttributor": "_contrast",
    "ContrastOptions": "_contrast",
    "EncoderAttributor": "_encoder",
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
