"""The contract kit's teams in CrewAI: crews with one task an agent, and flows where crews run inside one another."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

import crewai.hooks
from crewai import LLM, Agent, BaseLLM, Crew, Flow, Process, Task
from crewai.agents.agent_builder.base_agent import BaseAgent
from crewai.flow import listen, start
from crewai.flow.async_feedback import HumanFeedbackPending, PendingFeedbackContext
from crewai.tools import BaseTool, tool
from crewai.tools.structured_tool import CrewStructuredTool

from tracer_hooks.testing import Rule, ScriptedLLM, ToolCallReply
from tracer_hooks_testing import PROMPTS, SCRIPTS, ContractTeams, Scenario, lookup
from tracer_hooks_testing._teams import calls_then_says, says

Tool = Callable[..., Any]


class EchoLLM(BaseLLM):
    """A model as a user might write it: it says its texts one after the other, and emits none of CrewAI's events."""

    texts: list[str]
    said: int = 0

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        self.said += 1
        return self.texts[(self.said - 1) % len(self.texts)]

    async def acall(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        return self.call(messages)


def chat_model(llm: ScriptedLLM, *, streaming: bool = False) -> BaseLLM:
    """CrewAI's own client for OpenAI's API, pointed at the script."""
    return LLM(model="openai/scripted", base_url=llm.base_url, api_key=llm.api_key, max_retries=0, stream=streaming)


def agent(
    model: BaseLLM, name: str, *, tools: Sequence[Tool] = (), prompts: Mapping[str, str] | None = None, **options: Any
) -> Agent:
    """An agent whose backstory is its prompt."""
    told = {**PROMPTS, **(prompts or {})}[name]
    made = [tool(one.__name__)(one) for one in tools]
    return Agent(role=name, goal="Do your part.", backstory=told, llm=model, tools=made, verbose=False, **options)


def crew(name: str, *agents: Agent, **options: Any) -> Crew:
    """A crew in which every agent has the task as its own."""
    options.setdefault("tasks", [part(one) for one in agents])
    return Crew(name=name, agents=list(agents), verbose=False, **options)


def part(who: Agent | None) -> Task:
    """An agent's part in the task."""
    return Task(description="{task}", expected_output="An answer.", agent=who)


def delegation(to: str) -> ToolCallReply:
    """How a model hands work to a coworker."""
    arguments = {"task": "Answer it.", "context": "What is six times seven?", "coworker": to}
    return ToolCallReply("delegate_work_to_coworker", arguments)


class Teams(ContractTeams):
    """CrewAI's teams."""

    adapter = "crewai"

    def script(self, scenario: Scenario) -> tuple[Rule, ...]:
        """Control is handed over with the delegation tools, after which the one who delegates has the last word."""
        if scenario is Scenario.HANDOFF:
            answer = "The refund of 42 is on its way."
            return (*calls_then_says("triage", [delegation("billing")], answer), says("billing", answer))
        if scenario is Scenario.MANAGER:
            answer = "It is 42 exactly."
            return (*calls_then_says("manager", [delegation("beta")], answer), says("beta", answer))
        return SCRIPTS[scenario]

    def single(self, llm, *, tools=(), prompts=None, streaming=False, max_calls=100) -> Any:
        model = chat_model(llm, streaming=streaming)
        # Else CrewAI has the model sum up what is longer than its context before it asks it: calls of no scenario.
        options = {"max_iter": max_calls + 5, "respect_context_window": False}
        return crew("single", agent(model, "solo", tools=tools, prompts=prompts, **options))

    def pipeline(self, llm: ScriptedLLM, *, tools: Sequence[Tool] = (lookup,), prompts=None) -> Any:
        model = chat_model(llm)
        researcher = agent(model, "researcher", tools=tools, prompts=prompts)
        return crew("pipeline", researcher, *(agent(model, name, prompts=prompts) for name in ("writer", "reviewer")))

    def handoff(self, llm: ScriptedLLM) -> Any:
        model = chat_model(llm)
        triage = agent(model, "triage", allow_delegation=True)
        return crew("handoff", triage, agent(model, "billing"), tasks=[part(triage)])

    def manager(self, llm: ScriptedLLM) -> Any:
        model = chat_model(llm)
        workers = agent(model, "alpha"), agent(model, "beta")
        boss = agent(model, "manager")
        return crew("manager", *workers, manager_agent=boss, process=Process.hierarchical, tasks=[part(None)])

    def parallel(self, llm: ScriptedLLM) -> Any:
        model = chat_model(llm)

        class Parallel(Flow[Any]):
            name = "parallel"
            suppress_flow_events = True

            @start()
            async def left(self) -> str:
                return (await crew("left", agent(model, "left")).akickoff(dict(self.state))).raw

            @start()
            async def right(self) -> str:
                return (await crew("right", agent(model, "right")).akickoff(dict(self.state))).raw

        return Parallel()

    def nested(self, llm: ScriptedLLM) -> Any:
        model = chat_model(llm)

        class Nested(Flow[Any]):
            name = "nested"
            suppress_flow_events = True

            @start()
            def ask_the_expert(self) -> str:
                return crew("inner", agent(model, "expert")).kickoff(dict(self.state)).raw

            @listen(ask_the_expert)
            async def sum_up(self, found: str) -> str:
                return (await agent(model, "lead").kickoff_async(found)).raw

        return Nested()

    def custom_model(self, texts: Sequence[str]) -> Any:
        return crew("single", agent(EchoLLM(model="echo", texts=list(texts)), "solo"))

    def interrupting(self, llm: ScriptedLLM) -> Any:
        """A flow that waits for a human, as CrewAI's feedback providers make it wait."""
        model = chat_model(llm)

        class Interrupting(Flow[Any]):
            name = "interrupting"
            suppress_flow_events = True

            @start()
            def answer(self) -> str:
                return crew("inner", agent(model, "solo")).kickoff(dict(self.state)).raw

            @listen(answer)
            def ask(self, said: str) -> str:  # type: ignore[override]
                context = PendingFeedbackContext(
                    flow_id=self.flow_id,
                    flow_class="Interrupting",
                    method_name="ask",
                    method_output=said,
                    message="Is this right?",
                )
                raise HumanFeedbackPending(context=context)

        return Interrupting()

    # --- running ---------------------------------------------------------------------------------------------------
    def run(self, team: Any, task: str) -> Any:
        return team.kickoff(inputs={"task": task})

    async def arun(self, team: Any, task: str) -> Any:
        return await team.akickoff(inputs={"task": task})

    def stream(self, team: Any, task: str) -> Iterator[Any]:
        """``for chunk in crew.kickoff(inputs=...)`` of a crew with ``stream=True``."""
        with self._streaming(team):
            output = team.kickoff(inputs={"task": task})
        try:
            yield from output
        finally:
            output.close()

    async def astream(self, team: Any, task: str) -> AsyncIterator[Any]:
        """``async for chunk in await crew.akickoff(inputs=...)`` of a crew with ``stream=True``."""
        with self._streaming(team):
            output = await team.akickoff(inputs={"task": task})
        try:
            async for chunk in output:
                yield chunk
        finally:
            await output.aclose()

    @contextlib.contextmanager
    def _streaming(self, team: Any) -> Iterator[None]:
        """CrewAI decides at the call whether a team streams."""
        before, team.stream = team.stream, True
        try:
            yield
        finally:
            team.stream = before

    # --- looking ---------------------------------------------------------------------------------------------------
    def plain(self, result: Any) -> Any:
        """Texts of a result's tasks, of a chunk, or the result itself."""
        if hasattr(result, "tasks_output"):
            said = [(one.agent, one.raw, one.description) for one in result.tasks_output]
            usage = result.token_usage
            return [result.raw, said, (usage.prompt_tokens, usage.completion_tokens, usage.successful_requests)]
        if hasattr(result, "chunk_type"):
            call = result.tool_call
            asked = call and [call.tool_name, call.arguments]
            return [result.content, result.chunk_type.value, result.agent_role, asked]
        if hasattr(result, "channel"):
            return [result.type, result.channel]
        return json.loads(json.dumps(result, default=lambda _: type(result).__name__))

    def joined(self, items: Sequence[Any]) -> Sequence[Any]:
        """Of the chunks of one tool call only the last, which holds all of it."""
        kept: list[Any] = []
        for item in items:
            kind = item[1] if isinstance(item, list) and len(item) == 4 else None
            if kind == "tool_call" and kept and kept[-1][1] == "tool_call" and kept[-1][3][0] == item[3][0]:
                kept.pop()
            kept.append(["", *item[1:]] if kind == "tool_call" else item)
        return kept

    def parts(self, team: Any) -> Sequence[Any]:
        """Agents, models and tools, and every class with a method that the adapter replaces."""
        agents = [*getattr(team, "agents", ()), *([team.manager_agent] if getattr(team, "manager_agent", None) else [])]
        models = [one.llm for one in agents]
        tools = [made for one in agents for made in one.tools]
        classes = [Crew, Flow, Agent, BaseAgent, BaseLLM, BaseTool, CrewStructuredTool, EchoLLM]
        return [*agents, *models, *tools, *classes, *(type(model) for model in models), *(type(made) for made in tools)]

    @contextlib.contextmanager
    def broken_probe(self) -> Iterator[None]:
        """The hooks around tool calls are not where they were."""
        original = crewai.hooks.register_hook
        del crewai.hooks.register_hook
        try:
            yield
        finally:
            crewai.hooks.register_hook = original
