"""How good an attributor is, measured so that the figure can be trusted."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks._folds import grouped_folds as grouped_folds
    from tracer_hooks.evaluation import baselines as baselines
    from tracer_hooks.evaluation._cases import DATASETS as DATASETS
    from tracer_hooks.evaluation._cases import Case as Case
    from tracer_hooks.evaluation._cases import EvaluationData as EvaluationData
    from tracer_hooks.evaluation._cases import read_data as read_data
    from tracer_hooks.evaluation._cases import without_reference as without_reference
    from tracer_hooks.evaluation._evaluate import POOLED as POOLED
    from tracer_hooks.evaluation._evaluate import EvaluationOptions as EvaluationOptions
    from tracer_hooks.evaluation._evaluate import cross_validate as cross_validate
    from tracer_hooks.evaluation._evaluate import evaluate as evaluate
    from tracer_hooks.evaluation._report import CalibrationBin as CalibrationBin
    from tracer_hooks.evaluation._report import CalibrationFigures as CalibrationFigures
    from tracer_hooks.evaluation._report import Comparison as Comparison
    from tracer_hooks.evaluation._report import DetectionRow as DetectionRow
    from tracer_hooks.evaluation._report import DetectionSection as DetectionSection
    from tracer_hooks.evaluation._report import EvaluationReport as EvaluationReport
    from tracer_hooks.evaluation._report import FaultRow as FaultRow
    from tracer_hooks.evaluation._report import FaultSection as FaultSection
    from tracer_hooks.evaluation._report import GroupReport as GroupReport
    from tracer_hooks.evaluation._report import Measure as Measure
    from tracer_hooks.evaluation._report import Problem as Problem
    from tracer_hooks.evaluation._report import StepRow as StepRow
    from tracer_hooks.evaluation._report import StepSection as StepSection
    from tracer_hooks.evaluation._report import calibrate as calibrate
    from tracer_hooks.evaluation._tables import evaluation_tables as evaluation_tables
    from tracer_hooks.evaluation._tables import render_evaluation as render_evaluation

__all__ = lazy_names(__name__)
