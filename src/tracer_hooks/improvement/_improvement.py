"""Options, progress and result of an improvement."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from pydantic import Field

from tracer_hooks.budget import CostCap
from tracer_hooks.diagnosis import Attributor
from tracer_hooks.errors import ConfigError
from tracer_hooks.improvement._acceptance import AcceptanceRule
from tracer_hooks.improvement._prompt_writer import PromptWriter, TriedPrompt
from tracer_hooks.repair import FeedbackMode
from tracer_hooks.schema import Json, Record, Text, Usage

Outcome = Literal["accepted", "rejected", "on trial", "nothing found", "nothing to improve", "stopped"]
"""What became of the best prompts: accepted; rejected; still on trial, since the pairs say too little; none did better
than the present ones; too few runs failed; or the job was broken off before any were found, and can go on."""


class PassShare(Record):
    """Number of runs that passed."""

    runs: int = Field(ge=0)
    """How many there were."""
    passes: int = Field(ge=0)
    """How many of them passed."""
    score: float = Field(ge=0)
    """The sum of their scores."""

    @property
    def rate(self) -> float:
        """Passes by runs; 0 without any."""
        return self.passes / self.runs if self.runs else 0.0


class TrialPair(Record):
    """A task of the trial that was run with the new prompts and with the old ones."""

    task: Text
    """Its id."""
    new: float
    """Score with the new prompts."""
    old: float
    """Score with the old ones."""
    formerly_passed: bool = False
    """Whether it was chosen because it had passed before."""
    e_gain: float
    """The evidence of a gain after this pair; 20 is enough at the usual level of 5 %."""


class BeforeAfter(Record):
    """The same tasks with the old and with the new prompts, each task once."""

    before: PassShare
    """With the old ones."""
    after: PassShare
    """With the new ones."""
    low: float
    """Lower end of the 95 % interval of the difference in the share of passed runs."""
    high: float
    """Its upper end."""

    @property
    def gain(self) -> float:
        """Difference in the share of passed runs."""
        return self.after.rate - self.before.rate


class Improvement(Record):
    """Result of :func:`tracer_hooks.improve`."""

    team: Text
    """The team's fingerprint."""
    team_name: Text
    """The team's name."""
    framework: Text
    """Its framework."""
    outcome: Outcome
    """What became of the best prompts."""
    reason: Text
    """Why, in one sentence."""
    version: int | None = None
    """Its number in the store of prompts; None where no prompts were proposed."""
    texts: dict[str, Text] = Field(default_factory=dict)
    """The new instructions, by agent; empty where no prompts were proposed."""
    old: dict[str, Text] = Field(default_factory=dict)
    """The instructions before, of all agents."""
    tasks: dict[str, int] = Field(default_factory=dict)
    """How many tasks proposed, accepted, were formerly passed, and were never used before the end."""
    baseline: PassShare
    """The proposing tasks with the old prompts."""
    blame: dict[str, float] = Field(default_factory=dict)
    """Share of the blame for the failures, by agent."""
    candidates: int = 0
    """Prompts that were compared on all comparing tasks, the old ones included."""
    refused: tuple[TriedPrompt, ...] = ()
    """What was written and not kept."""
    search: Text = ""
    """Why the search ended."""
    evidence: dict[str, Json] = Field(default_factory=dict)
    """What the trial on other tasks found."""
    needed: float = 20.0
    """Evidence of a gain at which it counts as shown."""
    pairs: tuple[TrialPair, ...] = ()
    """The pairs of the trial, in their order."""
    notes: tuple[Text, ...] = ()
    """What the user should know besides."""
    provenance: dict[str, Json] = Field(default_factory=dict)
    """Who wrote, from which failures, with which seed, and in which folder."""
    unused: BeforeAfter | None = None
    """The tasks that were never used before; None where they were not run."""
    passed: BeforeAfter | None = None
    """The formerly passed tasks in the trial; None without any."""
    runs: int = 0
    """Runs of the team."""
    usage: Usage = Usage()
    """Tokens of them, and of the writing."""
    writing: Usage = Usage()
    """Tokens of the writing alone."""
    cost: float = 0.0
    """Money, where prices are known."""
    seconds: float = 0.0
    """How long it took, this session alone."""
    stopped: Text = ""
    """Which limit ended it; empty where none did."""


@dataclass(frozen=True, kw_only=True)
class ImproveOptions:
    """Options of an improvement of prompts."""

    attributor: str | Attributor = "auto"
    """Diagnoses failed runs."""
    feedback: FeedbackMode = "masked"
    """What may be told of the check's reason."""
    workers: int = 4
    """Runs of the team that go on at the same time; 1 for a team whose code is not safe in threads."""
    backoff_s: float = 1.0
    """Seconds to wait after a fault of the environment; doubled each time."""
    metric_calls: int = 200
    """Runs of the team that the search may take, those of the baseline included."""
    minibatch: int = 6
    """Tasks on which a candidate is first compared with what it was made from."""
    seed: int = 0
    """Of every random choice."""
    writer: PromptWriter | None = None
    """Who writes; default :class:`~tracer_hooks.improvement.LLMRewriter`."""
    agents: tuple[str, ...] = ()
    """Whose instructions may be rewritten; default all whose instructions are known."""
    rule: AcceptanceRule = field(default_factory=AcceptanceRule)
    """When new prompts are accepted."""
    cap: CostCap = field(default_factory=CostCap)
    """What it may cost in all, earlier sessions of the same job included."""

    def __post_init__(self) -> None:
        for name, least in (("metric_calls", 1), ("minibatch", 1), ("workers", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} is {getattr(self, name)!r}, expected {least} or more")
        if isinstance(self.writer, str):
            raise ConfigError(f"writer is {self.writer!r}, expected an object with write(), or None for LLMRewriter")
        if self.cap.max_cost is not None and not (self.cap.input_price or self.cap.output_price):
            raise ConfigError(f"max_cost is {self.cap.max_cost!r}, expected input_price and output_price with it")

    def one_round(self, read: int, compare: int) -> int:
        """Runs of the first round: own prompts and one candidate, on a minibatch and on the comparing tasks."""
        return 2 * (compare + min(self.minibatch, read))

    def expect_enough_calls(self, read: int, compare: int, *, known: int) -> None:
        """Make sure that the runs that may be made are enough for one round."""
        needed = known + self.one_round(read, compare)
        if self.metric_calls < needed:
            raise ConfigError(
                f"metric_calls is {self.metric_calls!r}, expected at least {needed}: {known} runs to learn from, and "
                f"{needed - known} to compare a first candidate with the present prompts. Raise --metric-calls"
            )


@dataclass(frozen=True, kw_only=True)
class ImproveEstimate:
    """Upper bounds of what an improvement will take."""

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


class ImprovePhase(StrEnum):
    """Phases of an improvement."""

    BASELINE = "running the team as it is"
    SEARCH = "looking for better prompts"
    TRIAL = "trying them on other tasks"
    UNUSED = "running tasks that were never used"


@dataclass(frozen=True, kw_only=True)
class ImproveProgress:
    """State of the job."""

    phase: ImprovePhase
    """What is being done."""
    done: int
    """Runs of this phase that are done."""
    total: int
    """Runs that it takes at most."""
    passed: int
    """How many of those that are done passed."""
    said: str = ""
    """What has just happened, in words; empty where nothing is worth a word."""


class PhaseCounter:
    """Counts the runs of each phase, and tells of every one. Safe to use from several threads."""

    def __init__(self, tell: Callable[[ImproveProgress], None]) -> None:
        self._tell = tell
        self._totals = dict.fromkeys(ImprovePhase, 0)
        self._done = dict.fromkeys(ImprovePhase, (0, 0))
        self._last = ImprovePhase.BASELINE
        self._lock = threading.Lock()

    def expect(self, phase: ImprovePhase, total: int) -> None:
        """Say how many runs a phase takes at most."""
        self._totals[phase], self._last = total, phase

    def count(self, phase: ImprovePhase, passed: bool) -> None:
        """Count a run."""
        with self._lock:
            done, passes = self._done[phase]
            self._done[phase] = done + 1, passes + passed
            self._say(phase)

    def end(self, said: str) -> None:
        """Say why the phase ended where it did; no more runs of it are expected."""
        self._totals[self._last] = self._done[self._last][0]
        self.say(said)

    def say(self, said: str) -> None:
        """Tell what has just happened."""
        with self._lock:
            self._say(self._last, said)

    def _say(self, phase: ImprovePhase, said: str = "") -> None:
        done, passed = self._done[phase]
        total = max(done, self._totals[phase])
        self._tell(ImproveProgress(phase=phase, done=done, total=total, passed=passed, said=said))
