"""Search for the decisive step: which step to examine next, and what the tests so far say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from tracer_hooks.errors import ReplayError
from tracer_hooks.replay._counterfactual import Counterfactual, Examination, StepReplay
from tracer_hooks.replay._proposers import Proposer, ResampleProposer, corrections_by, proposers_of
from tracer_hooks.schema import Attribution, Candidate, DecisiveStep, Record, Text, Usage

_PASSES = 0.5
"""A control that succeeds more often than this says that nothing decisive had gone wrong up to its step."""


_TRUST = 0.5
"""How much of the suspicion is the attributor's; the rest is spread over all steps."""
_HELD_PRIOR, _LOST_PRIOR = (2.0, 1.0), (1.0, 3.0)
"""Beta distributions over teams of how often a run that resumes passes, where no step before it was at fault (27 of 34
measured failures) and where one was (4 of 16): as many as a handful of runs would say."""


class StepBelief:
    """The belief over the decisive step: one probability a step, and what trials make of them."""

    def __init__(self, weights: Mapping[int, float]) -> None:
        self._shares = _normalised(weights)

    @classmethod
    def of(cls, steps: Iterable[int], attribution: Attribution | None = None) -> StepBelief:
        """The belief before any trial: half the attributor's, half spread over all steps, so that none goes without."""
        return cls(_suspicion(sorted(set(steps)), attribution))

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps that can be decisive, in order."""
        return tuple(self._shares)

    def probability(self, step: int) -> float:
        """Return how probable it is that ``step`` is the decisive one; 0 for a step that is not known."""
        return self._shares.get(step, 0.0)

    def after(self, resumed: Mapping[int, tuple[int, int]]) -> StepBelief:
        """The belief after many runs of one team, whose rates are not known: they are integrated out."""
        logs = {}
        for each, share in self._shares.items():
            held, lost = (
                [sum(counts[part] for step, counts in resumed.items() if (step <= each) is is_held) for part in (0, 1)]
                for is_held in (True, False)
            )
            logs[each] = math.log(max(share, 1e-12)) + _marginal(held, _HELD_PRIOR) + _marginal(lost, _LOST_PRIOR)
        top = max(logs.values(), default=0.0)
        return StepBelief({each: math.exp(log - top) for each, log in logs.items()})


def _marginal(counts: Sequence[int], prior: tuple[float, float]) -> float:
    """Log-probability of so many runs and passes, in an order, under a rate that is drawn from a beta distribution."""
    (runs, passes), (a, b) = counts, prior
    return _log_beta(a + passes, b + runs - passes) - _log_beta(a, b)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _suspicion(steps: list[int], attribution: Attribution | None) -> dict[int, float]:
    scores: dict[int, float] = dict.fromkeys(steps, 0.0)
    if attribution is not None:
        named = [(attribution.step, attribution.confidence)]
        named += [(candidate.step, candidate.score) for candidate in attribution.candidates]
        for step, score in named:
            if step in scores:
                scores[step] = max(scores[step], score)
    total = sum(scores.values())
    trust = _TRUST if total > 0 else 0.0
    # Scores are probabilities: what they leave open may be any step. A diagnosis of 50 % is no certainty.
    scale, unsaid = (total, 0.0) if total > 1.0 else (1.0, 1.0 - total)
    return {
        step: trust * (score / scale + unsaid / len(steps)) + (1 - trust) / len(steps) for step, score in scores.items()
    }


def _normalised(weights: Mapping[int, float]) -> dict[int, float]:
    total = sum(weights.values())
    # Shares that sum to 1 but for rounding stay as they are: ties between steps are then decided as they were.
    scale = total if total > 0.0 and abs(total - 1.0) > 1e-9 else 1.0
    return {step: weights[step] / scale for step in sorted(weights)}


class Untested(Record):
    """A step that could not be tested."""

    step: int
    """The step."""
    reason: Text
    """Why not."""


class DecisiveSearch(Record):
    """Result of a search for the decisive error step."""

    run_id: Text
    """The failed run."""
    decisive: DecisiveStep | None = None
    """The earliest step whose correction turns failure into success; None when there is none."""
    reason: Text
    """Why the search ended as it did, and what it left open."""
    tested: tuple[Counterfactual, ...] = ()
    """The steps that were tested, in that order."""
    untested: tuple[Untested, ...] = ()
    """The steps that could not be tested."""
    suspects: tuple[Candidate, ...] = ()
    """What is believed of each step after all runs, the likeliest first: the attributor's suspicion, changed by how
    often the run passed when it was resumed before and after the step. Also where no step was found."""
    runs: int = 0
    """Runs of the team."""
    usage: Usage = Usage()
    """Tokens of their live model calls, and of writing corrections."""

    @property
    def evidence(self) -> Counterfactual | None:
        """The replays that speak for :attr:`decisive`."""
        found = self.decisive
        if found is None:
            return None
        return next(item for item in self.tested if item.step == found.step and item.is_significant)


class _Bounds:
    """Bounds that the tests so far set to where the decisive step can be.

    Attributes:
        cleared: The run succeeds with every step up to this one as it was, so none of them decided it.
        found: The earliest step so far whose correction makes the run succeed.
    """

    def __init__(self, steps: Sequence[int], belief: StepBelief) -> None:
        self.cleared = -1
        self.found: int | None = None
        self._left = sorted(steps)
        self._belief = belief
        self._settled = max(steps, default=-1) + 1

    @property
    def open(self) -> list[int]:
        """The steps that may still be decisive, in order."""
        return [s for s in self._left if s > self.cleared and (self.found is None or s < self.found)]

    def take(self) -> int:
        """The step to test next; it is open no more."""
        step = self._next(self.open)
        self._left.remove(step)
        return step

    def learn(self, result: Counterfactual) -> None:
        """Take a test into account."""
        if result.is_significant:
            self.found = result.step
            if result.correction.is_resample and result.corrected.rate > _PASSES:
                # To ask again at a step is to keep what came before it: a control of the step before.
                self.cleared = max(self.cleared, result.step - 1)
        elif result.control.rate > _PASSES:
            self.cleared = max(self.cleared, result.step)
        elif result.control.flips == result.corrected.flips == 0:
            self._settled = min(self._settled, result.step)

    def reopen(self, steps: Sequence[int]) -> None:
        """Begin anew for another kind of correction; what the run succeeds without stays cleared."""
        self._left = sorted(steps)
        self._settled = max(steps, default=-1) + 1

    def _next(self, options: list[int]) -> int:
        if self.found is not None:
            return options[-1]  # if the step before it clears, all before it do
        # Where the run fails without and with a correction, it was probably lost before.
        before = [step for step in options if step < self._settled] or options
        # Each test says whether the error lies before, at or after its step, so halve what is suspected.
        half = sum(self._belief.probability(step) for step in before) / 2
        reached = accumulate(self._belief.probability(step) for step in before)
        return next(step for step, sum_to_here in zip(before, reached, strict=True) if sum_to_here >= half)


def find_decisive_step(
    replay: StepReplay,
    *,
    attribution: Attribution | None = None,
    proposer: Proposer | Sequence[Proposer] | None = None,
    reference: str | None = None,
    on_test: Callable[[Counterfactual], None] | None = None,
) -> DecisiveSearch:
    """Verify by replays which step decided the failure.

    The search halves, again and again, what the attributor suspects (every step alike without one): a control that
    succeeds clears every step up to its own, since all of them were as in the failed run, and a step where nothing
    helps says to look before it first. A step whose correction succeeds significantly more often than its control is a
    cause; the steps before it are then tested from there backwards, since only the earliest counts. Before the answer
    is "none", every step that was not cleared has been tested.

    Args:
        replay: The failed run, and how to replay it.
        attribution: The diagnosis that says where to look first.
        proposer: Writes the corrections, or several that do; default :class:`ResampleProposer`, which asks the agent
            again.
        reference: The expected answer, for a proposer that may know it; default it is not shown.
        on_test: Told of every step that was tested.

    Returns:
        The answer with all evidence; ``decisive`` is None when no step was found.

    Raises:
        TapeMismatchError: No step at all could be tested, since the team does not repeat itself.
        ReplayError: No step at all could be tested for another reason.
    """
    writers = proposers_of(proposer or ResampleProposer())
    search = _Search(replay.sharing_alpha(len(writers)), attribution, reference, on_test)
    for writer in writers:
        search.test_with(writer)
        if search.is_over:
            break
        if writer is not writers[-1]:
            search.bounds.reopen(replay.steps)
    search.go_on_with_suspects()
    return search.answer()


class _Search:
    """One search: what was tested, and what may still be."""

    def __init__(
        self,
        replay: StepReplay,
        attribution: Attribution | None,
        reference: str | None,
        on_test: Callable[[Counterfactual], None] | None,
    ) -> None:
        self.bounds = _Bounds(replay.steps, StepBelief.of(replay.steps, attribution))
        self._replay, self._attribution, self._reference = replay, attribution, reference
        self._on_test = on_test or (lambda result: None)
        self._tested: list[Examination] = []
        self._untested: list[Untested] = []
        self._failure: ReplayError | None = None

    @property
    def is_over(self) -> bool:
        """Tell whether a step is found, or nothing more may be spent."""
        return self.bounds.found is not None or self._replay.spending.refusal is not None

    def test_with(self, writer: Proposer) -> None:
        """Test step after step with the corrections of one proposer."""
        correction_of = corrections_by(writer, self._replay, attribution=self._attribution, reference=self._reference)
        while self.bounds.open and self._replay.spending.refusal is None:
            step = self.bounds.take()
            try:
                examination = Examination(self._replay, step, correction_of)
                self._go_on(examination, self._replay.options.trials)
            except ReplayError as error:
                self._failure = self._failure or error
                self._untested.append(Untested(step=step, reason=str(error)))
                continue
            self._tested.append(examination)

    def go_on_with_suspects(self) -> None:
        """Give the likeliest step more runs where nothing was found, until another one is likelier or none helps.

        Each time with the correction that has helped most there. It ends with a step that had all its runs, or that
        cannot be shown to matter any more: the others are less likely.
        """
        few, most = self._replay.options.trials, self._replay.options.suspect_trials
        while most > few and not self.is_over and (suspect := self._suspect()) is not None:
            before = suspect.result.corrected.trials
            if before >= most:
                return
            try:
                self._go_on(suspect, min(most, before + few), most=most)
            except ReplayError:  # it left the tape this time: what was known before stands
                return
            if suspect.result.corrected.trials == before:
                return

    def _suspect(self) -> Examination | None:
        known = [examination for examination in self._tested if examination.step > self.bounds.cleared]
        belief = self._belief()
        return max(
            known,
            key=lambda examination: (belief.probability(examination.step), examination.result.e_value),
            default=None,
        )

    def answer(self) -> DecisiveSearch:
        """Return what was found."""
        if self._failure is not None and not self._tested:
            raise self._failure
        replay, bounds, belief = self._replay, self.bounds, self._belief()
        tested = [examination.result for examination in self._tested]
        found = next((item for item in tested if item.step == bounds.found and item.is_significant), None)
        decisive = None
        if found is not None:
            reason = f"{found.corrected.flips} of {found.corrected.trials} runs succeed with step {found.step} "
            reason += f"corrected, {found.control.flips} of {found.control.trials} without"
            decisive = DecisiveStep(agent=found.agent, step=found.step, reason=reason)
        elif replay.steps and bounds.cleared >= max(replay.steps):
            reason = "the run succeeds with every step as it was recorded: what failed it is not on the tape, or the "
            reason += "check is another one"
        else:
            reason = "no step was found whose correction turns the failure into success"
        steps = replay.recorded.trajectory.steps
        return DecisiveSearch(
            run_id=replay.recorded.tape.run_id,
            decisive=decisive,
            reason="; ".join([reason, *self._left_open(tested)]),
            tested=tuple(tested),
            untested=tuple(self._untested),
            suspects=tuple(
                # Shares that sum to 1 but for rounding must not sum to more.
                Candidate(agent=steps[step].agent, step=step, score=int(belief.probability(step) * 1e6) / 1e6)
                for step in sorted(belief.steps, key=lambda step: (-belief.probability(step), step))
            ),
            runs=replay.spending.runs,
            usage=replay.spending.usage,
        )

    def _left_open(self, tested: Sequence[Counterfactual]) -> Iterator[str]:
        """What the answer does not know."""
        bounds, refusal = self.bounds, self._replay.spending.refusal
        if refusal is not None and (bounds.open or any(item.stopped == refusal for item in tested)):
            yield f"not every step was tested to the end: {refusal}"
        before = [item for item in self._untested if bounds.found is None or item.step < bounds.found]
        known = {item.step for item in tested}
        open_still = [item for item in before if item.step > bounds.cleared and item.step not in known]
        if open_still:
            steps = ", ".join(str(step) for step in dict.fromkeys(item.step for item in open_still))
            yield f"step {steps} could not be tested: {open_still[0].reason}"

    def _go_on(self, examination: Examination, pairs: int, *, most: int | None = None) -> None:
        examination.go_on(pairs, most=most)
        self.bounds.learn(examination.result)
        self._on_test(examination.result)

    def _belief(self) -> StepBelief:
        """The suspicion before, and what each run says of it."""
        resumed: dict[int, tuple[int, int]] = {}
        for examination in self._tested:
            result = examination.result
            # A corrected step is made anew, so the run goes on from it; a control keeps it.
            for arm, step in ((result.corrected, examination.step), (result.control, examination.step + 1)):
                runs, passes = resumed.get(step, (0, 0))
                resumed[step] = runs + arm.trials, passes + arm.flips
        return StepBelief.of(self._replay.steps, self._attribution).after(resumed)
