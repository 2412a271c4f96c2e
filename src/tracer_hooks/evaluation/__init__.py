"""How good an attributor is, measured so that the figure can be trusted."""

from typing import Any

from tracer_hooks._folds import grouped_folds
from tracer_hooks._moved import moved_name
from tracer_hooks.evaluation import baselines
from tracer_hooks.evaluation._adaptation import (
    FITTED,
    NATURAL,
    SHIPPED,
    AdaptationReport,
    AdaptationRow,
    adaptation,
    training_labels,
)
from tracer_hooks.evaluation._cases import Case, EvaluationData
from tracer_hooks.evaluation._comparison import RivalReport, compare_attributors, held_out_apart
from tracer_hooks.evaluation._evaluate import POOLED, evaluate
from tracer_hooks.evaluation._folds import cross_validate, without_reference
from tracer_hooks.evaluation._measures import CalibrationBin, CalibrationFigures, Measure, calibrate
from tracer_hooks.evaluation._methods import EvaluationOptions
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
    Problem,
    StepRow,
    StepSection,
)
from tracer_hooks.evaluation._terminal import evaluation_tables

__all__ = [
    "DATASETS",
    "FITTED",
    "NATURAL",
    "POOLED",
    "SHIPPED",
    "AdaptationReport",
    "AdaptationRow",
    "CalibrationBin",
    "CalibrationFigures",
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
    "StepRow",
    "StepSection",
    "adaptation",
    "baselines",
    "calibrate",
    "compare_attributors",
    "cross_validate",
    "evaluate",
    "evaluation_tables",
    "grouped_folds",
    "held_out_apart",
    "read_data",
    "render_evaluation",
    "training_labels",
    "without_reference",
]


def __getattr__(name: str) -> Any:
    return moved_name(__name__, name)
