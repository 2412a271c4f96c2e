"""What CrewAI's kinds share."""

from __future__ import annotations

from typing import Any

from ..teams.crewai_teams import Teams
from ._kind import BlockingKind


class CrewAIKind(BlockingKind):
    """A team that is run with ``team.kickoff(inputs={"task": ...})``."""

    teams = Teams()

    def run(self, team: Any, task: str) -> Any:
        """Run the team."""
        return team.kickoff(inputs={"task": task})
