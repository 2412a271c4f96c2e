"""LangGraph's kinds of team."""

import asyncio
import operator
import uuid
from typing import Annotated, Any, TypedDict

from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, RetryPolicy, Send, interrupt
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_handoff_tool, create_swarm

from tracer_hooks.schema import RunOutcome
from tracer_hooks.testing import ErrorReply, Reply, ScriptedLLM, ScriptedRequest, ToolCallReply, When
from tracer_hooks_testing import PROMPTS, lookup

from ..teams.langgraph_teams import Teams, agent, as_tool, chain, chat_model, last_message
from ._case import CASE, cases_in, looks_up
from ._kind import BlockingKind, called, handed, said


class LangGraphKind(BlockingKind):
    """A graph on messages that is run with ``graph.invoke(...)``."""

    teams = Teams()

    def run(self, team: Any, task: str) -> Any:
        return team.invoke(messages_of(task))


def messages_of(task: str) -> dict[str, Any]:
    """The input of a graph on messages."""
    return {"messages": [{"role": "user", "content": task}]}


def asking(llm: ScriptedLLM, name: str) -> Any:
    """A function that asks a model as one of the scripted agents: from what it is to work on to the reply's text."""
    model = chat_model(llm)

    def ask(text: str) -> str:
        return str(model.invoke([SystemMessage(PROMPTS[name]), HumanMessage(text)]).content)

    return ask


# LangChain's ``astream_events`` on a graph: every event of a run, replies token by token.
class AstreamEventsKind(LangGraphKind):
    """researcher, with a tool -> writer."""

    team = "told"
    agents = frozenset({"researcher", "writer"})
    courses = ((called("researcher", "lookup"), said("researcher"), said("writer")),)
    requests = 3

    rules = (
        *looks_up("researcher", "The table says 42 in <case>."),
        When(agent="writer").then("Six times seven is 42 in <case>."),
    )

    def build(self, llm: ScriptedLLM) -> Any:
        researcher = agent(llm, "researcher", tools=[as_tool(lookup)], streaming=True)
        writer = agent(llm, "writer", streaming=True)
        return chain("told", researcher=researcher | last_message, writer=writer | last_message)

    async def arun(self, team: Any, task: str) -> Any:
        return [event async for event in team.astream_events(messages_of(task), version="v2")]

    def plain(self, result: Any) -> Any:
        """What happened to what, in order, and the text of each piece of a reply."""
        assert {"on_chain_start", "on_chat_model_stream", "on_tool_end"} <= {event["event"] for event in result}
        return [(event["event"], event["name"], _piece(event), event["tags"]) for event in result]


def _piece(event: Any) -> str:
    return str(getattr(event["data"].get("chunk"), "content", ""))


# LangChain's ``batch`` and ``abatch`` on a graph: several inputs at the same time, each a run of its own.
class BatchKind(LangGraphKind):
    """writer -> reviewer, for three inputs in threads, then for three in tasks."""

    team = "batched"
    agents = frozenset({"writer", "reviewer"})
    courses = ((said("writer"), said("reviewer")),) * 6
    requests = 12

    rules = (
        When(agent="writer").then("Six times seven is 42 in <case>."),
        When(agent="reviewer").then("Approved: 42 in <case>."),
    )

    def build(self, llm: ScriptedLLM) -> Any:
        return chain("batched", writer=agent(llm, "writer"), reviewer=agent(llm, "reviewer"))

    async def arun(self, team: Any, task: str) -> Any:
        inputs = [messages_of(f"{task} Time {number}.") for number in (1, 2, 3)]
        first = await asyncio.to_thread(team.batch, inputs)
        return [*first, *await team.abatch(inputs)]


# LangGraph's functional API: an ``@entrypoint`` that starts two ``@task``s at the same time and joins them.
class FunctionalKind(LangGraphKind):
    """left | right -> reviewer, each a task."""

    team = "LangGraph"  # an entry point gives its graph no name (langgraph 1.2)
    agents = frozenset({"left", "right", "reviewer"})
    # Tasks run as soon as they are called, whoever waits for their futures; the entry point itself says nothing.
    courses = (([said("left"), said("right")], said("reviewer")),)
    requests = 3

    rules = (
        When(agent="left").then("It is 42 in digits, in <case>."),
        When(agent="right").then("It is forty-two in words, in <case>."),
        When(agent="reviewer").then("Both mean 42 in <case>."),
    )

    def build(self, llm: ScriptedLLM) -> Any:
        ask = {name: asking(llm, name) for name in ("left", "right", "reviewer")}

        @task
        def left(text: str) -> str:
            return ask["left"](text)

        @task
        def right(text: str) -> str:
            return ask["right"](text)

        @task
        def reviewer(texts: list[str]) -> str:
            return ask["reviewer"](" ".join(texts))

        @entrypoint()
        def together(text: str) -> str:
            futures = [left(text), right(text)]
            return reviewer([future.result() for future in futures]).result()

        return together

    def run(self, team: Any, task: str) -> Any:
        """The function takes the text as it is."""
        return team.invoke(task)


class RefusesFirst:
    """A reply that is an error each time that a case comes for the first time, the third, and so on."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._refused: set[str] = set()

    def __call__(self, request: ScriptedRequest) -> Any:
        if request.last in self._refused:
            self._refused.remove(request.last)
            return self._text
        self._refused.add(request.last)
        return ErrorReply(503, message="Busy.")


# LangGraph's ``RetryPolicy``: a node whose model refuses the first time, and is asked again by the framework.
class RetryPolicyKind(LangGraphKind):
    """writer, at the second attempt -> reviewer."""

    team = "retried"
    agents = frozenset({"writer", "reviewer"})
    # No reply came from the first attempt, so that both are one act of the writer's.
    courses = ((said("writer", attempts=2), said("reviewer")),)
    requests = 3

    @property
    def rules(self):  # type: ignore[override]  # new ones for each stage, for one of them counts
        return (
            When(agent="writer").then(RefusesFirst("Six times seven is 42 in <case>.")),
            When(agent="reviewer").then("Approved: 42 in <case>."),
        )

    def build(self, llm: ScriptedLLM) -> Any:
        graph = StateGraph(MessagesState)
        policy = RetryPolicy(max_attempts=2, initial_interval=0.0, jitter=False)
        for name in ("writer", "reviewer"):
            graph.add_node(name, _speaker(llm, name), retry_policy=policy)
        graph.add_edge(START, "writer")
        graph.add_edge("writer", "reviewer")
        graph.add_edge("reviewer", END)
        return graph.compile(name="retried")


def _speaker(llm: ScriptedLLM, name: str) -> Any:
    ask = asking(llm, name)

    def speak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", ask(state["messages"][-1].text))]}

    return speak


class State(TypedDict, total=False):
    """What the team works on."""

    task: str
    parts: list[str]
    found: Annotated[list[str], operator.add]
    answer: str


class Part(TypedDict):
    """What one expert is sent."""

    part: str


# LangGraph's ``Send``: one node for each part of the work at the same time, then one that joins the parts.
class SendKind(LangGraphKind):
    """lead -> expert for each of three parts -> reviewer."""

    team = "mapped"
    agents = frozenset({"lead", "expert", "reviewer"})
    # The edge sends a task to the same node three times; all three run in one super-step, and the join after it.
    courses = ((said("lead"), [said("expert")] * 3, said("reviewer")),)
    requests = 5

    rules = (
        When(agent="lead").then("in digits, in words, in Roman numerals"),
        When(agent="expert", contains="in digits").then("42, in <case>"),
        When(agent="expert", contains="in words").then("forty-two, in <case>"),
        When(agent="expert", contains="in Roman").then("XLII, in <case>"),
        When(agent="reviewer").then("All say 42 in <case>."),
    )

    def build(self, llm: ScriptedLLM) -> Any:
        ask = {name: asking(llm, name) for name in ("lead", "expert", "reviewer")}

        def lead(state: State) -> State:
            return {"parts": ask["lead"](state["task"]).split(", ")}

        def expert(state: Part) -> State:
            return {"found": [ask["expert"](state["part"])]}

        def reviewer(state: State) -> State:
            return {"answer": ask["reviewer"]("; ".join(state["found"]))}

        def sends(state: State) -> list[Send]:
            return [Send("expert", {"part": f"{state['task']} Say it {part}."}) for part in state["parts"]]

        graph = StateGraph(State)
        graph.add_node("lead", lead)
        graph.add_node("expert", expert)
        graph.add_node("reviewer", reviewer)
        graph.add_edge(START, "lead")
        graph.add_conditional_edges("lead", sends, ["expert"])
        graph.add_edge("expert", "reviewer")
        return graph.add_edge("reviewer", END).compile(name="mapped")

    def run(self, team: Any, task: str) -> Any:
        """The graph's state holds no messages."""
        return team.invoke({"task": task})


def ask(state: MessagesState) -> dict[str, Any]:
    """The node that waits for a human, and writes down what they say."""
    return {"messages": [("user", interrupt("Is this right?"))]}


# A LangGraph sub-graph that asks a human, and is gone on with by ``Command(resume=...)``.
class SubgraphInterruptKind(LangGraphKind):
    """inner (writer -> ask) -> reviewer; the run ends at the question, and another one goes on from there."""

    team = "outer"
    agents = frozenset({"writer", "reviewer"})
    # On resuming, the sub-graph starts at the node that waited: the writer's part is in its checkpoint.
    courses = ((said("writer"),), (said("reviewer"),))
    outcomes = (RunOutcome.UNKNOWN, RunOutcome.SUCCEEDED)  # an interrupted run has no answer to check
    requests = 2

    rules = (
        When(agent="writer").then("Six times seven is 42 in <case>."),
        When(agent="reviewer", contains="Yes, it is right").then(f"Approved by a human: 42 in {CASE}."),
    )

    def build(self, llm: ScriptedLLM) -> Any:
        inner = chain("inner", writer=agent(llm, "writer"), ask=ask)
        return chain("outer", checkpointer=InMemorySaver(), inner=inner, reviewer=agent(llm, "reviewer"))

    def run(self, team: Any, task: str) -> Any:
        """Ask, and answer the question that comes back."""
        (case,) = cases_in(task)
        thread: Any = {"configurable": {"thread_id": uuid.uuid4().hex}}
        first = team.invoke(messages_of(task), thread)
        (question,) = first["__interrupt__"]
        assert question.value == "Is this right?"
        return [first, team.invoke(Command(resume=f"Yes, it is right, in case {case}."), thread)]


def transfer(to: str) -> Reply:
    """A reply that hands over."""
    return Reply(tool_calls=[ToolCallReply(f"transfer_to_{to}", {})])


# The package langgraph-supervisor: an agent that hands the work to others with tools, and gets it back from them.
class SupervisorKind(LangGraphKind):
    """supervisor -> researcher -> supervisor -> writer -> supervisor, who has the last word."""

    team = "supervised"
    agents = frozenset({"supervisor", "researcher", "writer"})
    # Control comes back by an edge of the graph: "Transferring back to supervisor" is written by the package itself,
    # not said by anybody.
    courses = (
        (
            handed("supervisor", "researcher", "transfer_to_researcher"),
            called("researcher", "lookup"),
            said("researcher"),
            handed("supervisor", "writer", "transfer_to_writer"),
            said("writer"),
            said("supervisor"),
        ),
    )
    requests = 6

    rules = (
        When(agent="supervisor", contains="Six times seven is 42").then("The team says 42 in <case>."),
        When(agent="supervisor", contains="The table says 42").then(transfer("writer")),
        When(agent="supervisor").then(transfer("researcher")),
        *looks_up("researcher", "The table says 42 in <case>."),
        When(agent="writer").then("Six times seven is 42 in <case>."),
    )

    def build(self, llm: ScriptedLLM) -> Any:
        workers = [agent(llm, "researcher", tools=[as_tool(lookup)]), agent(llm, "writer")]
        prompt = "You are the supervisor. Let the researcher look up, then the writer write."
        return create_supervisor(workers, model=chat_model(llm), prompt=prompt).compile(name="supervised")


# The package langgraph-swarm: agents that hand over to each other; the last active one answers what comes next.
class SwarmKind(LangGraphKind):
    """triage -> billing; the next question of the same conversation goes to billing at once."""

    team = "swarm"
    agents = frozenset({"triage", "billing"})
    courses = ((handed("triage", "billing", "transfer_to_billing"), said("billing")), (said("billing"),))
    requests = 3

    rules = (
        When(agent="triage").then(Reply(tool_calls=[ToolCallReply("transfer_to_billing", {})])),
        When(agent="billing", contains="Once more").then("As I said, 42 in <case>."),
        When(agent="billing").then("The refund of 42 is on its way in <case>."),
    )

    def build(self, llm: ScriptedLLM) -> Any:
        members = [
            agent(llm, "triage", tools=[create_handoff_tool(agent_name="billing")]),
            agent(llm, "billing", tools=[create_handoff_tool(agent_name="triage")]),
        ]
        swarm = create_swarm(members, default_active_agent="triage")
        return swarm.compile(name="swarm", checkpointer=InMemorySaver())

    def run(self, team: Any, task: str) -> Any:
        """Two questions in one conversation."""
        thread: Any = {"configurable": {"thread_id": uuid.uuid4().hex}}
        return [team.invoke(messages_of(task), thread), team.invoke(messages_of(f"Once more: {task}"), thread)]


KINDS = {
    "langgraph_astream_events": AstreamEventsKind(), "langgraph_batch": BatchKind(),
    "langgraph_functional": FunctionalKind(), "langgraph_retry_policy": RetryPolicyKind(),
    "langgraph_send": SendKind(), "langgraph_subgraph_interrupt": SubgraphInterruptKind(),
    "langgraph_supervisor": SupervisorKind(), "langgraph_swarm": SwarmKind(),
}  # fmt: skip
