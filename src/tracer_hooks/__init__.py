"""Which agent, at which step, made a run of your LLM agents fail; and what recovers it.

>>> import tracer_hooks
>>> @tracer_hooks.hook(check=lambda result: "42" in result.text, retries=2)      # doctest: +SKIP
... def build_team(prompts=None): ...

Names are loaded at their first use, so that ``import tracer_hooks`` stays fast and loads neither torch nor a framework.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names
from tracer_hooks._moved import install_finder
from tracer_hooks._version import __version__

if TYPE_CHECKING:
    from tracer_hooks.errors import TracerHooksError
    from tracer_hooks.frameworks import RunResult, Verdict
    from tracer_hooks.frameworks.plain import agent, hand_off, instructions, model, tool
    from tracer_hooks.improvement import Improvement, ImproveOptions, improve
    from tracer_hooks.rerun import counterfactual, find_decisive_step, replay_run, rerunner, resume
    from tracer_hooks.runtime import (
        Attempt,
        HookOptions,
        RetryBoundary,
        TeamRun,
        arun,
        diagnose,
        flush,
        hook,
        last_run,
        run,
        unhook,
    )
    from tracer_hooks.schema import Attribution, ErrorMode, RunOutcome, Step, Trajectory

__all__ = [
    "Attempt",
    "Attribution",
    "ErrorMode",
    "HookOptions",
    "ImproveOptions",
    "Improvement",
    "RetryBoundary",
    "RunOutcome",
    "RunResult",
    "Step",
    "TeamRun",
    "TracerHooksError",
    "Trajectory",
    "Verdict",
    "__version__",
    "agent",
    "arun",
    "counterfactual",
    "diagnose",
    "find_decisive_step",
    "flush",
    "hand_off",
    "hook",
    "improve",
    "instructions",
    "last_run",
    "model",
    "replay_run",
    "rerunner",
    "resume",
    "run",
    "tool",
    "unhook",
]

lazy_names(
    __name__,
    {
        ".errors": ("TracerHooksError",),
        ".frameworks": (
            "RunResult",
            "Verdict",
        ),
        ".frameworks.plain": (
            "agent",
            "hand_off",
            "instructions",
            "model",
            "tool",
        ),
        ".improvement": (
            "ImproveOptions",
            "Improvement",
            "improve",
        ),
        ".rerun": (
            "counterfactual",
            "find_decisive_step",
            "replay_run",
            "rerunner",
            "resume",
        ),
        ".runtime": (
            "Attempt",
            "HookOptions",
            "RetryBoundary",
            "TeamRun",
            "arun",
            "diagnose",
            "flush",
            "hook",
            "last_run",
            "run",
            "unhook",
        ),
        ".schema": (
            "Attribution",
            "ErrorMode",
            "RunOutcome",
            "Step",
            "Trajectory",
        ),
    },
)
install_finder()
