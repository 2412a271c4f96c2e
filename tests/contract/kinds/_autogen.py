"""What AutoGen's kinds share."""

from __future__ import annotations

from typing import Any

from ..teams.autogen_teams import Teams, _start_anew
from ._kind import Kind


class AutoGenKind(Kind):
    """A team that is run with ``team.run(task=...)``, from the start."""

    teams = Teams()

    async def arun(self, team: Any, task: str) -> Any:
        """Forget the last run, as AutoGen's documentation says for a new task, and run."""
        await _start_anew(team)
        return await team.run(task=task)
