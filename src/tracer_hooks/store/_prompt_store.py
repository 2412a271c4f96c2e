"""Versions of prompts as callers see them. SQLAlchemy is imported at its first use, not with this module."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tracer_hooks.errors import StoreError
from tracer_hooks.schema import Json
from tracer_hooks.store._prompt_records import PromptEvent, PromptOutcome, PromptPhase, PromptVersion
from tracer_hooks.store._store_file import StoreFile

_NOTHING: Mapping[str, Json] = MappingProxyType({})


class PromptStore(StoreFile):
    """Versions of the prompts of teams, in the file of the runs; safe to use from several threads and processes.

    A version is proposed, put on trial, accepted and perhaps rolled back. At most one version of a team is current:
    the pinned one, else the one that was accepted last. When the current one is rolled back, its parent is current
    again if it is still accepted, else the team's own prompts are used. Every change is one transaction, which fails
    when another process was faster; what a method has returned outlives a killed process.

    Nothing is opened or created before the first call of a method. Every method raises :class:`StoreError` when the
    file cannot be used.

    Args:
        path: The SQLite file; by default what ``TRACER_HOOKS_STORE`` names, else ``.tracer_hooks/runs.sqlite`` in
            the current directory.
        busy_timeout_s: Seconds to wait while another process writes.
        read_only: Never create or change the file, for tools that only look.

    Raises:
        StoreError: No path is given and ``TRACER_HOOKS_STORE`` is ``off``.
    """

    def propose(
        self,
        team: str,
        texts: Mapping[str, str],
        own: Mapping[str, str],
        *,
        team_name: str = "",
        framework: str = "",
        provenance: Mapping[str, Json] = _NOTHING,
    ) -> PromptVersion:
        """Add a version, whose parent is the current one.

        A version with the same texts and the same parent that is still proposed or on trial is given back instead.

        Args:
            team: The team's fingerprint.
            texts: The new instructions, for every agent that is not to have the team's own.
            own: The team's own instructions of the same agents.
            team_name: The team's name, for people.
            framework: Its framework, for people.
            provenance: Where the texts come from.

        Raises:
            StoreError: There is no text, an empty one, or ``own`` has other agents.
        """
        from tracer_hooks.store import _prompt_changes

        draft = _prompt_changes.draft(team, texts, own, team_name=team_name, framework=framework, provenance=provenance)
        with self._database.write("propose prompts") as connection:
            return _prompt_changes.propose(connection, draft)

    def start_trial(self, team: str, number: int) -> PromptVersion:
        """Put a proposed version on trial.

        Raises:
            StoreError: There is no such version, or it is not just proposed.
        """
        from tracer_hooks.store import _prompt_changes

        with self._database.write("put prompts on trial") as connection:
            return _prompt_changes.start_trial(connection, team, number)

    def accept(
        self, team: str, number: int, *, reason: str = "", evidence: Mapping[str, Json] = _NOTHING
    ) -> PromptVersion:
        """Make a version that is on trial the current one.

        Args:
            team: The team's fingerprint.
            number: The version.
            reason: Why.
            evidence: What the trial found; added to what is there.

        Raises:
            StoreError: It is not on trial, the version that it was compared with is not the current one any more, or
                a version is pinned.
        """
        from tracer_hooks.store import _prompt_changes

        with self._database.write("accept prompts") as connection:
            return _prompt_changes.accept(connection, team, number, reason, evidence)

    def roll_back(
        self,
        team: str,
        number: int,
        *,
        reason: str,
        evidence: Mapping[str, Json] | None = None,
        force: bool = False,
    ) -> PromptVersion:
        """Take a version back, whatever its state; its parent is current again if it was current.

        Args:
            team: The team's fingerprint.
            number: The version.
            reason: Why.
            evidence: What speaks against it; added to what is there.
            force: Also a pinned version, which is unpinned by it.

        Raises:
            StoreError: It is rolled back already, or pinned and ``force`` is not set.
        """
        from tracer_hooks.store import _prompt_changes

        with self._database.write("roll prompts back") as connection:
            _prompt_changes.roll_back(connection, team, number, reason, evidence or {}, force=force)
        # Read after the change is made, so that a version whose texts are damaged can be taken back.
        return self.get(team, number)

    def pin(self, team: str, number: int) -> PromptVersion:
        """Make an accepted version current whatever comes; one that was pinned before is not any more.

        Raises:
            StoreError: There is no such version, or it is not accepted.
        """
        from tracer_hooks.store import _prompt_changes

        with self._database.write("pin prompts") as connection:
            return _prompt_changes.pin(connection, team, number)

    def unpin(self, team: str, number: int) -> PromptVersion:
        """Let go of a pinned version; the one that was accepted last is current again.

        Raises:
            StoreError: There is no such version, or it is not pinned.
        """
        from tracer_hooks.store import _prompt_changes

        with self._database.write("unpin prompts") as connection:
            return _prompt_changes.unpin(connection, team, number)

    def current(self, team: str) -> PromptVersion | None:
        """The version whose prompts the team is to use; None for the team's own."""
        from tracer_hooks.store import _prompt_queries

        with self._database.read("read the current prompts") as connection:
            return _prompt_queries.current(connection, team)

    def get(self, team: str, number: int) -> PromptVersion:
        """One version.

        Raises:
            StoreError: There is no such version; the message names those that there are.
        """
        from tracer_hooks.store import _prompt_queries

        with self._database.read("read prompts") as connection:
            return _prompt_queries.version(connection, team, number)

    def versions(self, team: str | None = None) -> tuple[PromptVersion, ...]:
        """All versions of a team, or of all teams one after the other; the oldest first."""
        from tracer_hooks.store import _prompt_queries

        with self._database.read("list prompts") as connection:
            return _prompt_queries.versions(connection, team)

    def events(self, team: str) -> tuple[PromptEvent, ...]:
        """What was done with the prompts of a team, the oldest first."""
        from tracer_hooks.store import _prompt_queries

        with self._database.read("read what was done with prompts") as connection:
            return _prompt_queries.events(connection, team)

    def teams(self) -> tuple[str, ...]:
        """The fingerprints of all teams that have a version, sorted."""
        from tracer_hooks.store import _prompt_queries

        with self._database.read("list teams with prompts") as connection:
            return _prompt_queries.teams(connection)

    def count(self, team: str, number: int, outcome: PromptOutcome) -> bool:
        """Count a run for or against a version; False where that run was counted for it before.

        Raises:
            StoreError: There is no such version.
        """
        from tracer_hooks.store import _prompt_changes

        with self._database.write("count a run for prompts") as connection:
            return _prompt_changes.count(connection, team, number, outcome)

    def outcomes(
        self, team: str, number: int, *, phase: PromptPhase | None = None, last: int | None = None
    ) -> tuple[PromptOutcome, ...]:
        """The runs that were counted, in the order of counting.

        Args:
            team: The team's fingerprint.
            number: The version.
            phase: Only those of this phase.
            last: Only so many, the last ones.
        """
        from tracer_hooks.store import _prompt_queries

        if last is not None and last < 1:
            raise StoreError(f"last must be at least 1, got {last!r}. Next: pass last=100")
        with self._database.read("read runs that counted for prompts") as connection:
            return _prompt_queries.outcomes(connection, team, number, phase=phase, last=last)
