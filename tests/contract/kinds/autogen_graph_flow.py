"""AutoGen's ``GraphFlow``: a fan-out, a join that waits for both, and a loop that a condition ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autogen_agentchat.teams import DiGraphBuilder, GraphFlow

from tracer_hooks.testing import Rule, ScriptedLLM, When

from ..teams.autogen_teams import assistant, client
from ._autogen import AutoGenKind
from ._kind import said


class GraphFlowKind(AutoGenKind):
    """left | right -> writer -> reviewer, who sends the text back to the writer once, then on to lead."""

    team = "flow"
    agents = frozenset({"left", "right", "writer", "reviewer", "lead"})
    # A GraphFlow has no manager that thinks: edges decide, so that nobody hands over. Both sources run at once.
    courses = (
        (
            [said("left"), said("right")],
            said("writer"),
            said("reviewer"),
            said("writer"),
            said("reviewer"),
            said("lead"),
        ),
    )
    requests = 7

    def rules(self) -> Sequence[Rule]:
        return [
            When(agent="left").then("It is 42 in digits, in <case>."),
            When(agent="right").then("It is forty-two in words, in <case>."),
            When(agent="reviewer", contains="corrected").then("APPROVE: 42 in <case>."),
            When(agent="reviewer").then("REVISE: that is wrong, in <case>."),
            When(agent="writer", contains="REVISE").then("Six times seven is 42, corrected in <case>."),
            When(agent="writer").then("Six times seven is 24, in <case>."),
            When(agent="lead").then("All agree on 42 in <case>."),
        ]

    def build(self, llm: ScriptedLLM) -> Any:
        model = client(llm)
        names = ("left", "right", "writer", "reviewer", "lead")
        left, right, writer, reviewer, lead = (assistant(model, name) for name in names)
        builder = DiGraphBuilder()
        for one in (left, right, writer, reviewer, lead):
            builder.add_node(one)
        # Two groups of edges into the writer: both sources open it, later the reviewer alone does.
        builder.add_edge(left, writer, activation_group="start", activation_condition="all")
        builder.add_edge(right, writer, activation_group="start", activation_condition="all")
        builder.add_edge(writer, reviewer)
        builder.add_edge(reviewer, writer, condition="REVISE", activation_group="again", activation_condition="any")
        builder.add_edge(reviewer, lead, condition="APPROVE")
        # AutoGen runs a graph with a loop only where something else ends it, too.
        return GraphFlow(builder.get_participants(), graph=builder.build(), name="flow", max_turns=10)

    def plain(self, result: Any) -> Any:
        """Without the order in which the two sources were heard."""
        stopped, *messages = super().plain(result)
        return [stopped, *sorted(messages, key=repr)]


KIND = GraphFlowKind()
