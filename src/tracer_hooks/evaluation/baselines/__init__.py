"""What can be had for nothing: answers that read no text of the run, or next to none.

A method that does not beat the best of them has learned nothing from the runs. Priors are fitted to the very runs that
are evaluated, each run to the other questions' labels only; that is generous to them, since no attributor sees those.
"""

from tracer_hooks.evaluation.baselines._faults import (
    FaultBaseline,
    every_agent_and_mode,
    fault_baselines,
    random_fault,
    roster_prior,
)
from tracer_hooks.evaluation.baselines._markers import before_error_marker
from tracer_hooks.evaluation.baselines._positions import (
    busiest_speaker,
    first_speaker,
    last_step,
    random_step,
    step_one,
)
from tracer_hooks.evaluation.baselines._priors import agent_prior, best_constant_step, position_prior
from tracer_hooks.evaluation.baselines._steps import StepBaseline, step_baselines

__all__ = [
    "FaultBaseline",
    "StepBaseline",
    "agent_prior",
    "before_error_marker",
    "best_constant_step",
    "busiest_speaker",
    "every_agent_and_mode",
    "fault_baselines",
    "first_speaker",
    "last_step",
    "position_prior",
    "random_fault",
    "random_step",
    "roster_prior",
    "step_baselines",
    "step_one",
]
