"""What a calibration is told."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tracer_hooks._api.building._own_judge import JudgeTraining
from tracer_hooks.attribution import get_attributor
from tracer_hooks.datasets import BuildOptions
from tracer_hooks.faults import FaultStrategy
from tracer_hooks.replay import CostCap, FeedbackProposer, ReplayOptions, ResampleProposer, ToolRules

_WEAK_FROM = 0.5
"""Replays that end undecided must hold one step likelier than all others together."""


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions:
    """How a team is calibrated."""

    attributor: str = "structural"
    """Who is fitted."""
    injected: int = 40
    """Verified faults that are wanted."""
    natural: int | None = None
    """Labelled natural failures that are wanted; default as many as there are, 0 for none."""
    repeats: int = 1
    """How often the team is run on each task."""
    faults_per_run: int = 3
    """Faults that are tried in each run that succeeds."""
    trials: int = 5
    """Replays of each kind for each step of a natural failure, at most."""
    suspect_trials: int = 20
    """The same for the likeliest steps, where those have found none."""
    tools: ToolRules | str | dict[str, str] | None = "rebuilt"
    """What tools may do in replays; by default their state is taken to live in the team's own process."""
    folds: int = 5
    """Parts that the tasks are split into for the measurement; each is left out once."""
    workers: int = 2
    """Runs that go on at the same time."""
    cap: CostCap = field(default_factory=CostCap)
    """What it may cost; the same command goes on later."""
    seed: int = 0
    """Seed of every random choice."""
    judge: JudgeTraining | None = None
    """Whether a judge is trained on the labels as well, and how. What is fitted, and what ``hook`` uses, stays the
    same."""

    def build_options(self) -> BuildOptions:
        """The options of the build."""
        rules = ToolRules.of(self.tools)
        options = BuildOptions(
            repeats=self.repeats,
            faults_per_run=self.faults_per_run,
            strategies=(FaultStrategy.RESPONSE_CORRUPTION, FaultStrategy.PROMPT_INJECTION),
            natural=self.natural != 0,
            replay=ReplayOptions(
                trials=self.trials, suspect_trials=self.suspect_trials, tools=rules, seed=self.seed, placebo=False
            ),
            proposer=(ResampleProposer(), FeedbackProposer()),
            weak_from=_WEAK_FROM,
            attribute=get_attributor(self.attributor).attribute,
            wanted_injected=self.injected,
            wanted_natural=self.natural,
            workers=self.workers,
            cap=self.cap,
            seed=self.seed,
        )
        return replace(options, inject=replace(options.inject, tools=rules))
