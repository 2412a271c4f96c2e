"""The public entry points, wired together: hook, run, diagnose."""

from tracer_hooks._api._calibrating import CalibrateOptions, Calibration, Calibrator, Estimate, calibrate
from tracer_hooks._api._conductor import RetryBoundary
from tracer_hooks._api._diagnose import diagnose
from tracer_hooks._api._hook import hook, last_run, unhook
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
    "calibrate",
    "contrast_attributor",
    "diagnose",
    "hook",
    "last_run",
    "report_run",
    "run",
    "unhook",
]
