"""Labelled data from one's own teams, and an attributor fitted to them."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy_names import lazy_names

if TYPE_CHECKING:
    from tracer_hooks_lab._own_judge import JudgeTraining, TrainedJudge
    from tracer_hooks_lab.building import BuildEstimate, BuiltDataset, DatasetBuild, build_dataset, dataset_build
    from tracer_hooks_lab.calibration import CalibrateOptions, Calibration, Calibrator, Estimate, calibrate

__all__ = [
    "BuildEstimate",
    "BuiltDataset",
    "CalibrateOptions",
    "Calibration",
    "Calibrator",
    "DatasetBuild",
    "Estimate",
    "JudgeTraining",
    "TrainedJudge",
    "build_dataset",
    "calibrate",
    "dataset_build",
]

lazy_names(
    __name__,
    {
        "tracer_hooks_lab._own_judge": (
            "JudgeTraining",
            "TrainedJudge",
        ),
        "tracer_hooks_lab.building": (
            "BuildEstimate",
            "BuiltDataset",
            "DatasetBuild",
            "build_dataset",
            "dataset_build",
        ),
        "tracer_hooks_lab.calibration": (
            "CalibrateOptions",
            "Calibration",
            "Calibrator",
            "Estimate",
            "calibrate",
        ),
    },
)
