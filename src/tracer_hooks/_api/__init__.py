"""The public entry points, wired together: hook, run, diagnose."""

from tracer_hooks._api._building import build_dataset
from tracer_hooks._api._calibrating import CalibrateOptions, Calibration, Calibrator, Estimate, calibrate
from tracer_hooks._api._conductor import RetryBoundary
from tracer_hooks._api._diagnose import diagnose
from tracer_hooks._api._hook import hook, last_run, unhook
from tracer_hooks._api._injecting import inject
from tracer_hooks._api._replaying import counterfactual, find_decisive_step, replay_run
from tracer_hooks._api._rerun_target import rerunner
from tracer_hooks._api._run import arun, run
from tracer_hooks._api._run_sources import contrast_attributor
from tracer_hooks._api._team_run import Attempt, TeamRun, report_run
from tracer_hooks.adapters import Verdict

__all__ = [
    "Attempt",
    "CalibrateOptions",
    "Calibration",
    "Calibrator",
    "Estimate",
    "RetryBoundary",
    "TeamRun",
    "Verdict",
    "arun",
    "build_dataset",
    "calibrate",
    "contrast_attributor",
    "counterfactual",
    "diagnose",
    "find_decisive_step",
    "hook",
    "inject",
    "last_run",
    "replay_run",
    "report_run",
    "rerunner",
    "run",
    "unhook",
]
