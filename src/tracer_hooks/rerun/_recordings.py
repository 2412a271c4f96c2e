"""What a replay starts from: a run of this process, or one of the run store, with what can run its team again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tracer_hooks.config import store_path
from tracer_hooks.errors import ConfigError, ReplayError
from tracer_hooks.repairs import RepairTarget
from tracer_hooks.replay import Tape, TeamRunner, Trial
from tracer_hooks.runtime import Attempt, TeamRun
from tracer_hooks.schema import Attribution, RunOutcome
from tracer_hooks.store import StoredRun, fingerprint

RecordedRun = TeamRun | StoredRun | str
"""A run, or the id of one in the run store, or the beginning of it."""


@dataclass(frozen=True, kw_only=True)
class Recording:
    """One recorded run."""

    trial: Trial
    """What happened, with the tape."""
    attribution: Attribution | None = None
    """Its diagnosis, when there is one."""
    again: Callable[[], TeamRunner] | None = None
    """Makes what runs the team again; None for a run of the store."""
    prompts: Mapping[str, str] | None = None
    """What the agents of a run of the store were told in place of their own instructions: accepted prompts."""

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.trial.trajectory.run_id

    def expect_failure(self) -> Recording:
        """This recording, if the run failed.

        Raises:
            ReplayError: It did not.
        """
        if not self.trial.failed:
            raise ReplayError(
                f"run {self.run_id!r} ended as {str(self.trial.trajectory.outcome)!r}, expected one that failed: there "
                "is nothing to correct in it. Run: tracer-hooks runs list --outcome failed"
            )
        return self


def recording_of(run: RecordedRun, store: str | Path | None = None) -> Recording:
    """The recording of a run.

    Raises:
        ReplayError: The run has no tape.
        StoreError: The run store has no such run, or cannot be read.
        ConfigError: It is none of the kinds of run.
    """
    if isinstance(run, TeamRun):
        attempt = _attempt(run)
        trial = Trial(trajectory=attempt.trajectory, tape=attempt.tape, error=attempt.error)
        return Recording(trial=trial, attribution=attempt.attribution, again=run.again)
    if isinstance(run, str):
        run = _stored(run, store)
    if not isinstance(run, StoredRun):
        raise ConfigError(f"the run is {run!r}, expected a TeamRun, a StoredRun, or the id of one in the run store")
    if run.tape is None:
        raise ReplayError(
            f"run {run.run_id!r} has no tape: it was recorded without full content, or before tapes were kept. Run the "
            "team again, with TRACER_HOOKS_RECORD=full"
        )
    trajectory = run.trajectory.model_copy(update={"outcome": run.outcome, "task": run.task or run.trajectory.task})
    try:
        tape = Tape.model_validate(run.tape)
    except ValueError as error:
        raise ReplayError(
            f"the tape of run {run.run_id!r} cannot be read ({error}). Run the team again with this version"
        ) from error
    return Recording(
        trial=Trial(trajectory=trajectory, tape=tape), attribution=run.attribution, prompts=_prompts(run, store)
    )


def _attempt(run: TeamRun) -> Attempt:
    """The newest attempt that failed on the team as the factory builds it, else the last one.

    One that was told something is passed over: nobody tells it a replay.
    """
    failed = [attempt for attempt in run.attempts if attempt.outcome is RunOutcome.FAILED]
    own = [attempt for attempt in failed if attempt.repair is None or attempt.repair.target is RepairTarget.NOTHING]
    return [run.last, *failed[-1:], *own[-1:]][-1]


def _prompts(run: StoredRun, store: str | Path | None) -> Mapping[str, str] | None:
    path = store_path(store)
    if run.prompts is None or run.prompts.told is None or path is None:
        return None
    from tracer_hooks.store import PromptStore

    with PromptStore(path, read_only=True) as prompts:
        return prompts.get(fingerprint(run.framework, run.team), run.prompts.told).texts


def _stored(run_id: str, store: str | Path | None) -> StoredRun:
    path = store_path(store)
    if path is None:
        raise ConfigError(
            f"run {run_id!r} cannot be read: the run store is switched off by TRACER_HOOKS_STORE='off'. Pass store=FILE"
        )
    from tracer_hooks.store import RunStore

    with RunStore(path, read_only=True) as runs:
        return runs.get(run_id)
