"""AutoGen's kinds of team."""

from typing import Any

from autogen_agentchat.agents import AssistantAgent, SocietyOfMindAgent
from autogen_agentchat.teams import DiGraphBuilder, GraphFlow, RoundRobinGroupChat
from autogen_agentchat.tools import AgentTool, TeamTool
from autogen_core import CancellationToken

from tracer_hooks.testing import Reply, ScriptedLLM, ToolCallReply, When

from ..teams.autogen_teams import Teams, _start_anew, assistant, client
from ._kind import Kind, handed, said


class AutoGenKind(Kind):
    """A team that is run with ``team.run(task=...)``, from the start."""

    teams = Teams()

    async def arun(self, team: Any, task: str) -> Any:
        """Forget the last run, as AutoGen's documentation says for a new task, and run."""
        await _start_anew(team)
        return await team.run(task=task)


def asks(tool: str) -> Reply:
    """A reply that asks a tool to do a task."""
    return Reply(tool_calls=[ToolCallReply(tool, {"task": "What is six times seven, in <case>?"})])


# AutoGen's ``AgentTool`` and ``TeamTool``: an agent that calls another agent, and a team, like tools.
class AgentsAsToolsKind(AutoGenKind):
    """lead calls the agent "solo", then the team "experts" (expert, reviewer), then answers."""

    team = "outer"
    agents = frozenset({"lead", "solo", "experts", "expert", "reviewer"})
    # A call of an agent or a team is work that is delegated to it: its turns lie inside that step.
    courses = (
        (
            handed("lead", "solo", "solo"),
            said("solo"),
            handed("lead", "experts", "experts"),
            said("expert"),
            said("reviewer"),
            said("lead"),
        ),
    )
    requests = 6

    rules = (
        When(agent="lead", tool_result="approved").then("Both say 42 in <case>."),
        When(agent="lead", tool_result="alone").then(asks("experts")),
        When(agent="lead").then(asks("solo")),
        When(agent="solo").then("I say 42, alone in <case>."),
        When(agent="expert").then("I say 42 in <case>."),
        When(agent="reviewer").then("That is approved in <case>."),
    )

    def build(self, llm: ScriptedLLM) -> Any:
        model = client(llm)
        inside = [assistant(model, "expert"), assistant(model, "reviewer")]
        experts = RoundRobinGroupChat(inside, name="experts", max_turns=2)  # type: ignore[arg-type]
        solo = assistant(model, "solo")
        tools = [
            AgentTool(solo, return_value_as_last_message=True),
            TeamTool(experts, name="experts", description="Asks the experts.", return_value_as_last_message=True),
        ]
        # As AutoGen's documentation asks for with these tools: never two calls at once.
        lead: AssistantAgent = assistant(
            client(llm, parallel_tool_calls=False), "lead", tools=tools, max_tool_iterations=5
        )
        team = RoundRobinGroupChat([lead], name="outer", max_turns=1)
        team.behind_tools = (experts, solo)  # type: ignore[attr-defined]
        return team

    async def arun(self, team: Any, task: str) -> Any:
        """Those behind tools keep their own memory, which the team's reset does not reach."""
        experts, solo = team.behind_tools
        await _start_anew(experts)
        await solo.on_reset(CancellationToken())
        return await super().arun(team, task)


# AutoGen's ``GraphFlow``: a fan-out, a join that waits for both, and a loop that a condition ends.
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

    rules = (
        When(agent="left").then("It is 42 in digits, in <case>."),
        When(agent="right").then("It is forty-two in words, in <case>."),
        When(agent="reviewer", contains="corrected").then("APPROVE: 42 in <case>."),
        When(agent="reviewer").then("REVISE: that is wrong, in <case>."),
        When(agent="writer", contains="REVISE").then("Six times seven is 42, corrected in <case>."),
        When(agent="writer").then("Six times seven is 24, in <case>."),
        When(agent="lead").then("All agree on 42 in <case>."),
    )

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


# AutoGen's ``save_state`` and ``load_state``: a conversation that is put away, forgotten, and gone on with.
class SavedStateKind(AutoGenKind):
    """Two runs: writer -> reviewer, and again after the team was reset and its state loaded."""

    team = "duo"
    agents = frozenset({"writer", "reviewer"})
    # Loading a state runs nobody. What was loaded is shown to the models in the second run, see the rules.
    courses = ((said("writer"), said("reviewer")),) * 2
    requests = 4

    rules = (
        When(agent="writer", contains="Approved").then("As approved before, 42 in <case>."),
        When(agent="writer").then("It is 42 in <case>."),
        When(agent="reviewer", contains="As approved before").then("Still approved: 42 in <case>."),
        When(agent="reviewer").then("Approved: 42 in <case>."),
    )

    def build(self, llm: ScriptedLLM) -> Any:
        model = client(llm)
        members = [assistant(model, name) for name in ("writer", "reviewer")]
        return RoundRobinGroupChat(members, name="duo", max_turns=2)  # type: ignore[arg-type]

    async def arun(self, team: Any, task: str) -> Any:
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


# AutoGen's ``SocietyOfMindAgent``: a participant that asks a team of its own, then its model to sum up.
class SocietyOfMindKind(AutoGenKind):
    """society (expert, reviewer) -> lead."""

    team = "outer"
    agents = frozenset({"society", "expert", "reviewer", "lead"})
    # The inner team works first; the society's own reply is made from what was said there.
    courses = ((said("expert"), said("reviewer"), said("society"), said("lead")),)
    requests = 4

    rules = (
        When(agent="expert").then("I found 42 in <case>."),
        When(agent="reviewer").then("Approved in <case>."),
        # Its instruction is a user message with models that take a single system message.
        When(contains="You are the society").then("We found 42 in <case>."),
        When(agent="lead").then("In short, 42 in <case>."),
    )

    def build(self, llm: ScriptedLLM) -> Any:
        model = client(llm)
        inside = [assistant(model, "expert"), assistant(model, "reviewer")]
        inner = RoundRobinGroupChat(inside, name="inner", max_turns=2)  # type: ignore[arg-type]
        society = SocietyOfMindAgent("society", inner, model, instruction="You are the society. Sum up:")
        return RoundRobinGroupChat([society, assistant(model, "lead")], name="outer", max_turns=2)


KINDS = {
    "autogen_agents_as_tools": AgentsAsToolsKind(),
    "autogen_graph_flow": GraphFlowKind(),
    "autogen_saved_state": SavedStateKind(),
    "autogen_society_of_mind": SocietyOfMindKind(),
}
