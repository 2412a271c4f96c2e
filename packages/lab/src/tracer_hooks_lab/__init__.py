"""Labelled data from one's own teams: faults, data sets, task suites, and an attributor calibrated on them."""

from typing import TYPE_CHECKING

from tracer_hooks.extension import lazy_names

if TYPE_CHECKING:
    from tracer_hooks_lab._own_judge import JudgeTraining, TrainedJudge
    from tracer_hooks_lab.building import BuildEstimate, BuiltDataset, DatasetBuild, build_dataset, dataset_build
    from tracer_hooks_lab.calibration import CalibrateOptions, Calibration, Calibrator, Estimate, calibrate
    from tracer_hooks_lab.injection import inject
    from tracer_hooks_lab.subjects import OwnTeam, SuiteTeam, probe_endpoint

__all__ = [
    "BuildEstimate",
    "BuiltDataset",
    "CalibrateOptions",
    "Calibration",
    "Calibrator",
    "DatasetBuild",
    "Estimate",
    "JudgeTraining",
    "OwnTeam",
    "SuiteTeam",
    "TrainedJudge",
    "build_dataset",
    "calibrate",
    "dataset_build",
    "inject",
    "probe_endpoint",
]

lazy_names(
    __name__,
    {
        "._own_judge": (
            "JudgeTraining",
            "TrainedJudge",
        ),
        ".building": (
            "BuildEstimate",
            "BuiltDataset",
            "DatasetBuild",
            "build_dataset",
            "dataset_build",
        ),
        ".calibration": (
            "CalibrateOptions",
            "Calibration",
            "Calibrator",
            "Estimate",
            "calibrate",
        ),
        ".injection": ("inject",),
        ".subjects": (
            "OwnTeam",
            "SuiteTeam",
            "probe_endpoint",
        ),
    },
)
