"""Counterfactual replay of a step: trials with a correction beside trials without, tested as they come."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Self

from pydantic import Field

from tracer_hooks.budget import CostCap, Spending
from tracer_hooks.errors import CheckError, ConfigError, ReplayError, TapeMismatchError
from tracer_hooks.frameworks import Intervention, Interventions
from tracer_hooks.replay._correction import Correction, Corrector, TapedRequest
from tracer_hooks.replay._player import TapeMode, TapePlayer, ToolRules, model_divergence
from tracer_hooks.replay._replay import TeamRunner, Trial
from tracer_hooks.schema import Record, Text, Usage

Z_95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""

_ALTERNATIVES = ((0.5, 0.95, 0.05), (0.25, 0.9, 0.5), (0.25, 0.6, 0.05))
"""Weight, flip rate with the correction, flip rate without: a clean effect, one over a noisy control, a rare one."""


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    """Options of counterfactual replays."""

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


CorrectionOf = Callable[[int], Correction]
"""The correction of each step; may raise ReplayError where there is none."""
_MOST_UNJUDGED = 3
"""The first pairs of runs, if the check could judge none of them: the others would be no better."""


class Arm(Record):
    """Runs of one kind, and how many of them succeeded."""

    trials: int = 0
    """How many runs."""
    flips: int = 0
    """How many of them succeeded, where the recorded run had failed."""

    @property
    def rate(self) -> float:
        """The share that succeeded; 0 without runs."""
        return self.flips / self.trials if self.trials else 0.0

    def plus(self, flipped: bool) -> Self:
        """With one more run."""
        return self.model_copy(update={"trials": self.trials + 1, "flips": self.flips + flipped})


class Counterfactual(Record):
    """Result of replaying a failed run with one step corrected.

    Three kinds of runs, all with the steps before the corrected one fixed from the tape and live after it: with the
    correction; without it, the recorded reply standing in its place; and with a correction at another step after it,
    chosen at random.
    """

    run_id: Text
    """The failed run."""
    step: int = Field(ge=0)
    """The corrected step."""
    agent: Text
    """Whose step it is."""
    correction: Correction
    """What was done instead."""
    corrected: Arm = Arm()
    """Runs with the correction."""
    control: Arm = Arm()
    """Runs without it."""
    placebo: Arm = Arm()
    """Runs with a correction at :attr:`placebo_step`, the step itself being as it was recorded. When they succeed as
    well, it is not this step that matters: the correction gives the answer away, or the run can be saved later, too."""
    placebo_step: int | None = None
    """A random later step; None when there was none, or it was not tried."""
    interval: tuple[float, float] = (-1.0, 1.0)
    """95 % interval of the flip rate minus the control's, from their Wilson intervals."""
    e_value: float = 1.0
    """Evidence of the sequential test; significant from ``1 / alpha`` on."""
    is_significant: bool = False
    """Whether the correction makes a difference."""
    unjudged: int = Field(default=0, ge=0)
    """Pairs of runs, one with the correction and one without, of which the check could not judge one. They count
    neither for it nor against it."""
    stopped: Text = ""
    """Why there were no more trials."""
    runs: int = 0
    """Runs of the team."""
    usage: Usage = Usage()
    """Tokens of their live model calls, and of writing the correction."""
    trajectory_ids: tuple[Text, ...] = ()
    """Run ids of the runs with the correction."""

    @property
    def effect(self) -> float:
        """The flip rate minus the control's."""
        return self.corrected.rate - self.control.rate


class StepReplay:
    """Replays one failed run with changes at its steps, and counts what that costs."""

    def __init__(
        self,
        runner: TeamRunner,
        recorded: Trial,
        options: ReplayOptions,
        *,
        spending: Spending | None = None,
        on_trial: Callable[[Trial], None] | None = None,
    ) -> None:
        self.recorded = recorded
        self.options = options
        self.spending = spending or Spending(options.cap)
        self._runner = runner
        self._on_trial = on_trial

    def sharing_alpha(self, ways: int) -> StepReplay:
        """The same, with ``alpha`` shared among so many tests of each step: one of them may be a false alarm."""
        options = replace(self.options, alpha=self.options.alpha / ways)
        return StepReplay(self._runner, self.recorded, options, spending=self.spending, on_trial=self._on_trial)

    @property
    def steps(self) -> list[int]:
        """The steps that can be corrected: those with a model call on the tape."""
        return sorted({call.step for call in self.recorded.tape.model_calls})

    def corrected(self, step: int, correction: Correction) -> Trial:
        """One run with the correction."""
        lenient = self.options.mode is TapeMode.LENIENT
        tape = self.recorded.tape
        at = TapedRequest.at_step(tape, step)
        corrector = Corrector(correction, at, lenient=lenient)
        trial = self.run_from(step, corrector)
        if corrector.is_applied:
            return trial
        if corrector.missed is not None:
            where = str(model_divergence(tape, at.call, corrector.missed))
        else:
            where = f"step {step}: agent {at.call.agent!r} asks nothing there"
        raise TapeMismatchError(
            f"the replay differs from the recording at {where}. Build the team as it was recorded, or use "
            "mode='lenient'"
        )

    def control(self, step: int) -> Trial:
        """One run in which the recorded reply of the step stands, and all after it is live."""
        TapedRequest.at_step(self.recorded.tape, step)
        return self.run_from(step + 1)

    def run_from(self, until: int, change: Intervention | None = None) -> Trial:
        """One run that is live from a step on, with a change of what its models and tools are asked."""
        player = TapePlayer(self.recorded.tape, until=until, mode=self.options.mode, tools=self.options.tools)
        trial: Trial | None = None
        try:
            trial = self._runner.run(Interventions([player] if change is None else [player, change]))
        finally:  # a run that left the tape has cost something as well
            self.spending.add(live_usage(trial, until) if trial is not None else Usage())
        player.finish()
        if self._on_trial is not None:
            self._on_trial(trial)
        return trial


def live_usage(trial: Trial, since: int) -> Usage:
    """Tokens of the steps from ``since`` on: those before came from the tape."""
    steps = trial.trajectory.steps[since:]
    return sum((step.usage for step in steps if step.usage is not None), Usage())


def examine_step(replay: StepReplay, step: int, correction_of: CorrectionOf) -> Counterfactual:
    """Correct one step again and again, with as many controls, until the answer is certain or the trials are used up.

    Raises:
        ReplayError: The step cannot be corrected, or the replay left the tape.
    """
    examination = Examination(replay, step, correction_of)
    examination.go_on(replay.options.trials)
    return examination.result


class Examination:
    """Runs with one step corrected, and as many with it as it was; more can be made at any time.

    Going on is sound, since the evidence may be looked at after each pair.

    Attributes:
        result: What came of it so far.
    """

    def __init__(self, replay: StepReplay, step: int, correction_of: CorrectionOf) -> None:
        self.step = step
        self._replay, self._correction_of = replay, correction_of
        self._test = SequentialTest(alpha=replay.options.alpha)
        tape, spent = replay.recorded.tape, replay.spending.usage
        agent, correction = TapedRequest.at_step(tape, step).call.agent, correction_of(step)
        written = replay.spending.usage - spent
        self.result = Counterfactual(run_id=tape.run_id, step=step, agent=agent, correction=correction, usage=written)

    def go_on(self, pairs: int, *, most: int | None = None) -> None:
        """Make runs until there are so many pairs in all, the answer is certain, or the cost cap is reached.

        Args:
            pairs: How many.
            most: How many there may ever be, by which it is judged whether an effect can still be shown; default
                ``pairs``.

        Raises:
            ReplayError: The replay left the tape.
            CheckError: The check could not judge the first runs.
        """
        options, spending, test = self._replay.options, self._replay.spending, self._test
        test.max_pairs = most or pairs
        self._note(stopped="all trials were made")
        with self._counted():
            while test.pairs < pairs:
                if spending.refusal is not None:
                    self._note(stopped=spending.refusal)
                    break
                try:
                    self._make_pair()
                except CheckError as error:
                    if not self._is_borne(error):
                        break
                    continue
                if options.early_stop and (test.is_significant or test.is_futile):
                    is_shown = test.is_significant
                    self._note(stopped="the effect is certain" if is_shown else "no effect could be shown any more")
                    break
            if options.placebo and test.is_significant and not self.result.placebo.trials:
                arm, other = _placebo(self._replay, self.step, self._correction_of, test.pairs)
                self._note(placebo=arm, placebo_step=other)

    def _note(self, **found: object) -> None:
        self.result = self.result.model_copy(update=found)

    def _make_pair(self) -> None:
        known, test = self.result, self._test
        trial, other = self._replay.corrected(self.step, known.correction), self._replay.control(self.step)
        test.add(trial.passed, other.passed)
        corrected, control = known.corrected.plus(trial.passed), known.control.plus(other.passed)
        self._note(
            corrected=corrected,
            control=control,
            interval=difference_interval((corrected.flips, corrected.trials), (control.flips, control.trials)),
            e_value=test.e_value,
            is_significant=test.is_significant,
            trajectory_ids=(*known.trajectory_ids, trial.trajectory.run_id),
        )

    def _is_borne(self, error: CheckError) -> bool:
        """Count a pair that could not be judged; whether to go on with others."""
        unjudged = self.result.unjudged + 1
        self._note(unjudged=unjudged)
        if self._test.pairs == 0 and unjudged >= _MOST_UNJUDGED:
            raise error
        if unjudged >= max(_MOST_UNJUDGED, self._test.max_pairs):
            self._note(stopped=f"the check could not judge {unjudged} pairs of runs: {error}")
            return False
        return True

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count what is spent meanwhile as spent on this step."""
        spending = self._replay.spending
        runs, usage = spending.runs, spending.usage
        try:
            yield
        finally:
            known = self.result
            self._note(runs=known.runs + spending.runs - runs, usage=known.usage + spending.usage - usage)


def _placebo(replay: StepReplay, step: int, correction_of: CorrectionOf, trials: int) -> tuple[Arm, int | None]:
    """Correct a random later step as often.

    Not an earlier one: everything after it is live, the step in question included.
    """
    others = [other for other in replay.steps if other > step]
    if not others:
        return Arm(), None
    other = random.Random(f"{replay.options.seed}:{replay.recorded.tape.run_id}").choice(others)
    arm = Arm()
    try:
        correction = correction_of(other)
        while arm.trials < trials and replay.spending.refusal is None:
            arm = arm.plus(replay.corrected(other, correction).passed)
    except ReplayError:  # there is no correction for that step, or it cannot be reached: the answer does not need it
        pass
    return arm, other


def wilson(successes: int, trials: int, *, z: float = Z_95) -> tuple[float, float]:
    """The Wilson score interval of a rate (Wilson 1927); (0, 1) without trials."""
    if trials == 0:
        return 0.0, 1.0
    rate = successes / trials
    centre = (rate + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials)) / (1 + z * z / trials)
    return max(0.0, centre - half), min(1.0, centre + half)


def difference_interval(with_it: tuple[int, int], without: tuple[int, int], *, z: float = Z_95) -> tuple[float, float]:
    """The interval of a difference of two rates from their Wilson intervals (Newcombe 1998, method 10).

    Args:
        with_it: Flips and trials with the correction.
        without: Flips and trials of the control.
        z: Quantile of the normal distribution.
    """
    (a, n), (b, m) = with_it, without
    rate, other = a / n if n else 0.5, b / m if m else 0.5
    low, high = wilson(a, n, z=z)
    other_low, other_high = wilson(b, m, z=z)
    gap = rate - other
    return (
        max(-1.0, gap - math.hypot(rate - low, other_high - other)),
        min(1.0, gap + math.hypot(high - rate, other - other_low)),
    )


def paired_interval(won: int, lost: int, pairs: int, *, z: float = Z_95) -> tuple[float, float]:
    """Interval of the difference of two shares that were measured on the same things.

    Bonett and Price, "Adjusted Wald Confidence Interval for a Difference of Binomial Proportions Based on Paired Data"
    (2012): one more of each kind is counted, so that it keeps its level with few pairs, and with none that differ.

    Args:
        won: Pairs in which only the first passed.
        lost: Pairs in which only the second passed.
        pairs: All pairs; at least 1.
        z: Quantile of the normal distribution.
    """
    up, down, count = (won + 1) / (pairs + 2), (lost + 1) / (pairs + 2), pairs + 2
    half = z * math.sqrt((up + down - (up - down) ** 2) / count)
    return max(-1.0, up - down - half), min(1.0, up - down + half)


def replay_verdict(changed: Sequence[bool], control: Sequence[bool]) -> tuple[bool, str]:
    """Whether a change makes runs succeed, by the sequential test, and that in words.

    Args:
        changed: Which runs with the change succeeded.
        control: Which runs without it did, each made beside the one in the same place; some may be missing.
    """
    test = SequentialTest(max_pairs=len(changed))
    for pair in zip(changed, control, strict=False):
        test.add(*pair)
    if test.is_significant:
        told = "verified by replay"
    elif sum(changed) * len(control) > sum(control) * len(changed):
        told = "too few runs to show an effect:"
    else:
        told = "no effect is shown by replay:"
    return test.is_significant, f"{told} {sum(changed)} of {len(changed)}, control {sum(control)} of {len(control)}"


class SequentialTest:
    """Tests, pair by pair, that the flip rate with a correction is not above the control's.

    Each pair is one run with the correction and one without. The evidence is an e-value: the likelihood of the pairs
    under fixed alternatives, averaged, over their likelihood under the nearest common rate. Its expectation is at most
    1 while the hypothesis holds, so that looking after each pair and stopping at ``1 / alpha`` keeps the error below
    ``alpha`` (Turner, Ly and Grünwald, "Generic E-variables for exact sequential k-sample tests", 2024).

    Args:
        alpha: Probability of a false alarm that is allowed.
        max_pairs: How many pairs there may be.
    """

    def __init__(self, *, alpha: float = 0.05, max_pairs: int = 6) -> None:
        self.alpha = alpha
        self.max_pairs = max_pairs
        self.pairs = 0
        self._products = [weight for weight, _, _ in _ALTERNATIVES]

    def add(self, flipped: bool, control_flipped: bool) -> None:
        """Take one pair into account."""
        self.pairs += 1
        self._products = [
            product * _ratio(flipped, control_flipped, rate, control)
            for product, (_, rate, control) in zip(self._products, _ALTERNATIVES, strict=True)
        ]

    @property
    def e_value(self) -> float:
        """The evidence so far; 1 is none."""
        return sum(self._products)

    @property
    def is_significant(self) -> bool:
        """Tell whether the correction makes a difference."""
        return self.e_value >= 1 / self.alpha

    @property
    def is_futile(self) -> bool:
        """Tell whether even flips of all remaining pairs, and of none of their controls, would not be enough."""
        left = self.max_pairs - self.pairs
        best = sum(
            product * _ratio(True, False, rate, control) ** left
            for product, (_, rate, control) in zip(self._products, _ALTERNATIVES, strict=True)
        )
        return best < 1 / self.alpha


def _ratio(flipped: bool, control_flipped: bool, rate: float, control: float) -> float:
    common = (rate + control) / 2
    with_it = (rate / common) if flipped else (1 - rate) / (1 - common)
    without = (control / common) if control_flipped else (1 - control) / (1 - common)
    return with_it * without
