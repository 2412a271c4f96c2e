"""A call as its page shows it: its attempts and forks, where its code stands, and what can be done next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from tracer_hooks.repair import RepairLog
from tracer_hooks.report._wording import one_line
from tracer_hooks.schema import Attribution, RunOutcome, Trajectory

if TYPE_CHECKING:
    from tracer_hooks.store import ForkedFrom, RunSummary, StoredRun

_ID = 12  # characters of a run's id in a command: the beginning of an id will do


@dataclass(frozen=True, kw_only=True)
class ReportAttempt:
    """One attempt of a call."""

    number: int
    """Position among the attempts, from 1."""
    trajectory: Trajectory
    """What happened."""
    attribution: Attribution | None = None
    """The diagnosis, when one was made."""
    prompts: str = ""
    """Which accepted prompts it was made on, in words; empty where there were none."""
    notes: Sequence[str] = ()
    """Sentences to read with the diagnosis: who said how the run ended, and what the trace lacks."""


@dataclass(frozen=True, kw_only=True)
class ReportFork:
    """A run that went on from a step of another one, with one change: the run that a page is about, or one of it."""

    run_id: str
    """The other run: where it was forked from, or what came of it."""
    step: int
    """The step from which it was live."""
    change: str
    """The one change, in words."""
    outcome: RunOutcome = RunOutcome.UNKNOWN
    """How that run ended."""
    verdict: str = ""
    """What all runs with the change and the control came to, in words; empty where that is not known."""
    page: str = ""
    """Address of its page; empty where there is none."""
    attempt: int = 1
    """Number of the attempt that it was made of."""


@dataclass(frozen=True, kw_only=True)
class ReportRun:
    """One call of a team with all its attempts."""

    attempts: Sequence[ReportAttempt]
    """The attempts, the first one first."""
    repair: RepairLog | None = None
    """What was tried to recover the run; None when nothing failed, or no retry was asked for."""
    team: str = ""
    """The team's name; the first trajectory's when empty."""
    framework: str = ""
    """The framework; the first trajectory's when empty."""
    task: str = ""
    """What the team was asked to do; the first trajectory's when empty."""
    places: Mapping[str, str] = field(default_factory=dict)
    """File and line by ``"agent NAME"``, ``"tool NAME"`` and ``"prompt NAME"``, as far as they were recorded."""
    built_by: str = ""
    """What builds the team, ``"module:name"``; empty where that is not known."""
    checked_by: str = ""
    """What says whether a run succeeded, in the same form."""
    parent: ReportFork | None = None
    """The run that this one was forked from."""
    forks: Sequence[ReportFork] = ()
    """Runs that were forked from it."""
    is_stored: bool = False
    """Commands find its attempts in the run store."""
    has_tape: bool = False
    """Its attempts can be replayed."""
    generated_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When the report was made."""

    @classmethod
    def of_stored(cls, attempts: Sequence[StoredRun], forks: Sequence[RunSummary] = (), **more: Any) -> ReportRun:
        """A call that is read from the run store.

        Args:
            attempts: Its attempts, the first one first.
            forks: The runs that were made of them, as :meth:`RunStore.forks_of` gives them.
            more: Other fields by name.
        """
        first = attempts[0]
        sources = [run.source for run in attempts if run.source is not None]
        logs = (RepairLog.model_validate(run.repair) for run in reversed(attempts) if run.repair is not None)
        told = {
            "team": first.team,
            "framework": first.framework,
            "task": first.task,
            "attempts": [
                ReportAttempt(
                    number=run.attempt,
                    trajectory=run.trajectory,
                    attribution=run.attribution,
                    prompts=run.prompts.words if run.prompts is not None else "",
                )
                for run in attempts
            ],
            "repair": next(logs, None),
            "places": {name: place for source in sources for name, place in source.places.items()},
            "built_by": next((source.built_by for source in sources), ""),
            "checked_by": next((source.checked_by for source in sources), ""),
            "parent": _parent_of(first.parent) if first.parent is not None else None,
            "forks": stored_forks(forks, {run.run_id: run.attempt for run in attempts}),
            "is_stored": True,
        }
        return cls(**{**told, **more})


def stored_forks(forks: Sequence[RunSummary], attempts: Mapping[str, int] = MappingProxyType({})) -> list[ReportFork]:
    """The forks of a call: one for all runs that were made together, named for the first of them.

    Args:
        forks: The runs, in the order in which they were made.
        attempts: Numbers of the call's attempts by their ids.
    """
    groups: dict[str, list[tuple[ForkedFrom, RunSummary]]] = {}
    for run in forks:
        if run.parent is not None:
            groups.setdefault(run.parent.group or run.run_id, []).append((run.parent, run))
    found = []
    for group in groups.values():
        changed = [(parent, run) for parent, run in group if parent.change]
        control = [run.outcome is RunOutcome.SUCCEEDED for parent, run in group if not parent.change]
        if changed:
            from tracer_hooks.replay import replay_verdict  # no command that only looks at runs needs it

            parent, first = changed[0]
            _, verdict = replay_verdict([run.outcome is RunOutcome.SUCCEEDED for _, run in changed], control)
            fork = ReportFork(run_id=first.run_id, step=parent.step, change=parent.change, outcome=first.outcome)
            found.append(replace(fork, verdict=verdict, attempt=attempts.get(parent.run_id, 1)))
    return found


def _parent_of(parent: ForkedFrom) -> ReportFork:
    return ReportFork(run_id=parent.run_id, step=parent.step, change=parent.change or "nothing was changed (control)")


class NextStep(NamedTuple):
    """Something to do next."""

    what: str
    """In words."""
    command: str
    """The command, ready to be copied."""


def next_acts(run: ReportRun, attempt: ReportAttempt) -> list[NextStep]:
    """What can be done about an attempt; nothing where no command would find it."""
    return list(_acts(run, attempt)) if run.is_stored else []


def _acts(run: ReportRun, attempt: ReportAttempt) -> Iterator[NextStep]:
    trajectory, found = attempt.trajectory, attempt.attribution
    run_id = short_id(trajectory.run_id)
    has_failed = trajectory.outcome is RunOutcome.FAILED
    if has_failed and found is None:
        yield NextStep("Diagnose it", f"tracer-hooks diagnose {run_id}")
    if trajectory.outcome is RunOutcome.UNKNOWN:
        yield NextStep("Say that it failed, and diagnose it", f"tracer-hooks diagnose {run_id} --failed")
    if has_failed and run.has_tape:
        team, code = ("", "") if run.built_by else (" MODULE:build_team", " --check MODULE:check")
        if found is not None and found.step is not None:
            yield NextStep(
                f"Run on from step {found.step} with another reply, beside a control",
                f"tracer-hooks fork {run_id}{team} --at {found.step} --say 'WHAT IT SHOULD SAY'{code}",
            )
        yield NextStep(
            "Find the step whose correction saves the run, by replays",
            f"tracer-hooks replay {run_id} --find{' --team' if team else ''}{team}{code}",
        )
    if has_failed:
        yield NextStep("Say where it really went wrong", f"tracer-hooks label {run_id} --out labels.jsonl")
    other, which = _other_run(run, attempt)
    if other:
        yield NextStep(f"Compare it with {which}, step by step", f"tracer-hooks compare {run_id} {short_id(other)}")
    if found is not None and found.certainty is not None:
        target = "phoenix://localhost:6006/PROJECT"
        yield NextStep("Write the diagnosis to its trace in your backend", f"tracer-hooks publish {run_id} {target}")
    team = f" --team {shlex.quote(one_line(trajectory.team, 200))}" if trajectory.team else ""
    yield NextStep("See what fails again and again in this team's runs", f"tracer-hooks issues{team}")


def _other_run(run: ReportRun, attempt: ReportAttempt) -> tuple[str, str]:
    """The run that an attempt is best compared with, and what it is: its newest fork, else the last other attempt."""
    fork = next((each for each in reversed(run.forks) if each.attempt == attempt.number), None)
    if fork is not None:
        return fork.run_id, "its newest fork"
    others = [each for each in run.attempts if each.number != attempt.number]
    return (others[-1].trajectory.run_id, f"attempt {others[-1].number}") if others else ("", "")


def short_id(run_id: str) -> str:
    """The beginning of a run's id, safe in a shell."""
    return shlex.quote(one_line(run_id, 200)[:_ID])
