"""A case as a real team, in four ways around one scripted model: every agent acts once, and sees what was said."""

from __future__ import annotations

import inspect
import itertools
import json
import keyword
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from _provenance_cases import Call, Case, Part

from tracer_hooks.testing import Reply, Rule, ScriptedLLM, ToolCallReply, When

Tool = Callable[..., str]

_TAKEN = frozenset({"self", "cls", "config", "runtime", "callbacks", "run_manager", "cancellation_token", "schema"})
"""Names that a framework fills in, or that its argument models own."""


def parameter(name: str) -> str:
    """An argument's name as a function can have it: a case may well say ``from`` and ``to``."""
    free = "".join(char if char.isalnum() or char == "_" else "_" for char in name)
    return f"{free}_" if keyword.iskeyword(free) or free in _TAKEN else free


def arguments_of(call: Call) -> dict[str, Any]:
    """The arguments under names that a function can have."""
    return {parameter(name): value for name, value in call.arguments.items()}


def tools_of(calls: Sequence[Call]) -> list[Tool]:
    """One function for each tool that is called."""
    by_name: dict[str, list[Call]] = {}
    for call in calls:
        by_name.setdefault(call.tool, []).append(call)
    return [_function(name, own) for name, own in by_name.items()]


def _function(name: str, calls: Sequence[Call]) -> Tool:
    results = {_key(arguments_of(call)): call.result for call in calls}
    seen = [arguments_of(call) for call in calls]
    names = dict.fromkeys(key for arguments in seen for key in arguments)

    def look_up(**arguments: Any) -> str:
        given = {key: value for key, value in arguments.items() if value is not None}
        return results[_key(given)]

    types = {key: _type([arguments[key] for arguments in seen if key in arguments]) for key in names}
    look_up.__name__ = look_up.__qualname__ = name
    look_up.__doc__ = f"{name.replace('_', ' ').capitalize()}."
    look_up.__annotations__ = {**types, "return": str}
    look_up.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_parameter(key, types[key], seen) for key in names], return_annotation=str
    )
    return look_up


def _parameter(name: str, kind: Any, seen: Sequence[Mapping[str, Any]]) -> inspect.Parameter:
    always = all(name in arguments for arguments in seen)
    default = inspect.Parameter.empty if always else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _type(values: Sequence[Any]) -> Any:
    kinds = {type(value) for value in values}
    only = kinds.pop() if len(kinds) == 1 else object
    return only if only in (str, int, float, bool) else Any


def _key(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=str)


def script_of(case: Case) -> list[Rule]:
    """What the model answers: the calls of an agent in one reply, then its words."""
    rules = []
    for part in case.parts:
        calls = [ToolCallReply(call.tool, arguments_of(call)) for call in part.calls]
        replies = [Reply(tool_calls=calls), part.says] if calls else [part.says]
        rules.append(When(agent=part.agent).then(*replies))
    return rules


@dataclass(frozen=True)
class Built:
    """A team that is not hooked, and how its users run it once it is."""

    team: Any
    start: Callable[[Any, str], object]


def build(framework: str, case: Case, llm: ScriptedLLM) -> Built:
    """The team of a case."""
    makers: Mapping[str, Callable[[Case, ScriptedLLM], Built]] = {
        "plain": _plain,
        "autogen": _autogen,
        "crewai": _crewai,
        "langgraph": _langgraph,
    }
    return makers[framework](case, llm)


def _plain(case: Case, llm: ScriptedLLM) -> Built:
    turns = [_plain_turn(part, llm) for part in case.parts]

    def team(task: str) -> str:
        said = [task]
        for turn in turns:
            said.append(turn("\n\n".join(said)))
        return said[-1]

    return Built(team, lambda hooked, task: hooked(task))


def _plain_turn(part: Part, llm: ScriptedLLM) -> Callable[[str], str]:
    import openai

    import tracer_hooks

    client = openai.OpenAI(base_url=llm.base_url, api_key=llm.api_key, max_retries=0)
    functions = tools_of(part.calls)
    tools = {function.__name__: tracer_hooks.tool(function) for function in functions}
    offered: Any = [{"type": "function", "function": {"name": name}} for name in tools] or openai.NOT_GIVEN

    @tracer_hooks.model(name="scripted")
    def ask(messages: list[dict[str, Any]]) -> dict[str, Any]:
        done = client.chat.completions.create(model="scripted", messages=messages, tools=offered)  # type: ignore[arg-type]
        usage = {"usage": done.usage.model_dump()} if done.usage is not None else {}
        return {**done.choices[0].message.model_dump(exclude_none=True), **usage}

    @tracer_hooks.agent(name=part.agent, instructions=part.instructions, tools=[*tools])
    def turn(shown: str) -> str:
        messages = [{"role": "system", "content": part.instructions}, {"role": "user", "content": shown}]
        while True:
            reply = ask(messages)
            if not reply.get("tool_calls"):
                return str(reply["content"])
            messages.append({"content": "", **{key: value for key, value in reply.items() if key != "usage"}})
            for call in reply["tool_calls"]:
                result = tools[call["function"]["name"]](**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    return turn


def _autogen(case: Case, llm: ScriptedLLM) -> Built:
    import asyncio

    from autogen_agentchat.agents import AssistantAgent
    from autogen_agentchat.teams import RoundRobinGroupChat
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    warnings.filterwarnings("ignore", "Resolved model mismatch")  # said of every model that AutoGen does not know
    info: Any = {
        "vision": False,
        "function_calling": True,
        "json_output": True,
        "family": "gpt-4o",
        "structured_output": True,
    }
    client = OpenAIChatCompletionClient(
        model="scripted", base_url=llm.base_url, api_key=llm.api_key, model_info=info, max_retries=0
    )
    agents: list[Any] = [
        AssistantAgent(
            part.agent,
            client,
            description=part.prompt,
            system_message=part.instructions,
            tools=[*tools_of(part.calls)],
            max_tool_iterations=5,
        )
        for part in case.parts
    ]

    async def run(hooked: Any, task: str) -> None:
        await hooked.run(task=task)
        await client.close()  # in the event loop that its connections belong to

    team = RoundRobinGroupChat(agents, name="team", max_turns=len(agents))
    return Built(team, lambda hooked, task: asyncio.run(run(hooked, task)))


def _crewai(case: Case, llm: ScriptedLLM) -> Built:
    from crewai import LLM, Agent, Crew, Task
    from crewai.tools import tool

    model = LLM(model="openai/scripted", base_url=llm.base_url, api_key=llm.api_key, max_retries=0)
    agents: list[Any] = [
        Agent(
            role=part.agent,
            goal="Do your part.",
            backstory=part.prompt,
            llm=model,
            tools=[tool(function.__name__)(function) for function in tools_of(part.calls)],
            verbose=False,
        )
        for part in case.parts
    ]
    tasks = [Task(description="{task}", expected_output="An answer.", agent=agent) for agent in agents]
    team = Crew(name="team", agents=agents, tasks=tasks, verbose=False)
    return Built(team, lambda hooked, task: hooked.kickoff(inputs={"task": task}))


def _langgraph(case: Case, llm: ScriptedLLM) -> Built:
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from langgraph.graph import END, START, MessagesState, StateGraph
    from pydantic import SecretStr

    model = ChatOpenAI(model="scripted", base_url=llm.base_url, api_key=SecretStr(llm.api_key), max_retries=0)
    graph = StateGraph(MessagesState)
    for part in case.parts:
        tools = [tool(function) for function in tools_of(part.calls)]
        agent = create_agent(model, tools, system_prompt=part.instructions, name=part.agent)
        # The graph of an agent gives the whole conversation; the others are to see what it said in the end.
        graph.add_node(part.agent, agent | (lambda state: {"messages": state["messages"][-1:]}))
    names = [part.agent for part in case.parts]
    for before, after in itertools.pairwise([START, *names, END]):
        graph.add_edge(before, after)
    return Built(
        graph.compile(name="team"),
        lambda hooked, task: hooked.invoke({"messages": [{"role": "user", "content": task}]}),
    )
