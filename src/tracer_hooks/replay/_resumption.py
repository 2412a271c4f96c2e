"""Running a team on from the middle of a recorded run, with what a repair says."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tracer_hooks.frameworks import Intervention, Interventions
from tracer_hooks.repairs import Repair, RepairTarget
from tracer_hooks.replay._player import TapeMode, TapePlayer
from tracer_hooks.replay._tape import Tape
from tracer_hooks.replay._telling import Teller
from tracer_hooks.replay._tool_use import ToolRules, ToolUse
from tracer_hooks.replay._trial import TeamRunner, Trial
from tracer_hooks.schema import Usage


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
        self._teller: Teller | None = None
        if repair.resume_from is not None or tools is not None:
            rules = ToolRules() if tools is None else tools
            # A run from scratch calls tools again, too; whoever wants it otherwise says so.
            rules = replace(rules, default=rules.default or ToolUse.LIVE)
            self._player = TapePlayer(tape, until=repair.resume_from or 0, mode=TapeMode.RELEASE, tools=rules)
        if tells and repair.target is not RepairTarget.NOTHING:
            self._teller = Teller(repair, task, tape)

    @property
    def interventions(self) -> list[Intervention]:
        """What has to be asked before and after every call of the run."""
        return [part for part in (self._player, self._teller) if part is not None]

    @property
    def kept_usage(self) -> Usage:
        """Tokens that were not spent."""
        return self._player.served_usage if self._player is not None else Usage()

    @property
    def is_as_planned(self) -> bool:
        """Whether all steps before the resumed one came from the tape, so far."""
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
        """What of the plan could not be done; empty where all could."""
        notes = []
        player = self._player
        if player is not None and self._repair.resume_from is not None and player.divergences:
            kept = (
                f"the record could be followed for {player.served} model calls" if player.served else "no step was kept"
            )
            why = f"since the team did something else than recorded: {player.divergences[0]}"
            notes.append(f"{kept}, and the rest was run anew, {why}")
        if self._teller is not None and not self._teller.told:
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
    """Run the team once more, from the step on that ``repair`` names.

    Args:
        runner: Runs the team.
        tape: The record of the failed run.
        repair: Where to resume, and what to say to whom.
        tools: What tools may do from there on; default they run again.
    """
    resumption = Resumption(repair, tape, runner.task, tools=tools)
    trial = runner.run(Interventions(resumption.interventions))
    return Resumed(trial=trial, kept_usage=resumption.kept_usage, note=resumption.note)
