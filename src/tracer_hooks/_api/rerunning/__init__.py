"""Running a recorded or a new task again and again: replays, counterfactuals, injected faults."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy_names import lazy_names

if TYPE_CHECKING:
    from tracer_hooks._api.rerunning._replay import counterfactual, find_decisive_step, replay_run, resume
    from tracer_hooks._api.rerunning._targets import is_built_with_prompts, judge_of, rerunner
    from tracer_hooks_lab.injection import inject
    from tracer_hooks_lab.subjects import OwnTeam, SuiteTeam, probe_endpoint

__all__ = [
    "OwnTeam",
    "SuiteTeam",
    "counterfactual",
    "find_decisive_step",
    "inject",
    "is_built_with_prompts",
    "judge_of",
    "probe_endpoint",
    "replay_run",
    "rerunner",
    "resume",
]

lazy_names(
    __name__,
    {
        "._replay": (
            "counterfactual",
            "find_decisive_step",
            "replay_run",
            "resume",
        ),
        "._targets": (
            "is_built_with_prompts",
            "judge_of",
            "rerunner",
        ),
        "tracer_hooks_lab.injection": ("inject",),
        "tracer_hooks_lab.subjects": (
            "OwnTeam",
            "SuiteTeam",
            "probe_endpoint",
        ),
    },
)
