"""AutoGen's ``SocietyOfMindAgent``: a participant that asks a team of its own, then its model to sum up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autogen_agentchat.agents import SocietyOfMindAgent
from autogen_agentchat.teams import RoundRobinGroupChat

from tracer_hooks.testing import Rule, ScriptedLLM, When

from ..teams.autogen_teams import assistant, client
from ._autogen import AutoGenKind
from ._kind import said


class SocietyOfMindKind(AutoGenKind):
    """society (expert, reviewer) -> lead."""

    team = "outer"
    agents = frozenset({"society", "expert", "reviewer", "lead"})
    # The inner team works first; the society's own reply is made from what was said there.
    courses = ((said("expert"), said("reviewer"), said("society"), said("lead")),)
    requests = 4

    def rules(self) -> Sequence[Rule]:
        return [
            When(agent="expert").then("I found 42 in <case>."),
            When(agent="reviewer").then("Approved in <case>."),
            # Its instruction is a user message with models that take a single system message.
            When(contains="You are the society").then("We found 42 in <case>."),
            When(agent="lead").then("In short, 42 in <case>."),
        ]

    def build(self, llm: ScriptedLLM) -> Any:
        model = client(llm)
        inside = [assistant(model, "expert"), assistant(model, "reviewer")]
        inner = RoundRobinGroupChat(inside, name="inner", max_turns=2)  # type: ignore[arg-type]
        society = SocietyOfMindAgent("society", inner, model, instruction="You are the society. Sum up:")
        return RoundRobinGroupChat([society, assistant(model, "lead")], name="outer", max_turns=2)


KIND = SocietyOfMindKind()
