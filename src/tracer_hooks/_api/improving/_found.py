"""What an improvement has found so far."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tracer_hooks._api.improving._improvement import BeforeAfter, Improvement, Outcome, Refused, Share, TrialPair
from tracer_hooks._api.improving._trial_of_version import Pair, TrialOfVersion
from tracer_hooks.budget import Spending
from tracer_hooks.improvement import JudgedRun, PairedEvidence, SearchResult, Split
from tracer_hooks.replay import paired_interval
from tracer_hooks.schema import Json, Trajectory, Usage
from tracer_hooks.tasks import SuiteTask


@dataclass
class Found:
    """Filled in as the job goes on, so that one that is broken off can say what it has.

    Attributes:
        outcome: What the job has come to, should it end here.
        reason: Why; empty where the limit that ends it is the reason.
        first: The first run: it shows what the team is called, and what its agents are told.
        own: The instructions that the team itself has.
        present: Those before this job.
        old: Those before this job, of the agents that may be rewritten.
        texts: The new ones, of the agents whose instructions differ from the team's own.
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
        search = self.search
        parts = {"propose": split.propose, "accept": split.accept, "unused": split.unused}
        refused = search.refused if search is not None else ()
        trial = self.trial
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
            tasks={**{name: len(part) for name, part in parts.items()}, "passed": len(self.passed_tasks)},
            baseline=share_of(self.baseline),
            blame=self.blame,
            candidates=len(search.candidates) if search is not None else 0,
            refused=tuple(Refused(agent=one.agent, text=one.text, why=one.why) for one in refused),
            search=search.stopped if search is not None else "",
            evidence=dict(trial.test.evidence) if trial is not None and trial.pairs else {},
            needed=1 / trial.rule.alpha if trial is not None else 20.0,
            pairs=trial_pairs(trial.pairs) if trial is not None else (),
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


def share_of(runs: Iterable[JudgedRun]) -> Share:
    """How many of the runs passed."""
    known = list(runs)
    return Share(runs=len(known), passes=sum(run.passed for run in known), score=sum(run.score for run in known))


def trial_pairs(pairs: Iterable[tuple[Pair, bool]]) -> tuple[TrialPair, ...]:
    """The pairs as they are kept, with how the evidence of a gain grew."""
    gain, kept = PairedEvidence(), []
    for (new, old), formerly_passed in pairs:
        gain.add(new.score - old.score)
        kept.append(
            TrialPair(task=new.task, new=new.score, old=old.score, formerly_passed=formerly_passed, e_gain=gain.e_value)
        )
    return tuple(kept)


def before_after(pairs: Sequence[Pair]) -> BeforeAfter:
    """New and old side by side; the interval is over tasks, each of which is run with both."""
    won = sum(new.passed and not old.passed for new, old in pairs)
    lost = sum(old.passed and not new.passed for new, old in pairs)
    low, high = paired_interval(won, lost, len(pairs))
    return BeforeAfter(
        before=share_of(old for _, old in pairs), after=share_of(new for new, _ in pairs), low=low, high=high
    )
