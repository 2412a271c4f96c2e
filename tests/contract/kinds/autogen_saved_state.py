"""AutoGen's ``save_state`` and ``load_state``: a conversation that is put away, forgotten, and gone on with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autogen_agentchat.teams import RoundRobinGroupChat

from tracer_hooks.testing import Rule, ScriptedLLM, When

from ..teams.autogen_teams import assistant, client
from ._autogen import AutoGenKind
from ._kind import said


class SavedStateKind(AutoGenKind):
    """Two runs: writer -> reviewer, and again after the team was reset and its state loaded."""

    team = "duo"
    agents = frozenset({"writer", "reviewer"})
    # Loading a state runs nobody. What was loaded is shown to the models in the second run, see the rules.
    courses = ((said("writer"), said("reviewer")),) * 2
    requests = 4

    def rules(self) -> Sequence[Rule]:
        return [
            When(agent="writer", contains="Approved").then("As approved before, 42 in <case>."),
            When(agent="writer").then("It is 42 in <case>."),
            When(agent="reviewer", contains="As approved before").then("Still approved: 42 in <case>."),
            When(agent="reviewer").then("Approved: 42 in <case>."),
        ]

    def build(self, llm: ScriptedLLM) -> Any:
        model = client(llm)
        members = [assistant(model, name) for name in ("writer", "reviewer")]
        return RoundRobinGroupChat(members, name="duo", max_turns=2)  # type: ignore[arg-type]

    async def arun(self, team: Any, task: str) -> Any:
        """Run, save, forget, load, and run on."""
        first = await super().arun(team, task)
        state = await team.save_state()
        await team.reset()
        await team.load_state(state)
        return [first, state, await team.run(task=f"Once more: {task}")]

    def plain(self, result: Any) -> Any:
        """Both results, and what each agent had in mind between them."""
        first, state, second = result
        held = {name: inner["agent_state"] for name, inner in state["agent_states"].items() if "agent_state" in inner}
        minds = {
            name: [message["content"] for message in mind["llm_context"]["messages"]]
            for name, mind in held.items()
            if "llm_context" in mind
        }
        assert minds.keys() == {"writer", "reviewer"}
        return [self.teams.plain(first), minds, self.teams.plain(second)]


KIND = SavedStateKind()
