"""How a counterfactual replay is made."""

from __future__ import annotations

from dataclasses import dataclass, field

from tracer_hooks.errors import ConfigError
from tracer_hooks.replay._cost_cap import CostCap
from tracer_hooks.replay._player import TapeMode
from tracer_hooks.replay._tool_use import ToolRules


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    """Options of counterfactual replays.

    Raises:
        ConfigError: A number is out of range.
    """

    trials: int = 6
    """How many runs with the correction at most; there are as many controls without it. At ``alpha=0.05`` it takes 3 to
    show a clean effect; a team that errs at random needs 12 or more."""
    suspect_trials: int = 0
    """Where a search for the decisive step has found none, the likeliest steps are corrected again, up to so many times
    in all, with as many controls: a step that errs in half of its runs is seldom found in a few. 0 or a number up to
    :attr:`trials` is no more than those."""
    alpha: float = 0.05
    """Probability of taking chance for an effect, for each step that is tested."""
    early_stop: bool = True
    """Whether trials end as soon as their result is certain, either way."""
    placebo: bool = True
    """Whether a correction that makes a difference is also tried at a random later step, as often."""
    mode: TapeMode = TapeMode.STRICT
    """What happens when the team does not do before the step what it did when it was recorded."""
    tools: ToolRules = field(default_factory=ToolRules)
    """What tools may do after the step."""
    cap: CostCap = field(default_factory=CostCap)
    """What it may cost."""
    seed: int = 0
    """Chooses the random other step."""

    def __post_init__(self) -> None:
        if self.trials < 1:
            raise ConfigError(f"trials is {self.trials!r}, expected 1 or more")
        if self.suspect_trials < 0:
            raise ConfigError(f"suspect_trials is {self.suspect_trials!r}, expected 0 or more")
        if not 0 < self.alpha < 1:
            raise ConfigError(f"alpha is {self.alpha!r}, expected a number between 0 and 1")
