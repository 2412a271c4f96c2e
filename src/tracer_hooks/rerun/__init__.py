"""Running a recorded or a new task again and again: replays, counterfactuals, resumed runs."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.rerun._replay import counterfactual, find_decisive_step, replay_run, resume
    from tracer_hooks.rerun._targets import is_built_with_prompts, judge_of, rerunner

__all__ = [
    "counterfactual",
    "find_decisive_step",
    "is_built_with_prompts",
    "judge_of",
    "replay_run",
    "rerunner",
    "resume",
]

lazy_names(
    __name__,
    {
        "._replay": ("counterfactual", "find_decisive_step", "replay_run", "resume"),
        "._targets": ("is_built_with_prompts", "judge_of", "rerunner"),
    },
)
