"""Running a recorded or a new task again and again: replays, counterfactuals, resumed runs."""

from typing import TYPE_CHECKING

from tracer_hooks._lazy import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.rerun._comparison import RunComparison as RunComparison
    from tracer_hooks.rerun._comparison import StepComparison as StepComparison
    from tracer_hooks.rerun._comparison import StepState as StepState
    from tracer_hooks.rerun._comparison import compare as compare
    from tracer_hooks.rerun._fork import Fork as Fork
    from tracer_hooks.rerun._fork import fork as fork
    from tracer_hooks.rerun._replay import counterfactual as counterfactual
    from tracer_hooks.rerun._replay import find_decisive_step as find_decisive_step
    from tracer_hooks.rerun._replay import replay_run as replay_run
    from tracer_hooks.rerun._replay import resume as resume
    from tracer_hooks.rerun._targets import check_for as check_for
    from tracer_hooks.rerun._targets import is_built_with_prompts as is_built_with_prompts
    from tracer_hooks.rerun._targets import judge_of as judge_of
    from tracer_hooks.rerun._targets import rerunner as rerunner

__all__ = lazy_names(__name__)
