"""Labelled data from one's own teams, and an attributor fitted to them."""

from tracer_hooks._api.building._build_dataset import build_dataset, dataset_build
from tracer_hooks._api.building._calibrate import CalibrateOptions, Calibration, Calibrator, Estimate, calibrate
from tracer_hooks._api.building._resumable_build import BuildEstimate, BuiltDataset, DatasetBuild

__all__ = [
    "BuildEstimate",
    "BuiltDataset",
    "CalibrateOptions",
    "Calibration",
    "Calibrator",
    "DatasetBuild",
    "Estimate",
    "build_dataset",
    "calibrate",
    "dataset_build",
]
