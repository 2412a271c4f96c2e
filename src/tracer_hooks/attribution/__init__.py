"""Which agent, at which step, made the run fail."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.attribution._abstaining import ENVIRONMENT_FAULT, blames_environment, is_environment_fault
    from tracer_hooks.attribution._contrast import ContrastAttributor, ContrastOptions, RunSource
    from tracer_hooks.attribution._diagnose import diagnose_each, diagnose_trajectory, fault_of_answer
    from tracer_hooks.attribution._ensemble import EnsembleAttributor
    from tracer_hooks.attribution._judge import JudgeAttributor, JudgeBudget, JudgeOptions
    from tracer_hooks.attribution._protocol import (
        Attributor,
        FitReport,
        Fittable,
        Scorer,
        StepScores,
        TenMore,
        fitted_only,
    )
    from tracer_hooks.attribution._reading import expected_values
    from tracer_hooks.attribution._registry import attributor_names, get_attributor, register_attributor
    from tracer_hooks.attribution._structural import StructuralAttributor

__all__ = [
    "ENVIRONMENT_FAULT",
    "Attributor",
    "ContrastAttributor",
    "ContrastOptions",
    "EnsembleAttributor",
    "FitReport",
    "Fittable",
    "JudgeAttributor",
    "JudgeBudget",
    "JudgeOptions",
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

lazy_names(
    __name__,
    {
        "._abstaining": (
            "ENVIRONMENT_FAULT",
            "blames_environment",
            "is_environment_fault",
        ),
        "._contrast": (
            "ContrastAttributor",
            "ContrastOptions",
            "RunSource",
        ),
        "._diagnose": (
            "diagnose_each",
            "diagnose_trajectory",
            "fault_of_answer",
        ),
        "._ensemble": ("EnsembleAttributor",),
        "._judge": (
            "JudgeAttributor",
            "JudgeBudget",
            "JudgeOptions",
        ),
        "._protocol": (
            "Attributor",
            "FitReport",
            "Fittable",
            "Scorer",
            "StepScores",
            "TenMore",
            "fitted_only",
        ),
        "._reading": ("expected_values",),
        "._registry": (
            "attributor_names",
            "get_attributor",
            "register_attributor",
        ),
        "._structural": ("StructuralAttributor",),
    },
)
