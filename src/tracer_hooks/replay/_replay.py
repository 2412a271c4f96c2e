"""Replay and resumption of a tape, and the trials that come of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from tracer_hooks.frameworks import Intervention, Interventions, Verdict
from tracer_hooks.repair import Repair, RepairTarget
from tracer_hooks.replay._correction import RepairInjector
from tracer_hooks.replay._player import Divergence, TapeMode, TapePlayer, ToolRules, ToolUse
from tracer_hooks.replay._tape import Tape
from tracer_hooks.schema import RunKind, RunOutcome, Trajectory, Usage


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One run of the team, with everything that replay needs of it."""

    trajectory: Trajectory
    """What happened; its ``outcome`` is what the check said."""
    tape: Tape
    """Every model and tool reply of it."""
    output: str = ""
    """The answer as text."""
    error: BaseException | None = None
    """What the run raised."""
    duration_s: float = 0.0
    """How long it took, in seconds."""
    verdict: Verdict | None = None
    """What the check said; None without one, and for a run that raised."""

    @property
    def passed(self) -> bool:
        """Tell whether the check was satisfied."""
        return self.trajectory.outcome is RunOutcome.SUCCEEDED

    @property
    def failed(self) -> bool:
        """Tell whether the run failed; a run that was broken off neither passed nor failed."""
        return self.trajectory.outcome is RunOutcome.FAILED


class TeamRunner(Protocol):
    """Runs one team on one task, again and again, each time on a team that is as good as new.

    ``tracer_hooks.rerunner(build_team, task, check=...)`` makes one; it may be used from several threads.
    """

    @property
    def task(self) -> str:
        """Return what the team is asked to do."""
        ...

    def run(self, intervention: Intervention | None = None, *, kind: RunKind = RunKind.REPLAY) -> Trial:
        """Run the team once.

        Args:
            intervention: Asked before and after every model and tool call.
            kind: Why the run takes place; goes onto its spans.

        Raises:
            ReplayError: The intervention left its tape.
            AdapterError: The team could not be built.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """A run that was made again from a tape."""

    trial: Trial
    """The new run."""
    served: int
    """Model calls that the tape answered."""
    live: int
    """Model calls that were made."""
    divergences: tuple[Divergence, ...]
    """Where the run left the tape; empty in strict mode, which stops there."""

    @property
    def is_from_tape(self) -> bool:
        """Tell whether every model call was answered by the tape, and none asked for anything else."""
        return self.live == 0 and not self.divergences


def replay_tape(
    runner: TeamRunner,
    tape: Tape,
    *,
    until: int | None = None,
    mode: TapeMode | str = TapeMode.STRICT,
    tools: ToolRules | None = None,
) -> Replayed:
    """Run the team again with its recorded replies.

    Args:
        runner: Runs the team.
        tape: What was recorded.
        until: The first step that is live again; default none.
        mode: Whether a divergence stops the run.
        tools: What tools may do from ``until`` on.

    Raises:
        TapeMismatchError: In strict mode: the run asks for something that the tape does not hold; the message names
            the first such step and says what differs.
        ReplayError: A tool would have to run that nobody has declared.
    """
    player = TapePlayer(tape, until=until, mode=mode, tools=tools)
    trial = runner.run(player)
    player.finish()
    return Replayed(trial=trial, served=player.served, live=player.live, divergences=tuple(player.divergences))


class Resumption:
    """Carries out one repair in one run: the kept steps come from the tape, the rest is live and told what there is.

    Where the team does something else than it did when it was recorded, the tape ends, and the run goes on live.

    Args:
        repair: Where the run is resumed, and what is said to whom.
        tape: The record of the failed run.
        task: What the team is asked to do, in the user's words.
        tools: What tools may do from the resumed step on; default they run again, as in a run from scratch.
        tells: Whether its text is still to be told; not where the team was built with it.
    """

    def __init__(
        self, repair: Repair, tape: Tape, task: str, *, tools: ToolRules | None = None, tells: bool = True
    ) -> None:
        self._repair = repair
        self._player: TapePlayer | None = None
        self._injector: RepairInjector | None = None
        if repair.resume_from is not None or tools is not None:
            rules = ToolRules() if tools is None else tools
            # From there on it calls tools as a run from scratch does; whoever wants it otherwise says so.
            rules = replace(rules, default=rules.default or ToolUse.LIVE)
            self._player = TapePlayer(tape, until=repair.resume_from or 0, mode=TapeMode.RELEASE, tools=rules)
        if tells and repair.target is not RepairTarget.NOTHING:
            self._injector = RepairInjector(repair, task, tape)

    @property
    def interventions(self) -> list[Intervention]:
        """Return what has to be asked before and after every call of the run."""
        return [part for part in (self._player, self._injector) if part is not None]

    @property
    def kept_usage(self) -> Usage:
        """Tokens that were not spent."""
        return self._player.served_usage if self._player is not None else Usage()

    @property
    def is_as_planned(self) -> bool:
        """Tell whether all steps before the resumed one came from the tape, so far."""
        return self._player is None or not self._player.divergences

    @property
    def kept_until(self) -> int:
        """The first step that did not come from the tape."""
        if self._repair.resume_from is None or self._player is None:
            return 0
        left = [each.step for each in self._player.divergences if each.step is not None]
        return min([self._repair.resume_from, *left])

    @property
    def note(self) -> str:
        """Return what of the plan could not be done; empty where all could."""
        notes = []
        player = self._player
        if player is not None and self._repair.resume_from is not None and player.divergences:
            kept = (
                f"the record could be followed for {player.served} model calls" if player.served else "no step was kept"
            )
            why = f"since the team did something else than recorded: {player.divergences[0]}"
            notes.append(f"{kept}, and the rest was run anew, {why}")
        if self._injector is not None and not self._injector.told:
            notes.append("the text reached nobody: no request of the agent's came")
        return "; ".join(notes)


@dataclass(frozen=True, kw_only=True)
class Resumed:
    """A run that began in the middle of another one."""

    trial: Trial
    """The new run."""
    kept_usage: Usage
    """Tokens of the steps that came from the tape."""
    note: str
    """What could not be done as planned; empty where all could."""


def resume_tape(runner: TeamRunner, tape: Tape, repair: Repair, *, tools: ToolRules | None = None) -> Resumed:
    """Run the team once more, from the step on that ``repair`` names."""
    resumption = Resumption(repair, tape, runner.task, tools=tools)
    trial = runner.run(Interventions(resumption.interventions))
    return Resumed(trial=trial, kept_usage=resumption.kept_usage, note=resumption.note)
