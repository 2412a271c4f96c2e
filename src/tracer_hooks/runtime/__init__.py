"""Hooked teams at run time: one loop of attempts for every call, what a run was worth, and what is kept of it."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.runtime._archive import Archive, diagnose_later, flush, repair_counts_part, save_later
    from tracer_hooks.runtime._attempt_loop import RetryBoundary
    from tracer_hooks.runtime._calibrated import (
        TeamCard,
        attributors_folder,
        forget_calibrated,
        save_calibrated,
        team_card,
    )
    from tracer_hooks.runtime._call_context import checked_diagnosis
    from tracer_hooks.runtime._diagnose import contrast_attributor, diagnose
    from tracer_hooks.runtime._hook import factory_of, hook, host_of, is_built_team, last_run, unhook
    from tracer_hooks.runtime._judging import (
        Check,
        Expected,
        JudgedRunOutcome,
        Ruling,
        SafeCollector,
        Undecided,
        ask_check,
        ask_check_async,
        compare_with_expected,
        expected_answer,
        judge_error,
        judge_result,
        known_answer,
        loop_is_running,
        read_result,
        run_awaitable,
        shared_loop,
        verdict_of,
    )
    from tracer_hooks.runtime._options import HookOptions
    from tracer_hooks.runtime._rerunner import (
        Judge,
        Made,
        Prepared,
        Rerunner,
        TeamSource,
        replaying_emitter,
        rerunner_of_call,
        weak_call,
    )
    from tracer_hooks.runtime._run import arun, run
    from tracer_hooks.runtime._store_writer import PATIENCE_S, Part
    from tracer_hooks.runtime._team_run import Attempt, LatestRuns, TeamRun, own_scope, report_run

__all__ = [
    "PATIENCE_S",
    "Archive",
    "Attempt",
    "Check",
    "Expected",
    "HookOptions",
    "Judge",
    "JudgedRunOutcome",
    "LatestRuns",
    "Made",
    "Part",
    "Prepared",
    "Rerunner",
    "RetryBoundary",
    "Ruling",
    "SafeCollector",
    "TeamCard",
    "TeamRun",
    "TeamSource",
    "Undecided",
    "arun",
    "ask_check",
    "ask_check_async",
    "attributors_folder",
    "checked_diagnosis",
    "compare_with_expected",
    "contrast_attributor",
    "diagnose",
    "diagnose_later",
    "expected_answer",
    "factory_of",
    "flush",
    "forget_calibrated",
    "hook",
    "host_of",
    "is_built_team",
    "judge_error",
    "judge_result",
    "known_answer",
    "last_run",
    "loop_is_running",
    "own_scope",
    "read_result",
    "repair_counts_part",
    "replaying_emitter",
    "report_run",
    "rerunner_of_call",
    "run",
    "run_awaitable",
    "save_calibrated",
    "save_later",
    "shared_loop",
    "team_card",
    "unhook",
    "verdict_of",
    "weak_call",
]

lazy_names(
    __name__,
    {
        "._archive": ("Archive", "diagnose_later", "flush", "repair_counts_part", "save_later"),
        "._attempt_loop": ("RetryBoundary",),
        "._calibrated": ("TeamCard", "attributors_folder", "forget_calibrated", "save_calibrated", "team_card"),
        "._call_context": ("checked_diagnosis",),
        "._diagnose": ("contrast_attributor", "diagnose"),
        "._hook": ("factory_of", "hook", "host_of", "is_built_team", "last_run", "unhook"),
        "._judging": (
            "Check",
            "Expected",
            "JudgedRunOutcome",
            "Ruling",
            "SafeCollector",
            "Undecided",
            "ask_check",
            "ask_check_async",
            "compare_with_expected",
            "expected_answer",
            "judge_error",
            "judge_result",
            "known_answer",
            "loop_is_running",
            "read_result",
            "run_awaitable",
            "shared_loop",
            "verdict_of",
        ),
        "._options": ("HookOptions",),
        "._rerunner": (
            "Judge",
            "Made",
            "Prepared",
            "Rerunner",
            "TeamSource",
            "replaying_emitter",
            "rerunner_of_call",
            "weak_call",
        ),
        "._run": ("arun", "run"),
        "._store_writer": ("PATIENCE_S", "Part"),
        "._team_run": ("Attempt", "LatestRuns", "TeamRun", "own_scope", "report_run"),
    },
)
