"""Which agent, at which step, made the run fail."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.attribution._abstaining import ENVIRONMENT_FAULT as ENVIRONMENT_FAULT
    from tracer_hooks.attribution._abstaining import blames_environment as blames_environment
    from tracer_hooks.attribution._abstaining import is_environment_fault as is_environment_fault
    from tracer_hooks.attribution._contrast import ContrastAttributor as ContrastAttributor
    from tracer_hooks.attribution._contrast import ContrastOptions as ContrastOptions
    from tracer_hooks.attribution._contrast import RunSource as RunSource
    from tracer_hooks.attribution._diagnose import diagnose_each as diagnose_each
    from tracer_hooks.attribution._diagnose import diagnose_trajectory as diagnose_trajectory
    from tracer_hooks.attribution._diagnose import fault_of_answer as fault_of_answer
    from tracer_hooks.attribution._ensemble import EnsembleAttributor as EnsembleAttributor
    from tracer_hooks.attribution._judge import JudgeAttributor as JudgeAttributor
    from tracer_hooks.attribution._judge import JudgeBudget as JudgeBudget
    from tracer_hooks.attribution._judge import JudgeOptions as JudgeOptions
    from tracer_hooks.attribution._protocol import Attributor as Attributor
    from tracer_hooks.attribution._protocol import FitReport as FitReport
    from tracer_hooks.attribution._protocol import Fittable as Fittable
    from tracer_hooks.attribution._protocol import Scorer as Scorer
    from tracer_hooks.attribution._protocol import StepScores as StepScores
    from tracer_hooks.attribution._protocol import TenMore as TenMore
    from tracer_hooks.attribution._protocol import fitted_only as fitted_only
    from tracer_hooks.attribution._reading import expected_values as expected_values
    from tracer_hooks.attribution._registry import attributor_names as attributor_names
    from tracer_hooks.attribution._registry import get_attributor as get_attributor
    from tracer_hooks.attribution._registry import register_attributor as register_attributor
    from tracer_hooks.attribution._structural import StructuralAttributor as StructuralAttributor

__all__ = lazy_names(__name__)
