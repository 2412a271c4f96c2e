"""Labelled data from one's own teams, and an attributor fitted to them."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy_names import lazy_names

if TYPE_CHECKING:
    from tracer_hooks._api.building._build_dataset import build_dataset, dataset_build
    from tracer_hooks._api.building._calibrate import Calibration, Calibrator, Estimate, calibrate
    from tracer_hooks._api.building._calibrate_options import CalibrateOptions
    from tracer_hooks._api.building._own_judge import JudgeTraining, TrainedJudge
    from tracer_hooks._api.building._resumable_build import BuildEstimate, BuiltDataset, DatasetBuild

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
        "._build_dataset": ("build_dataset", "dataset_build"),
        "._calibrate": ("Calibration", "Calibrator", "Estimate", "calibrate"),
        "._calibrate_options": ("CalibrateOptions",),
        "._own_judge": ("JudgeTraining", "TrainedJudge"),
        "._resumable_build": ("BuildEstimate", "BuiltDataset", "DatasetBuild"),
    },
)
