"""How prompts are improved, and what that will take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tracer_hooks.budget import CostCap
from tracer_hooks.errors import ConfigError
from tracer_hooks.improvement import AcceptanceRule, PromptWriter, Selector
from tracer_hooks.repairs import FeedbackMode


@dataclass(frozen=True, kw_only=True)
class ImproveOptions:
    """How prompts are improved."""

    metric_calls: int = 200
    """Runs of the team that the search may take, those of the baseline included."""
    minibatch: int = 6
    """Tasks on which new prompts are first compared with those that they were made from."""
    selector: Selector = "blame"
    """Whose instructions are rewritten next: agents by the blame for the failures, or each in turn."""
    writer: Literal["rewriter", "gepa"] | PromptWriter = "rewriter"
    """Who writes: our rewriter, GEPA's own proposal, or an object."""
    agents: tuple[str, ...] = ()
    """Whose instructions may be rewritten; default all whose instructions are known."""
    attributor: str = "auto"
    """Who diagnoses."""
    feedback: FeedbackMode = "masked"
    """What may be told of the check's reason."""
    rule: AcceptanceRule = field(default_factory=AcceptanceRule)
    """When new prompts are accepted."""
    cap: CostCap = field(default_factory=CostCap)
    """What it may cost in all, earlier sessions of the same job included."""
    workers: int = 4
    """Runs that go on at the same time."""
    seed: int = 0
    """Of every random choice."""

    def __post_init__(self) -> None:
        for name, least in (("metric_calls", 1), ("minibatch", 1), ("workers", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} is {getattr(self, name)!r}, expected {least} or more")
        if self.cap.max_cost is not None and not (self.cap.input_price or self.cap.output_price):
            raise ConfigError(f"max_cost is {self.cap.max_cost!r}, expected input_price and output_price with it")


@dataclass(frozen=True, kw_only=True)
class ImproveEstimate:
    """What an improvement will take at most."""

    runs: int
    """Runs of the team."""
    tasks: dict[str, int]
    """How many tasks propose, accept and are left unused."""
    tokens_per_run: int | None = None
    """As measured on the first runs."""
    seconds_per_run: float | None = None
    """As measured on the first runs."""
    cost: float | None = None
    """Money, where prices are known."""

    @property
    def tokens(self) -> int | None:
        """Tokens of the runs; the writing comes on top."""
        return None if self.tokens_per_run is None else self.runs * self.tokens_per_run
