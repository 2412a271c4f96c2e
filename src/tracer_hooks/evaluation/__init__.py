"""How good an attributor is, measured so that the figure can be trusted."""

from tracer_hooks._folds import grouped_folds
from tracer_hooks.evaluation import baselines
from tracer_hooks.evaluation._adaptation import adaptation, training_labels
from tracer_hooks.evaluation._adaptation_report import FITTED, NATURAL, SHIPPED, AdaptationReport, AdaptationRow
from tracer_hooks.evaluation._calibration import Calibration, CalibrationBin, calibrate
from tracer_hooks.evaluation._case import Case, EvaluationData, Problem, SecondLabel
from tracer_hooks.evaluation._evaluate import POOLED, evaluate
from tracer_hooks.evaluation._folds import cross_validate, without_reference
from tracer_hooks.evaluation._measure import Measure
from tracer_hooks.evaluation._options import EvaluationOptions
from tracer_hooks.evaluation._page import render_evaluation
from tracer_hooks.evaluation._read import DATASETS, read_data
from tracer_hooks.evaluation._report import (
    Comparison,
    DetectionRow,
    DetectionSection,
    EvaluationReport,
    FaultRow,
    FaultSection,
    GroupReport,
    SecondLabelSection,
    StepRow,
    StepSection,
)
from tracer_hooks.evaluation._rivals import RivalReport, held_out_apart, rivals
from tracer_hooks.evaluation._second_labels import read_second_labels
from tracer_hooks.evaluation._terminal import evaluation_tables

__all__ = [
    "DATASETS",
    "FITTED",
    "NATURAL",
    "POOLED",
    "SHIPPED",
    "AdaptationReport",
    "AdaptationRow",
    "Calibration",
    "CalibrationBin",
    "Case",
    "Comparison",
    "DetectionRow",
    "DetectionSection",
    "EvaluationData",
    "EvaluationOptions",
    "EvaluationReport",
    "FaultRow",
    "FaultSection",
    "GroupReport",
    "Measure",
    "Problem",
    "RivalReport",
    "SecondLabel",
    "SecondLabelSection",
    "StepRow",
    "StepSection",
    "adaptation",
    "baselines",
    "calibrate",
    "cross_validate",
    "evaluate",
    "evaluation_tables",
    "grouped_folds",
    "held_out_apart",
    "read_data",
    "read_second_labels",
    "render_evaluation",
    "rivals",
    "training_labels",
    "without_reference",
]
