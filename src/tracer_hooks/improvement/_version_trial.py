"""Trial of a version beside the prompts before it: what is found so far, and whether the version is kept."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tracer_hooks.budget import Spending
from tracer_hooks.errors import BudgetSpentError, StoreError
from tracer_hooks.improvement._acceptance import AcceptanceRule, AcceptanceTest, Decision, PairedEvidence
from tracer_hooks.improvement._improvement import BeforeAfter, Improvement, Outcome, PassShare, TrialPair
from tracer_hooks.improvement._plan import Split
from tracer_hooks.improvement._prompt_search import SearchResult
from tracer_hooks.improvement._prompt_writer import JudgedRun
from tracer_hooks.improvement._team_trials import NotMadeError, TeamTrials
from tracer_hooks.journal import Journal
from tracer_hooks.replay import paired_interval
from tracer_hooks.schema import Json, Trajectory, Usage
from tracer_hooks.store import PromptArm, PromptOutcome, PromptPhase, PromptState, PromptStore, PromptVersion
from tracer_hooks.tasks import SuiteTask

Pair = tuple[JudgedRun, JudgedRun]
"""A task with the new prompts and with the old ones."""


def _rounds(tasks: Sequence[SuiteTask], seed: int) -> Iterator[SuiteTask]:
    """The tasks, shuffled, again and again."""
    chance = random.Random(seed)
    while tasks:
        yield from chance.sample(list(tasks), len(tasks))


def _in_turns(accept: Sequence[SuiteTask], passed: Sequence[SuiteTask], seed: int) -> Iterator[tuple[SuiteTask, bool]]:
    """Two new tasks and one formerly passed one, and so on."""
    new, former = _rounds(accept, seed), _rounds(passed, seed + 1)
    while True:
        yield next(new), False
        yield next(new), False
        if passed:
            yield next(former), True


@dataclass
class TrialOfVersion:
    """The trial of one version: pairs of runs are fed to the acceptance test, and its state in the store follows.

    New tasks and formerly passed ones come in turns. When all tasks have been run they are run anew, in another order,
    as long as more pairs may be run: it is then the mean over these tasks that is tested.

    ``batch`` pairs of runs with the ``new`` and the ``old`` instructions are made at once, the ``test`` looks at one
    after the other, and ``pairs`` are those so far, each with whether its task was formerly passed.
    """

    store: PromptStore
    version: PromptVersion
    trials: TeamTrials
    new: Mapping[str, str]
    old: Mapping[str, str]
    rule: AcceptanceRule
    batch: int
    seed: int
    test: AcceptanceTest = field(init=False)
    pairs: list[tuple[Pair, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.test = AcceptanceTest(self.rule)

    def decided(self, accept: Sequence[SuiteTask], passed: Sequence[SuiteTask]) -> tuple[Outcome, str]:
        """Decide what becomes of the version, and say why; its state in the store is then the same.

        A version that was closed by somebody else, by hand or by another job with the same prompts, is not run any
        more: the pairs that were run before are counted, and its state is taken as it is.
        """
        was_open = self.version.state is PromptState.ON_TRIAL
        self.trials.makes_new = was_open
        try:
            self._run_pairs(accept, passed, self._is_open if was_open else lambda: True)
        except (NotMadeError, BudgetSpentError):
            if was_open:
                raise
        finally:
            self.trials.makes_new = True
        return self._settled() if was_open and self._is_open() else self._closed()

    def _run_pairs(self, accept: Sequence[SuiteTask], passed: Sequence[SuiteTask], goes_on: Callable[[], bool]) -> None:
        """Run pairs until the test has decided, or may not go on."""
        test = self.test
        turns = _in_turns(accept, passed, self.seed)
        while not test.is_spent and goes_on():
            chosen = [next(turns) for _ in range(min(max(1, self.batch), self.rule.most_pairs - test.pairs))]
            tasks = [task for task, _ in chosen]
            pairs = zip(self.trials.run(tasks, self.new), self.trials.run(tasks, self.old), strict=True)
            for pair, (_, formerly_passed) in zip(pairs, chosen, strict=True):
                test.add(pair[0].score, pair[1].score, formerly_passed=formerly_passed)
                self.pairs.append((pair, formerly_passed))
                for run, arm in zip(pair, (PromptArm.NEW, PromptArm.OLD), strict=True):
                    outcome = PromptOutcome(
                        run_id=run.trajectory.run_id,
                        arm=arm,
                        phase=PromptPhase.TRIAL,
                        passed=run.passed,
                        score=run.score,
                        counted_at=datetime.now(UTC),
                        task=run.task,
                    )
                    self.store.count(self.version.team, self.version.number, outcome)

    def _settled(self) -> tuple[Outcome, str]:
        """Bring the store to the test's decision."""
        test, version = self.test, self.version
        if test.decision is Decision.UNDECIDED:
            return "on trial", test.reason
        if test.decision is Decision.REJECT:
            return self._rejected(test.reason)
        try:
            self.store.accept(version.team, version.number, reason=test.reason, evidence=dict(test.evidence))
        except StoreError as error:
            return self._not_accepted(error)
        return "accepted", test.reason

    def _rejected(self, reason: str) -> tuple[Outcome, str]:
        try:
            self.store.roll_back(
                self.version.team, self.version.number, reason=reason, evidence=dict(self.test.evidence)
            )
        except StoreError:
            if self._is_open():
                raise
            return self._closed()  # somebody else closed it in this moment
        return "rejected", reason

    def _not_accepted(self, error: StoreError) -> tuple[Outcome, str]:
        """The version is better, and cannot be accepted: it was closed meanwhile, or another one is in its way."""
        if not self._is_open():
            return self._closed()
        current = self.store.current(self.version.team)
        if current is not None and current.is_pinned:
            pinned = f"They are not accepted as long as version {current.number} is pinned."
            return "on trial", f"{self.test.reason} {pinned}"
        if (current.number if current is not None else None) == self.version.parent:
            raise error
        named = "the team's own prompts are in use" if current is None else f"version {current.number} was accepted"
        return self._rejected(f"{self.test.reason} But meanwhile {named}, with which they were not compared.")

    def _closed(self) -> tuple[Outcome, str]:
        version = self.store.get(self.version.team, self.version.number)
        is_accepted, why = version.state is PromptState.ACCEPTED, version.reason or "no reason was given"
        if why == self.test.reason:
            return "accepted" if is_accepted else "rejected", why
        if is_accepted:
            return "accepted", f"Another job accepted version {version.number} meanwhile: {why}"
        when = "while it was on trial" if version.accepted_at is None else "after it was accepted"
        return "rejected", f"Version {version.number} was rolled back {when}: {why}"

    def _is_open(self) -> bool:
        return self.store.get(self.version.team, self.version.number).state is PromptState.ON_TRIAL


@dataclass
class ImprovementState:
    """Facts of a job, filled in as it goes on, so that one that is broken off can say what it has.

    ``outcome`` and ``reason`` hold should it end here; ``own`` are the instructions of the team itself, ``present``
    those before this job, ``old`` those of them that may be rewritten, ``texts`` the new ones that are not the own.
    """

    outcome: Outcome = "stopped"
    reason: str = ""
    stopped: str = ""
    first: Trajectory | None = None
    team: str = ""
    own: dict[str, str] = field(default_factory=dict)
    present: dict[str, str] = field(default_factory=dict)
    old: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    blame: dict[str, float] = field(default_factory=dict)
    baseline: list[JudgedRun] = field(default_factory=list)
    passed_tasks: list[SuiteTask] = field(default_factory=list)
    search: SearchResult | None = None
    version: int | None = None
    trial: TrialOfVersion | None = None
    notes: list[str] = field(default_factory=list)
    provenance: dict[str, Json] = field(default_factory=dict)
    unused: list[Pair] = field(default_factory=list)

    def result(self, outcome: Outcome, reason: str, *, split: Split, spending: Spending, writing: Usage) -> Improvement:
        """The record of it all."""
        search, trial = self.search, self.trial
        passed = [pair for pair, formerly_passed in trial.pairs if formerly_passed] if trial is not None else []
        return Improvement(
            team=self.team,
            team_name=self.first.team if self.first is not None else "",
            framework=self.first.framework if self.first is not None else "unknown",
            outcome=outcome,
            reason=reason,
            version=self.version,
            texts=self.texts,
            old=self.present,
            tasks={**split.sizes, "passed": len(self.passed_tasks)},
            baseline=share_of(self.baseline),
            blame=self.blame,
            candidates=len(search.candidates) if search is not None else 0,
            refused=search.refused if search is not None else (),
            search=search.stopped if search is not None else "",
            evidence=dict(trial.test.evidence) if trial is not None and trial.pairs else {},
            needed=1 / trial.rule.alpha if trial is not None else 20.0,
            pairs=tuple(_trial_pairs(trial.pairs)) if trial is not None else (),
            notes=tuple(self.notes),
            provenance=self.provenance,
            unused=before_after(self.unused) if self.unused else None,
            passed=before_after(passed) if passed else None,
            runs=spending.runs,
            usage=spending.usage,
            writing=writing,
            cost=spending.cost,
            seconds=spending.seconds,
            stopped=self.stopped,
        )


def share_of(runs: Sequence[JudgedRun]) -> PassShare:
    """Count the runs that passed."""
    return PassShare(runs=len(runs), passes=sum(run.passed for run in runs), score=sum(run.score for run in runs))


def _trial_pairs(pairs: Iterable[tuple[Pair, bool]]) -> Iterator[TrialPair]:
    """The pairs as they are kept, with how the evidence of a gain grew."""
    gain = PairedEvidence()
    for (new, old), was_passed in pairs:
        gain.add(new.score - old.score)
        yield TrialPair(task=new.task, new=new.score, old=old.score, formerly_passed=was_passed, e_gain=gain.e_value)


def before_after(pairs: Sequence[Pair]) -> BeforeAfter:
    """New and old side by side; the interval is over tasks, each of which is run with both."""
    won = sum(new.passed and not old.passed for new, old in pairs)
    lost = sum(old.passed and not new.passed for new, old in pairs)
    low, high = paired_interval(won, lost, len(pairs))
    after, before = (share_of(runs) for runs in zip(*pairs, strict=True))
    return BeforeAfter(before=before, after=after, low=low, high=high)


def put_on_trial(store: PromptStore, journal: Journal, found: ImprovementState) -> PromptVersion:
    """The version of this job; however often it begins again, it is proposed once."""
    if "version" not in journal:
        first = found.first
        assert first is not None  # the team was run before anything was proposed
        own = {agent: found.own[agent] for agent in found.texts}
        about = {"team_name": first.team, "framework": first.framework}
        version = store.propose(found.team, found.texts, own, provenance=found.provenance, **about)
        journal.add("version", {"number": version.number})
    number = int(journal["version"]["number"])
    try:
        if store.get(found.team, number).state is PromptState.PROPOSED:
            store.start_trial(found.team, number)
    except StoreError:  # unless another job with the same texts put it on trial in this moment
        if store.get(found.team, number).state is PromptState.PROPOSED:
            raise
    return store.get(found.team, number)
