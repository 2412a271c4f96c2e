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
from tracer_hooks._version import __version__ as __version__

if TYPE_CHECKING:
    from tracer_hooks.errors import TracerHooksError as TracerHooksError
    from tracer_hooks.frameworks import RunResult as RunResult
    from tracer_hooks.frameworks import Verdict as Verdict
    from tracer_hooks.frameworks.plain import agent as agent
    from tracer_hooks.frameworks.plain import hand_off as hand_off
    from tracer_hooks.frameworks.plain import instructions as instructions
    from tracer_hooks.frameworks.plain import model as model
    from tracer_hooks.frameworks.plain import tool as tool
    from tracer_hooks.improvement import Improvement as Improvement
    from tracer_hooks.improvement import ImproveOptions as ImproveOptions
    from tracer_hooks.improvement import improve as improve
    from tracer_hooks.rerun import Fork as Fork
    from tracer_hooks.rerun import RunComparison as RunComparison
    from tracer_hooks.rerun import compare as compare
    from tracer_hooks.rerun import counterfactual as counterfactual
    from tracer_hooks.rerun import find_decisive_step as find_decisive_step
    from tracer_hooks.rerun import fork as fork
    from tracer_hooks.rerun import replay_run as replay_run
    from tracer_hooks.rerun import rerunner as rerunner
    from tracer_hooks.rerun import resume as resume
    from tracer_hooks.runtime import Attempt as Attempt
    from tracer_hooks.runtime import HookOptions as HookOptions
    from tracer_hooks.runtime import Observer as Observer
    from tracer_hooks.runtime import RetryBoundary as RetryBoundary
    from tracer_hooks.runtime import TeamRun as TeamRun
    from tracer_hooks.runtime import arun as arun
    from tracer_hooks.runtime import diagnose as diagnose
    from tracer_hooks.runtime import flush as flush
    from tracer_hooks.runtime import hook as hook
    from tracer_hooks.runtime import last_run as last_run
    from tracer_hooks.runtime import observe as observe
    from tracer_hooks.runtime import run as run
    from tracer_hooks.runtime import tags as tags
    from tracer_hooks.runtime import unhook as unhook
    from tracer_hooks.schema import Attribution as Attribution
    from tracer_hooks.schema import ErrorMode as ErrorMode
    from tracer_hooks.schema import RunOutcome as RunOutcome
    from tracer_hooks.schema import Step as Step
    from tracer_hooks.schema import Trajectory as Trajectory

__all__ = lazy_names(__name__, eager=["__version__"])
install_finder()
