"""Running a recorded or a new task again and again: replays, counterfactuals, injected faults."""

from tracer_hooks._api.rerunning._inject import inject
from tracer_hooks._api.rerunning._replay import counterfactual, find_decisive_step, replay_run, resume
from tracer_hooks._api.rerunning._subjects import OwnTeam, SuiteTeam, probe_endpoint
from tracer_hooks._api.rerunning._targets import is_built_with_prompts, judge_of, rerunner

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
