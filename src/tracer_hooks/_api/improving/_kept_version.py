"""The version of prompts that a job tries: in the store it is proposed once, put on trial, and decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tracer_hooks._api.improving._found import Found
from tracer_hooks._api.improving._improvement import Outcome
from tracer_hooks._api.improving._team_trials import NotMadeError, TeamTrials
from tracer_hooks._api.improving._trial_of_version import Pair, TrialOfVersion
from tracer_hooks.errors import BudgetSpentError, StoreError
from tracer_hooks.improvement import AcceptanceTest, Decision, JudgedRun
from tracer_hooks.journal import Journal
from tracer_hooks.schema import Json
from tracer_hooks.store import PromptArm, PromptOutcome, PromptPhase, PromptState, PromptStore, PromptVersion
from tracer_hooks.tasks import SuiteTask

_UNIT = "version"


@dataclass(frozen=True, kw_only=True)
class KeptVersion:
    """One version, and the trial that decides on it.

    Attributes:
        store: Where it is kept.
        version: It, as it was at the beginning of this session.
        trials: Runs the team.
        trial: What is decided by.
    """

    store: PromptStore
    version: PromptVersion
    trials: TeamTrials
    trial: TrialOfVersion

    def decided(self, accept: Sequence[SuiteTask], passed: Sequence[SuiteTask]) -> tuple[Outcome, str]:
        """What becomes of the version, and why; its state in the store is then the same.

        A version that was closed by somebody else, by hand or by another job with the same prompts, is not run any
        more: the pairs that were run before are counted, and its state is taken as it is.

        Args:
            accept: Tasks that did not propose the prompts.
            passed: Tasks that passed before.

        Raises:
            BudgetSpentError: What it may cost is spent; the version stays on trial.
        """
        self.trial.on_pair = self._count
        self.trial.is_open = self._is_open
        if self.version.state is not PromptState.ON_TRIAL:
            self._recount(accept, passed)
            return self._closed()
        decision = self.trial.decide(accept, passed)
        if not self._is_open():
            return self._closed()
        return self._settled(decision, self.trial.test)

    def _settled(self, decision: Decision, test: AcceptanceTest) -> tuple[Outcome, str]:
        if decision is Decision.ACCEPT:
            team, number = self.version.team, self.version.number
            try:
                self.store.accept(team, number, reason=test.reason, evidence=dict(test.evidence))
            except StoreError as error:
                return self._not_accepted(test, error)
            return "accepted", test.reason
        if decision is Decision.REJECT:
            return self._rejected(test.reason)
        return "on trial", test.reason

    def _rejected(self, reason: str) -> tuple[Outcome, str]:
        team, number, evidence = self.version.team, self.version.number, dict(self.trial.test.evidence)
        try:
            self.store.roll_back(team, number, reason=reason, evidence=evidence)
        except StoreError:
            if self._is_open():
                raise
            return self._closed()  # somebody else closed it in this moment
        return "rejected", reason

    def _not_accepted(self, test: AcceptanceTest, error: StoreError) -> tuple[Outcome, str]:
        """The version is better, and cannot be accepted: it was closed meanwhile, or another one is in its way."""
        if not self._is_open():
            return self._closed()
        current = self.store.current(self.version.team)
        if current is not None and current.is_pinned:
            return "on trial", f"{test.reason} They are not accepted as long as version {current.number} is pinned."
        if (current.number if current is not None else None) == self.version.parent:
            raise error
        named = "the team's own prompts are in use" if current is None else f"version {current.number} was accepted"
        return self._rejected(f"{test.reason} But meanwhile {named}, with which they were not compared.")

    def _recount(self, accept: Sequence[SuiteTask], passed: Sequence[SuiteTask]) -> None:
        """Take the pairs of earlier sessions into the record, and run none."""
        self.trial.is_open = lambda: True
        self.trials.makes_new = False
        try:
            self.trial.decide(accept, passed)
        except (NotMadeError, BudgetSpentError):
            return
        finally:
            self.trials.makes_new = True

    def _closed(self) -> tuple[Outcome, str]:
        version = self.store.get(self.version.team, self.version.number)
        if version.state is PromptState.ACCEPTED:
            return "accepted", version.reason
        why = version.reason or "no reason was given"
        was_accepted = version.accepted_at is not None
        own = why == self.trial.test.reason
        if own:
            return "rejected", why
        when = "after it was accepted" if was_accepted else "while it was on trial"
        return "rejected", f"Version {version.number} was rolled back {when}: {why}"

    def _is_open(self) -> bool:
        return self.store.get(self.version.team, self.version.number).state is PromptState.ON_TRIAL

    def _count(self, pair: Pair, formerly_passed: bool) -> None:
        for run, arm in zip(pair, (PromptArm.NEW, PromptArm.OLD), strict=True):
            self.store.count(self.version.team, self.version.number, _outcome(run, arm))


def put_on_trial(store: PromptStore, journal: Journal, found: Found, provenance: Mapping[str, Json]) -> PromptVersion:
    """The version of this job; however often it begins again, it is proposed once.

    Args:
        store: Where it is kept.
        journal: Where its number is kept.
        found: What is known of the team, and the new texts.
        provenance: Where the texts come from.
    """
    if _UNIT not in journal:
        first = found.first
        assert first is not None  # the team was run before anything was proposed
        own = {agent: found.own[agent] for agent in found.texts}
        about = {"team_name": first.team, "framework": first.framework}
        version = store.propose(found.team, found.texts, own, provenance=provenance, **about)
        journal.add(_UNIT, {"number": version.number})
    number = int(journal[_UNIT]["number"])
    version = store.get(found.team, number)
    if version.state is not PromptState.PROPOSED:
        return version
    try:
        return store.start_trial(found.team, number)
    except StoreError:
        version = store.get(found.team, number)
        if version.state is PromptState.PROPOSED:
            raise
        return version  # another job with the same texts put it on trial in this moment


def _outcome(run: JudgedRun, arm: PromptArm) -> PromptOutcome:
    return PromptOutcome(
        run_id=run.trajectory.run_id,
        arm=arm,
        phase=PromptPhase.TRIAL,
        passed=run.passed,
        score=run.score,
        counted_at=datetime.now(UTC),
        task=run.task,
    )
