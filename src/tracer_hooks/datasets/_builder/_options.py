"""What a build makes, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tracer_hooks.errors import ConfigError
from tracer_hooks.faults import FaultStrategy, InjectOptions, mutators_of
from tracer_hooks.replay import CostCap, Proposer, ReplayOptions, ResampleProposer, ToolRules, proposers_of
from tracer_hooks.schema import Attribution, ErrorMode, Trajectory

BOTH = (FaultStrategy.RESPONSE_CORRUPTION, FaultStrategy.PROMPT_INJECTION)


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """Options of a build.

    Raises:
        ConfigError: A number is out of range.
    """

    repeats: int = 1
    """How often each team is run on each task before anything is injected."""
    faults_per_run: int = 2
    """Faults that are tried in each run that succeeded; 0 for none."""
    modes: tuple[ErrorMode, ...] = tuple(ErrorMode)
    """Error modes that are injected, in balance."""
    kinds: tuple[str, ...] = ()
    """Mutators that may be used, by name; empty: all. Modes that have none of them are left out."""
    strategies: tuple[FaultStrategy, ...] = BOTH
    """Ways in which they are, in balance."""
    writer: Literal["programmatic", "llm"] = "programmatic"
    """Who writes the faults: ``programmatic``, or ``llm`` with :attr:`InjectOptions.writer`."""
    inject: InjectOptions = field(default_factory=InjectOptions)
    """How faults are verified."""
    natural: bool = True
    """Whether runs that fail by themselves are labelled by replay."""
    max_natural: int | None = None
    """How many of them at most; default all."""
    replay: ReplayOptions = field(default_factory=ReplayOptions)
    """How they are replayed."""
    proposer: Proposer | Sequence[Proposer] = field(default_factory=ResampleProposer)
    """Who writes corrections for them; of several, the next one where those before it show no step."""
    attribute: Callable[[Trajectory], Attribution] | None = None
    """Says which steps are looked at first; default from the last to the first."""
    weak_from: float | None = None
    """From which probability on a natural failure whose search ends undecided gets its likeliest step as a weak label,
    with that weight; None keeps no weak labels."""
    wanted_injected: int | None = None
    """Stop injecting when there are so many verified faults."""
    wanted_natural: int | None = None
    """Stop replaying when there are so many labelled failures."""
    workers: int = 4
    """How many runs go on at the same time."""
    cap: CostCap = field(default_factory=CostCap)
    """What the build may cost; it can be continued later."""
    seed: int = 0
    """Seed of every random choice."""

    def __post_init__(self) -> None:
        for name, least in (("repeats", 1), ("faults_per_run", 0), ("workers", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} is {getattr(self, name)!r}, expected {least} or more")
        if self.weak_from is not None and not 0.0 < self.weak_from < 1.0:
            raise ConfigError(f"weak_from is {self.weak_from!r}, expected a probability between 0 and 1, or None")
        if self.faults_per_run and not (self.modes and self.strategies):
            raise ConfigError("there is no mode or no strategy to inject, expected at least one of each")
        if self.kinds:
            self.mutators  # noqa: B018 - an unknown name is noticed here, not after hours of running
        skipped = self.skipped_modes
        if skipped and skipped == self.modes and set(self.strategies) == {FaultStrategy.RESPONSE_CORRUPTION}:
            names = ", ".join(mode.value for mode in skipped)
            raise ConfigError(
                f"no mutator can make a reply err by {names}: that takes new text, expected a model that writes it: "
                "--writer llm --base-url URL --model NAME (in Python writer=LLMWriter(openai_chat(endpoint))), or "
                "--strategies prompt_injection"
            )
        if self.faults_per_run and self.writer == "llm" and self.inject.writer is None:
            raise ConfigError("writer is 'llm', expected who that is: inject=InjectOptions(writer=LLMWriter(...))")

    @property
    def mutators(self) -> dict[ErrorMode, tuple[str, ...]]:
        """The mutators that may be used, by mode.

        Raises:
            ConfigError: A name is that of no mutator of these modes.
        """
        known = {mode: tuple(one.kind for one in mutators_of(mode)) for mode in self.modes}
        names = {kind for kinds in known.values() for kind in kinds}
        unknown = sorted(set(self.kinds) - names)
        if unknown:
            raise ConfigError(f"there is no mutator {unknown[0]!r} of these modes, expected some of: {sorted(names)}")
        if not self.kinds:
            return known
        chosen = {mode: tuple(kind for kind in kinds if kind in self.kinds) for mode, kinds in known.items()}
        return {mode: kinds for mode, kinds in chosen.items() if kinds}

    @property
    def skipped_modes(self) -> tuple[ErrorMode, ...]:
        """Modes that no fault of the build will have: nothing but new text shows them, and nothing of it writes any."""
        writes = self.writer == "llm" or FaultStrategy.PROMPT_INJECTION in self.strategies
        if writes or not self.faults_per_run or FaultStrategy.RESPONSE_CORRUPTION not in self.strategies:
            return ()
        return tuple(mode for mode in self.modes if not mutators_of(mode))

    def described(self) -> dict[str, Any]:
        """The choices that shape the data: for its card, and to tell whether a build goes on with the same ones."""
        return {
            "repeats": self.repeats,
            "faults_per_run": self.faults_per_run,
            "modes": [mode.value for mode in self.modes],
            **({"kinds": list(self.kinds)} if self.kinds else {}),
            "strategies": [strategy.value for strategy in self.strategies],
            "writer": self.writer,
            "verification": self.inject.rule.model_dump(mode="json"),
            "tools": _described_tools(self.inject.tools),
            "natural": self.natural,
            "trials": self.replay.trials,
            "alpha": self.replay.alpha,
            "replay_tools": _described_tools(self.replay.tools),
            **({"suspect_trials": self.replay.suspect_trials} if self.replay.suspect_trials else {}),
            **({"weak_from": self.weak_from} if self.weak_from is not None else {}),
            "proposer": ", ".join(one.name for one in proposers_of(self.proposer)),
            "seed": self.seed,
        }


def _described_tools(rules: ToolRules) -> dict[str, str]:
    default = {"*": str(rules.default)} if rules.default is not None else {}
    return {**default, **{name: str(use) for name, use in sorted(rules.named.items())}}
