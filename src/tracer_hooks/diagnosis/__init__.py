"""What can be proved of a run, and which agent, at which step, made it fail."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.diagnosis._diagnose import completed as completed
    from tracer_hooks.diagnosis._diagnose import diagnose_each as diagnose_each
    from tracer_hooks.diagnosis._diagnose import diagnose_trajectory as diagnose_trajectory
    from tracer_hooks.diagnosis._diagnose import explainer as explainer
    from tracer_hooks.diagnosis._diagnose import fault_of_answer as fault_of_answer
    from tracer_hooks.diagnosis._diagnose import findings_of as findings_of
    from tracer_hooks.diagnosis._protocol import Attributor as Attributor
    from tracer_hooks.diagnosis._protocol import FitReport as FitReport
    from tracer_hooks.diagnosis._protocol import Fittable as Fittable
    from tracer_hooks.diagnosis._protocol import Scorer as Scorer
    from tracer_hooks.diagnosis._protocol import StepScores as StepScores
    from tracer_hooks.diagnosis._recurring import FindingExample as FindingExample
    from tracer_hooks.diagnosis._recurring import RecurringFinding as RecurringFinding
    from tracer_hooks.diagnosis._recurring import RecurringFindings as RecurringFindings
    from tracer_hooks.diagnosis._recurring import recurring_findings as recurring_findings
    from tracer_hooks.diagnosis._registry import attributor_names as attributor_names
    from tracer_hooks.diagnosis._registry import get_attributor as get_attributor
    from tracer_hooks.diagnosis._registry import register_attributor as register_attributor
    from tracer_hooks.diagnosis.contrast import ContrastAttributor as ContrastAttributor
    from tracer_hooks.diagnosis.contrast import ContrastOptions as ContrastOptions
    from tracer_hooks.diagnosis.contrast import RunSource as RunSource
    from tracer_hooks.diagnosis.judge import JudgeAttributor as JudgeAttributor
    from tracer_hooks.diagnosis.judge import JudgeBudget as JudgeBudget
    from tracer_hooks.diagnosis.judge import JudgeOptions as JudgeOptions
    from tracer_hooks.diagnosis.judge._explain import explain_diagnosis as explain_diagnosis
    from tracer_hooks.diagnosis.ranking._answers import is_environment_fault as is_environment_fault
    from tracer_hooks.diagnosis.ranking._attributor import StructuralAttributor as StructuralAttributor
    from tracer_hooks.diagnosis.ranking._ensemble import EnsembleAttributor as EnsembleAttributor
    from tracer_hooks.schema import ENVIRONMENT_FAULT as ENVIRONMENT_FAULT
    from tracer_hooks.schema import blames_environment as blames_environment

__all__ = lazy_names(__name__)
