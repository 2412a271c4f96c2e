"""Repairs: what a trial changes against the failed run, what came of it, and how many trials there may be."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import Field, model_validator

from tracer_hooks.errors import ConfigError
from tracer_hooks.schema import Record, RunOutcome, Text, Trajectory, Usage

_LONGEST_WAIT = 30.0


class RepairScope(StrEnum):
    """For how long a repair holds."""

    ATTEMPT = "attempt"
    """For one trial; nothing of it outlives the call."""
    TEAM = "team"
    """For the team: a prompt that is proposed from several failures, and accepted by evidence."""


class RepairTarget(StrEnum):
    """Places of a repair's text: what it is added to, or stands in the place of."""

    NOTHING = "nothing"
    """There is no text: the team, or the agent, is asked the very same again."""
    TASK = "task"
    """Added to the task, for every agent that is shown it."""
    MESSAGE = "message"
    """Added to the last message that the agent is shown."""
    INSTRUCTIONS = "instructions"
    """The agent's new instructions."""
    REPLY = "reply"
    """What the agent says at the step; in replays alone, since such a run is no longer the team's own work."""


class Repair(Record):
    """One proposal to recover a failed run: what is said to whom, and from which step the run is live.

    Raises:
        pydantic.ValidationError: Target, agent and text do not fit each other.
    """

    strategy: Text
    """Name of the strategy that proposed it."""
    scope: RepairScope = RepairScope.ATTEMPT
    """For how long it holds."""
    target: RepairTarget = RepairTarget.NOTHING
    """What the text is added to."""
    agent: Text | None = None
    """Whom it is for; None for a text that is added to the task, and where there is no text."""
    text: Text = ""
    """What is added, or the whole new text of instructions and replies."""
    resume_from: int | None = Field(default=None, ge=0)
    """The first step that is live, those before it come from the record; None for a run from scratch."""
    usage: Usage = Usage()
    """Tokens that it took to write the text."""
    reason: Text = ""
    """Why this, in one sentence."""

    @model_validator(mode="after")
    def _fits(self) -> Repair:
        says_something = self.target is not RepairTarget.NOTHING
        if says_something != bool(self.text.strip()):
            raise ValueError(f"a repair with target {str(self.target)!r} has the text {self.text[:40]!r}")
        if says_something and self.target is not RepairTarget.TASK and self.agent is None:
            raise ValueError(f"a repair with target {str(self.target)!r} names no agent")
        return self

    @property
    def is_untold(self) -> bool:
        """Tell whether nothing is said."""
        return self.target is RepairTarget.NOTHING

    @property
    def is_plain(self) -> bool:
        """Tell whether it is a plain retry: nothing is said, and nothing is kept of the failed run."""
        return self.is_untold and self.resume_from is None


class PastTrial(Record):
    """A trial that was made, and what came of it."""

    repair: Repair
    """What it changed."""
    outcome: RunOutcome
    """How it ended."""
    score: float | None = None
    """How good it was, 0 to 1, where the check says."""
    usage: Usage = Usage()
    """Tokens of its live model calls, and of writing the repair."""
    seconds: float = 0.0
    """How long it took."""
    note: Text = ""
    """What went otherwise than was planned."""
    left_record: bool = False
    """Whether it was to keep steps of the failed run, and could not keep all of them."""
    attempt: int | None = None
    """The attempt of the call that it was; None for one that was not run, since its text told the answer."""

    @property
    def passed(self) -> bool:
        """Tell whether the run was recovered."""
        return self.outcome is RunOutcome.SUCCEEDED


class RepairLog(Record):
    """The repairs of one call."""

    trials: tuple[PastTrial, ...] = ()
    """Every trial, in order."""
    stopped: Text = ""
    """Why there were no more."""
    kept_usage: Usage = Usage()
    """Tokens that were not spent, since the steps before the resumed one came from the record."""

    @model_validator(mode="before")
    @classmethod
    def _of_older_file(cls, data: Any) -> Any:
        """Stores of version 0.1 kept a ``verified`` step, which one passed trial does not verify."""
        if isinstance(data, dict) and "verified" in data:
            return {name: value for name, value in data.items() if name != "verified"}
        return data

    @property
    def recovered(self) -> bool:
        """Tell whether the last trial passed."""
        return bool(self.trials) and self.trials[-1].passed

    @property
    def passed_from(self) -> int | None:
        """The step that the recovered run was resumed at, with all before it as it was; else None.

        It passed once, which may be luck: :func:`tracer_hooks.find_decisive_step` makes as many runs as it takes.
        """
        last = self.trials[-1] if self.recovered else None
        return last.repair.resume_from if last is not None and not last.left_record else None

    @property
    def usage(self) -> Usage:
        """Tokens of all trials."""
        return sum((trial.usage for trial in self.trials), Usage())

    @property
    def seconds(self) -> float:
        """Seconds that all trials took."""
        return sum(trial.seconds for trial in self.trials)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Bounds on the retries of one call. None is no bound.

    Raises:
        ConfigError: A bound is negative, or money is bounded without a price.
    """

    max_retries: int = 1
    """Most runs after the first one; a repair whose text gave the answer away, and was not run, counts as one."""
    max_tokens: int | None = None
    """Most tokens, in and out, that the retries take together, those of writing repairs included; what comes from the
    record of the failed run costs nothing."""
    max_seconds: float | None = None
    """Most seconds from the start of the first run to the start of a retry."""
    max_cost: float | None = None
    """Most money for the retries, in the currency of the prices."""
    input_price: float = 0.0
    """Price of a million tokens read."""
    output_price: float = 0.0
    """Price of a million tokens written."""
    backoff_s: float = 1.0
    """Seconds to wait before a retry after a fault of the environment (a timeout, a refused connection); doubled each
    time, 30 at most."""
    max_depth: int = 2
    """How deep hooked teams may be nested and still be retried: 1 is the outermost alone."""

    def __post_init__(self) -> None:
        bounds = ("max_retries", "max_tokens", "max_seconds", "max_cost", "input_price", "output_price", "backoff_s")
        for field in (*bounds, "max_depth"):
            value = getattr(self, field)
            if value is not None and not value >= 0:
                raise ConfigError(f"{field} is {value!r}, expected 0 or more")
        if self.max_cost is not None and not (self.input_price or self.output_price):
            raise ConfigError(f"max_cost is {self.max_cost!r}, expected input_price and output_price with it")

    @property
    def counts_tokens(self) -> bool:
        """Tell whether a bound is in tokens, or in money, which follows from them."""
        return self.max_tokens is not None or self.max_cost is not None


class RetryBudget:
    """Rest of a :class:`RetryPolicy` in one call; safe with several threads.

    Args:
        policy: The bounds.
        outer: The budget of the call that this one is made in: what is spent here is spent there, too, and where that
            is used up, so is this.
        clock: Seconds that only go forward.
    """

    def __init__(
        self, policy: RetryPolicy, *, outer: RetryBudget | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.policy = policy
        self.retries = 0
        """Retries that have been recorded."""
        self.usage = Usage()
        """Tokens that they took."""
        self.is_estimated = False
        """Whether some of them are estimated, since the model reported none."""
        self.cannot_count = ""
        """Why they cannot be counted; then a bound in tokens or money allows no further retry."""
        self.depth: int = 1 if outer is None else outer.depth + 1
        """1 for a call that is made in no other."""
        self._outer = outer
        self._clock = clock
        self._began = clock()
        self._lock = threading.RLock()

    @property
    def seconds(self) -> float:
        """Seconds since the budget was opened."""
        return self._clock() - self._began

    @property
    def tokens(self) -> int:
        """Tokens in and out that the retries took."""
        return self.usage.total

    @property
    def cost(self) -> float:
        """Money that the retries took."""
        return self.usage.cost(self.policy.input_price, self.policy.output_price)

    @property
    def refusal(self) -> str | None:
        """Reason for which no further retry may begin; None when one may."""
        policy = self.policy
        if self.depth > policy.max_depth:
            return f"the team runs inside {self.depth - 1} other hooked ones, and max_depth is {policy.max_depth}"
        if self.retries >= policy.max_retries:
            return f"{self.retries} of {policy.max_retries} retries used"
        if policy.counts_tokens and self.cannot_count:
            return self.cannot_count
        if policy.max_tokens is not None and self.tokens >= policy.max_tokens:
            return f"{self._about}{self.tokens} of {policy.max_tokens} tokens used{self._estimated}"
        if policy.max_seconds is not None and self.seconds >= policy.max_seconds:
            return f"{self.seconds:.1f} of {policy.max_seconds:g} seconds used"
        if policy.max_cost is not None and self.cost >= policy.max_cost:
            return f"{self._about}{self.cost:.4g} of {policy.max_cost:g} spent{self._estimated}"
        return self._refused_outside()

    def wait_s(self, faults: int) -> float:
        """Return the seconds to wait after the environment failed for the ``faults``-th time in a row."""
        longest = min(_LONGEST_WAIT, self.policy.backoff_s * 2 ** max(0, faults - 1))
        # Not by the module's own generator: a user may have seeded that.
        wait: float = longest * random.SystemRandom().uniform(0.5, 1.0)
        left = None if self.policy.max_seconds is None else max(0.0, self.policy.max_seconds - self.seconds)
        return wait if left is None else min(wait, left)

    def record(self) -> None:
        """Count one retry that was made, here and in every call around this one."""
        with self._lock:
            self.retries += 1
        if self._outer is not None:
            self._outer.record()

    def spend(self, usage: Usage, *, is_estimated: bool = False) -> None:
        """Count tokens that were spent on retries, here and in every call around this one."""
        with self._lock:
            self.usage = self.usage + usage
            self.is_estimated |= is_estimated
        if self._outer is not None:
            self._outer.spend(usage, is_estimated=is_estimated)

    @property
    def _about(self) -> str:
        return "about " if self.is_estimated else ""

    @property
    def _estimated(self) -> str:
        return ", by the length of what was read and written: the model reports no usage" if self.is_estimated else ""

    @property
    def _sharing(self) -> RetryBudget | None:
        """The nearest call around this one that retries; one that was not asked to bounds nothing."""
        outer = self._outer
        while outer is not None and outer.policy.max_retries == 0:
            outer = outer._outer
        return outer

    def _refused_outside(self) -> str | None:
        outer = self._sharing
        refusal = None if outer is None else outer.refusal
        return None if refusal is None else f"{refusal} by the call around this one"


_CHARACTERS_PER_TOKEN = 4


def estimated_usage(run: Trajectory, since: int = 0) -> Usage | None:
    """Tokens of the steps of ``run`` whose model reports none, at four characters a token; None where all report some.

    Args:
        run: The run. Zero is given where no text was recorded that could be measured.
        since: The first step that counts.
    """
    is_reported = bool(run.usage.total)
    silent = [
        step
        for step in run.steps[since:]
        if (step.usage is None or not step.usage.total) and (step.model is not None or not is_reported)
    ]
    if not silent:
        return None
    read = sum(len(message.text or "") for step in silent for message in step.inputs)
    read += sum(len(call.result or "") for step in silent for call in step.tool_calls)
    written = sum(len(step.content) + sum(len(str(c.arguments or "")) for c in step.tool_calls) for step in silent)
    return Usage(input_tokens=read // _CHARACTERS_PER_TOKEN, output_tokens=written // _CHARACTERS_PER_TOKEN)
