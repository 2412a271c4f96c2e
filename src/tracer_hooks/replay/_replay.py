"""Running a recorded run again from its tape."""

from __future__ import annotations

from dataclasses import dataclass

from tracer_hooks.replay._mismatch import Divergence
from tracer_hooks.replay._player import TapeMode, TapePlayer
from tracer_hooks.replay._tape import Tape
from tracer_hooks.replay._tool_use import ToolRules
from tracer_hooks.replay._trial import TeamRunner, Trial


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
        """Whether every model call was answered by the tape, and none asked for anything else."""
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
