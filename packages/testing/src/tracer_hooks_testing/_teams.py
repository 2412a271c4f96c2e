"""Teams that an adapter builds for the contract, and the scenarios that they play."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Any, Final, NoReturn

from tracer_hooks.frameworks import Capability
from tracer_hooks.testing import Reply, Rule, ScriptedLLM, ToolCallReply, When

TASK: Final = "What is six times seven?"
"""The task of every scenario."""
TOOL_RESULT: Final = "Six times seven is 42 according to the table."
"""What the ``lookup`` tool finds."""
PROMPTS: Final[Mapping[str, str]] = {
    "solo": "You are the solo agent. Answer the question, with a tool when that helps.",
    "researcher": "You are the researcher. Look the number up with the lookup tool, then report it.",
    "writer": "You are the writer. Put the number that was reported into one sentence.",
    "reviewer": "You are the reviewer. Approve the sentence, or correct it.",
    "triage": "You are the triage agent. Pass questions about money on to billing.",
    "billing": "You are the billing agent. Answer questions about money.",
    "manager": "You are the manager. Choose who answers: alpha or beta.",
    "alpha": "You are the alpha agent. Answer questions about letters.",
    "beta": "You are the beta agent. Answer questions about numbers.",
    "left": "You are the left agent. Answer in digits.",
    "right": "You are the right agent. Answer in words.",
    "lead": "You are the lead agent. Sum up what the expert found.",
    "expert": "You are the expert agent. Find the answer.",
}
"""Each agent's instructions. A prompt begins with the agent's name, which is how the script tells who is asking."""


class Scenario(StrEnum):
    """A team of the contract kit; each value is the name of the builder in ``ContractTeams``."""

    SINGLE = "single"
    PIPELINE = "pipeline"
    HANDOFF = "handoff"
    MANAGER = "manager"
    PARALLEL = "parallel"
    NESTED = "nested"


def lookup(query: str) -> str:
    """Look a number up in the table.

    Args:
        query: What to look up.
    """
    return TOOL_RESULT


def says(agent: str, *texts: str) -> Rule:
    """The model of ``agent`` answers with these texts, the last one again and again."""
    return When(agent=agent).then(*texts)


def calls_then_says(agent: str, calls: Sequence[ToolCallReply], text: str) -> tuple[Rule, Rule]:
    """The model of ``agent`` calls tools, and says ``text`` once it has seen a result."""
    return When(agent=agent, tool_result="").then(text), When(agent=agent).then(Reply(tool_calls=calls))


PIPELINE: Final = (
    *calls_then_says("researcher", [ToolCallReply("lookup", {"query": "six times seven"})], "The table says 42."),
    says("writer", "Six times seven makes 42."),
    says("reviewer", "Approved: six times seven makes 42."),
)
_HANDED_OVER = When(agent="triage", tool_result="").then("Passed on to billing.")
_TRANSFER = When(agent="triage").then(Reply(tool_calls=[ToolCallReply("transfer_to_billing", {})]))
SCRIPTS: Final[Mapping[Scenario, tuple[Rule, ...]]] = {
    Scenario.SINGLE: (says("solo", "The answer is 42."),),
    Scenario.PIPELINE: PIPELINE,
    Scenario.HANDOFF: (_HANDED_OVER, _TRANSFER, says("billing", "The refund of 42 is on its way.")),
    Scenario.MANAGER: (says("manager", "beta"), says("alpha", "It is F and T."), says("beta", "It is 42 exactly.")),
    Scenario.PARALLEL: (says("left", "It is 42 in digits."), says("right", "It is forty-two in words.")),
    Scenario.NESTED: (says("expert", "I found that it is 42."), says("lead", "In short, the answer is 42.")),
}
"""What the models answer in each scenario, where a framework does not need a script of its own."""
Tool = Callable[..., Any]


class NotOfferedError(Exception):
    """The framework has no such thing; the message says why. The kit turns it into a skip that shows the message."""


class ContractTeams:
    """Builds and runs one framework's teams for :class:`~tracer_hooks.testing.AdapterContract`.

    Subclass it once for a framework. A builder makes the framework's own team object anew at each call, with the
    framework's REAL client for OpenAI's API pointed at ``llm.base_url`` with ``llm.api_key`` and with the client's own
    retries switched off (``max_retries=0``). A tool is a plain function, synchronous or asynchronous; its name,
    annotations and docstring are the tool's. Agents are named as in the scenario and told
    ``PROMPTS[agent]`` (:data:`tracer_hooks.testing.PROMPTS`), or ``prompts[agent]`` where given: the model's script
    tells the agents apart by the start of their system message ("You are the writer.", or "You are writer.").

    What a framework cannot do is said with :meth:`not_offered`, never left out silently: the default of every builder
    but :meth:`single` and :meth:`pipeline`.
    """

    adapter: str
    """Name of the adapter's entry point, for example ``"autogen"``."""

    tested_elsewhere: frozenset[Capability] = frozenset()
    """Capabilities of the adapter that another set of teams shows, for frameworks whose teams run in one way only."""

    runs_at_once: bool = False
    """Whether one team object may run several times at the same time."""

    tools_know_their_call: bool = True
    """Whether a tool can be told the model's id of the call that it carries out."""

    # --- teams -----------------------------------------------------------------------------------------------------
    def single(
        self,
        llm: ScriptedLLM,
        *,
        tools: Sequence[Tool] = (),
        prompts: Mapping[str, str] | None = None,
        streaming: bool = False,
        max_calls: int = 100,
    ) -> Any:
        """Team "single" with one agent "solo".

        Args:
            llm: Its model.
            tools: Functions that it may call, in a loop, until its model answers in text.
            prompts: Instructions by agent; default :data:`PROMPTS`.
            streaming: Whether the model's replies are streamed (with usage at the end, where the client must ask
                for it).
            max_calls: How many model calls a run may take at least.
        """
        raise NotImplementedError

    def pipeline(
        self, llm: ScriptedLLM, *, tools: Sequence[Tool] = (lookup,), prompts: Mapping[str, str] | None = None
    ) -> Any:
        """Team "pipeline": "researcher" (with ``tools``), then "writer", then "reviewer", one turn each.

        Each is shown the task and what those before it said; the last text is the answer.
        """
        raise NotImplementedError

    def handoff(self, llm: ScriptedLLM) -> Any:
        """Team "handoff": "triage" hands control to "billing" in the framework's own way; billing answers.

        The script has triage call ``transfer_to_billing``; override :meth:`script` where the framework's way differs.
        """
        self.not_offered("no transfer of control between agents")

    def manager(self, llm: ScriptedLLM) -> Any:
        """Team "manager": a model chooses between the workers "alpha" and "beta"; "beta" answers.

        A selector, router, supervisor or hierarchical process. The script has the model of "manager" say ``beta``;
        override :meth:`script` where the framework asks in another way. The one that chooses may have any name.
        """
        self.not_offered("no manager that chooses who acts")

    def parallel(self, llm: ScriptedLLM) -> Any:
        """Team "parallel": "left" and "right" work on the task at the same time."""
        self.not_offered("agents of one team never work at the same time")

    def nested(self, llm: ScriptedLLM) -> Any:
        """Team "nested": an inner team with the agent "expert", then (or around it) the agent "lead", who sums up."""
        self.not_offered("a team cannot be part of another")

    def custom_model(self, texts: Sequence[str]) -> Any:
        """Team "single" whose agent "solo" uses a model class of the user's own, written here, that gives ``texts``."""
        self.not_offered("models cannot be written by the user")

    def interrupting(self, llm: ScriptedLLM) -> Any:
        """A team whose run stops by the framework's own control flow (interrupt, abort, hand-over to a human).

        The stop must not look like an error, whether the framework raises to the caller or returns.
        """
        self.not_offered("runs are not stopped by control flow of the framework")

    def script(self, scenario: Scenario) -> tuple[Rule, ...]:
        """Return the models' answers in a scenario; override where the framework needs other replies for it."""
        return SCRIPTS[scenario]

    # --- running: each calls the entry point on ``team`` itself -----------------------------------------------------
    def run(self, team: Any, task: str) -> Any:
        """Run to the end and give the framework's own result. Default: :meth:`arun` in a fresh event loop."""
        return asyncio.run(self.arun(team, task))

    async def arun(self, team: Any, task: str) -> Any:
        """The same through the framework's asynchronous entry point."""
        self.not_offered("no asynchronous entry point")

    def cancellable(self, team: Any, task: str) -> Coroutine[Any, Any, Any]:
        """A run that is cancelled with its task; override where :meth:`arun` shields it. Default :meth:`arun`."""
        return self.arun(team, task)

    def stream(self, team: Any, task: str) -> Iterator[Any]:
        """The framework's own generator."""
        self.not_offered("no entry point that gives a plain generator")

    def astream(self, team: Any, task: str) -> AsyncIterator[Any]:
        """The framework's own asynchronous generator."""
        self.not_offered("no entry point that gives an asynchronous generator")

    def tokens(self, team: Any, task: str) -> Iterator[Any]:
        """The framework's own generator in the mode in which it gives replies as they come; default :meth:`stream`."""
        return self.stream(team, task)

    def atokens(self, team: Any, task: str) -> AsyncIterator[Any]:
        """The asynchronous one likewise; default :meth:`astream`."""
        return self.astream(team, task)

    # --- looking ---------------------------------------------------------------------------------------------------
    def plain(self, result: Any) -> Any:
        """A run's result, or a stream's item, as plain data that is equal for equal runs: no ids, no times."""
        raise NotImplementedError

    def joined(self, items: Sequence[Any]) -> Sequence[Any]:
        """Plain items of a stream in which only text comes in pieces.

        Override where the framework also streams the arguments of tool calls, in whose pieces a replay may differ.
        """
        return items

    def message(self, error: Exception) -> str:
        """An exception's text as far as it is equal for equal runs; override where the framework puts a stack in it."""
        return str(error)

    def parts(self, team: Any) -> Sequence[Any]:
        """The objects and classes whose attributes the adapter might change, beside ``team`` itself.

        Agents, model clients, tools, and framework classes. The kit compares ``vars()`` of each before and after.
        """
        raise NotImplementedError

    def broken_probe(self) -> AbstractContextManager[None]:
        """Within the block, one hook point that the adapter probes for is missing from the framework."""
        self.not_offered("the adapter has a single hook point")

    @staticmethod
    def not_offered(why: str) -> NoReturn:
        """Say that the framework has no such thing.

        Raises:
            NotOfferedError: Always.
        """
        raise NotOfferedError(why)
