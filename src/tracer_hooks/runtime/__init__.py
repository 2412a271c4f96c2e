"""Hooked teams at run time: one loop of attempts for every call, what a run was worth, and what is kept of it."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.runtime._archive import Archive as Archive
    from tracer_hooks.runtime._archive import flush as flush
    from tracer_hooks.runtime._attempt_loop import RetryBoundary as RetryBoundary
    from tracer_hooks.runtime._calibrated import TeamCard as TeamCard
    from tracer_hooks.runtime._calibrated import attributors_folder as attributors_folder
    from tracer_hooks.runtime._calibrated import forget_calibrated as forget_calibrated
    from tracer_hooks.runtime._calibrated import save_calibrated as save_calibrated
    from tracer_hooks.runtime._calibrated import team_card as team_card
    from tracer_hooks.runtime._conclude import checked_diagnosis as checked_diagnosis
    from tracer_hooks.runtime._diagnose import FiledRuns as FiledRuns
    from tracer_hooks.runtime._diagnose import diagnose as diagnose
    from tracer_hooks.runtime._hook import factory_of as factory_of
    from tracer_hooks.runtime._hook import hook as hook
    from tracer_hooks.runtime._hook import host_of as host_of
    from tracer_hooks.runtime._hook import is_built_team as is_built_team
    from tracer_hooks.runtime._hook import last_run as last_run
    from tracer_hooks.runtime._hook import required_in as required_in
    from tracer_hooks.runtime._hook import unhook as unhook
    from tracer_hooks.runtime._judging import Check as Check
    from tracer_hooks.runtime._judging import Expected as Expected
    from tracer_hooks.runtime._judging import known_answer as known_answer
    from tracer_hooks.runtime._judging import loop_is_running as loop_is_running
    from tracer_hooks.runtime._judging import run_awaitable as run_awaitable
    from tracer_hooks.runtime._judging import shared_loop as shared_loop
    from tracer_hooks.runtime._observe import Observer as Observer
    from tracer_hooks.runtime._observe import observe as observe
    from tracer_hooks.runtime._options import HookOptions as HookOptions
    from tracer_hooks.runtime._options import tags as tags
    from tracer_hooks.runtime._rerunner import Judge as Judge
    from tracer_hooks.runtime._rerunner import Made as Made
    from tracer_hooks.runtime._rerunner import Rerunner as Rerunner
    from tracer_hooks.runtime._rerunner import TeamSource as TeamSource
    from tracer_hooks.runtime._rerunner import replaying_emitter as replaying_emitter
    from tracer_hooks.runtime._run import arun as arun
    from tracer_hooks.runtime._run import run as run
    from tracer_hooks.runtime._store_writer import PATIENCE_S as PATIENCE_S
    from tracer_hooks.runtime._store_writer import Part as Part
    from tracer_hooks.runtime._team_code import TeamCode as TeamCode
    from tracer_hooks.runtime._team_run import Attempt as Attempt
    from tracer_hooks.runtime._team_run import TeamRun as TeamRun

__all__ = lazy_names(__name__)
