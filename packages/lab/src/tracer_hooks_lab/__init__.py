"""Labelled data from one's own teams: faults, data sets, task suites, and an attributor calibrated on them."""

from typing import TYPE_CHECKING

from tracer_hooks.extension import lazy_names

if TYPE_CHECKING:
    from tracer_hooks_lab._adaptation import FITTED as FITTED
    from tracer_hooks_lab._adaptation import NATURAL as NATURAL
    from tracer_hooks_lab._adaptation import SHIPPED as SHIPPED
    from tracer_hooks_lab._adaptation import AdaptationReport as AdaptationReport
    from tracer_hooks_lab._adaptation import AdaptationRow as AdaptationRow
    from tracer_hooks_lab._adaptation import adaptation as adaptation
    from tracer_hooks_lab._adaptation import fitted_only as fitted_only
    from tracer_hooks_lab._adaptation import held_out_apart as held_out_apart
    from tracer_hooks_lab._adaptation import training_labels as training_labels
    from tracer_hooks_lab._own_judge import JudgeTraining as JudgeTraining
    from tracer_hooks_lab._own_judge import RivalReport as RivalReport
    from tracer_hooks_lab._own_judge import TrainedJudge as TrainedJudge
    from tracer_hooks_lab._own_judge import compare_attributors as compare_attributors
    from tracer_hooks_lab.building import BuildEstimate as BuildEstimate
    from tracer_hooks_lab.building import BuiltDataset as BuiltDataset
    from tracer_hooks_lab.building import DatasetBuild as DatasetBuild
    from tracer_hooks_lab.building import build_dataset as build_dataset
    from tracer_hooks_lab.building import dataset_build as dataset_build
    from tracer_hooks_lab.calibration import CalibrateOptions as CalibrateOptions
    from tracer_hooks_lab.calibration import Calibration as Calibration
    from tracer_hooks_lab.calibration import Calibrator as Calibrator
    from tracer_hooks_lab.calibration import Estimate as Estimate
    from tracer_hooks_lab.calibration import calibrate as calibrate
    from tracer_hooks_lab.injection import inject as inject
    from tracer_hooks_lab.subjects import OwnTeam as OwnTeam
    from tracer_hooks_lab.subjects import SuiteTeam as SuiteTeam
    from tracer_hooks_lab.subjects import probe_endpoint as probe_endpoint

__all__ = lazy_names(__name__)
