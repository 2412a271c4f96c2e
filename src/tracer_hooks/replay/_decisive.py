"""The decisive error step, found by replaying: the earliest step whose correction turns failure into success."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracer_hooks.errors import ReplayError
from tracer_hooks.replay._correction import Correction
from tracer_hooks.replay._counterfactual import Counterfactual, StepReplay, examine_step
from tracer_hooks.replay._proposers import Proposal, Proposer, ResampleProposer
from tracer_hooks.schema import Attribution, DecisiveStep, Record, Text, Usage

_PASSES = 0.5
"""A control that succeeds more often than this says that nothing decisive had gone wrong up to its step."""


class Untested(Record):
    """A step that could not be tested."""

    step: int
    """The step."""
    reason: Text
    """Why not."""


class DecisiveSearch(Record):
    """What a search for the decisive error step found."""

    run_id: Text
    """The failed run."""
    decisive: DecisiveStep | None = None
    """The earliest step whose correction turns failure into success; None when there is none."""
    reason: Text
    """Why the search ended as it did."""
    tested: tuple[Counterfactual, ...] = ()
    """The steps that were tested, in that order."""
    untested: tuple[Untested, ...] = ()
    """The steps that could not be tested."""
    runs: int = 0
    """Runs of the team."""
    usage: Usage = Usage()
    """Tokens of their live model calls."""

    @property
    def evidence(self) -> Counterfactual | None:
        """The replays that speak for :attr:`decisive`."""
        found = self.decisive
        return None if found is None else next(item for item in self.tested if item.step == found.step)


class _Bounds:
    """What the tests so far say about where the decisive step can be."""

    def __init__(self, steps: Sequence[int]) -> None:
        self.cleared = -1
        self.found: int | None = None
        self._left = list(steps)

    def open(self) -> list[int]:
        return [s for s in self._left if s > self.cleared and (self.found is None or s < self.found)]

    def drop(self, step: int) -> None:
        self._left.remove(step)

    def learn(self, result: Counterfactual) -> None:
        if result.is_significant:
            self.found = result.step
        elif result.control.trials and result.control.rate > _PASSES:
            # With everything up to this step as it was, the run succeeds: no step up to here decided it.
            self.cleared = max(self.cleared, result.step)


def find_decisive_step(
    replay: StepReplay,
    *,
    attribution: Attribution | None = None,
    proposer: Proposer | None = None,
    reference: str | None = None,
    on_test: Callable[[Counterfactual], None] | None = None,
) -> DecisiveSearch:
    """Verify by replays which step decided the failure.

    Steps are tested in the order in which the attributor suspects them, then from the last to the first. A step whose
    correction succeeds significantly more often than its control is a cause; the steps before it are then tested from
    there backwards, since only the earliest counts. A control that succeeds clears every step up to its own: all of
    them were as in the failed run.

    Args:
        replay: The failed run, and how to replay it.
        attribution: The diagnosis that says where to look first.
        proposer: Writes the corrections; default :class:`ResampleProposer`, which asks the agent again.
        reference: The expected answer, for a proposer that may know it; default it is not shown.
        on_test: Told of every step that was tested.

    Returns:
        The answer with all evidence; ``decisive`` is None when no step was found.

    Raises:
        TapeMismatchError: No step at all could be tested, since the team does not repeat itself.
    """
    proposer = proposer or ResampleProposer()
    trajectory = replay.recorded.trajectory.model_copy(update={"reference": None})

    def correction_of(step: int) -> Correction:
        return proposer.propose(
            Proposal(trajectory=trajectory, step=step, attribution=attribution, reference=reference)
        )

    bounds, order = _Bounds(replay.steps), _order(replay.steps, attribution)
    tested: list[Counterfactual] = []
    untested: list[Untested] = []
    failure: ReplayError | None = None
    while bounds.open() and replay.spending.refusal is None:
        step = next(s for s in order if s in bounds.open()) if bounds.found is None else max(bounds.open())
        bounds.drop(step)
        try:
            result = examine_step(replay, step, correction_of)
        except ReplayError as error:
            failure = failure or error
            untested.append(Untested(step=step, reason=str(error)))
            continue
        tested.append(result)
        bounds.learn(result)
        if on_test is not None:
            on_test(result)
    if failure is not None and not tested:
        raise failure
    return _answer(replay, bounds, tested, untested)


def _order(steps: Sequence[int], attribution: Attribution | None) -> list[int]:
    suspected = [c.step for c in attribution.candidates] if attribution is not None else []
    if attribution is not None and attribution.step is not None:
        suspected = [attribution.step, *suspected]
    return list(dict.fromkeys([*(s for s in suspected if s in steps), *sorted(steps, reverse=True)]))


def _answer(
    replay: StepReplay, bounds: _Bounds, tested: Sequence[Counterfactual], untested: Sequence[Untested]
) -> DecisiveSearch:
    found = next((item for item in tested if item.step == bounds.found), None)
    refusal = replay.spending.refusal
    decisive = None
    if found is not None:
        reason = f"{found.corrected.flips} of {found.corrected.trials} runs succeed with step {found.step} corrected, "
        reason += f"{found.control.flips} of {found.control.trials} without"
        decisive = DecisiveStep(agent=found.agent, step=found.step, reason=reason)
        if refusal is not None and bounds.open():
            reason += f"; earlier steps were not all tested: {refusal}"
    else:
        reason = refusal or "no step was found whose correction turns the failure into success"
    return DecisiveSearch(
        run_id=replay.recorded.tape.run_id,
        decisive=decisive,
        reason=reason,
        tested=tuple(tested),
        untested=tuple(untested),
        runs=replay.spending.runs,
        usage=replay.spending.usage,
    )
