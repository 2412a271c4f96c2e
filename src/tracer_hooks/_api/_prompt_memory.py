"""Rewritten prompts between runs: those that proved themselves, and the one that waits for its trial."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from tracer_hooks._api._team_run import Attempt, TeamRun
from tracer_hooks.feedback import PromptRewrite


@dataclass(frozen=True, kw_only=True, eq=False)
class Trial:
    """A rewrite that the next attempt tries out."""

    rewrite: PromptRewrite
    """What is tried."""
    attempt: Attempt
    """The failed attempt that led to it."""
    run: TeamRun
    """The call that this attempt belongs to; an earlier one after a failed stream."""

    @property
    def prompts(self) -> dict[str, str]:
        """The rewritten instructions by agent."""
        return {self.rewrite.agent: self.rewrite.after}


class PromptMemory:
    """Shared by all teams of one factory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, str] = {}
        self._waiting: Trial | None = None

    @property
    def kept(self) -> Mapping[str, str]:
        """Instructions that proved themselves, by agent; every later run uses them."""
        with self._lock:
            return dict(self._kept)

    def keep(self, trial: Trial) -> None:
        """Use the rewrite from now on."""
        with self._lock:
            self._kept.update(trial.prompts)

    def wait(self, trial: Trial) -> None:
        """Have the next run try the rewrite."""
        with self._lock:
            self._waiting = trial

    def take(self) -> Trial | None:
        """The rewrite that waits, for one run alone."""
        with self._lock:
            trial, self._waiting = self._waiting, None
            return trial
