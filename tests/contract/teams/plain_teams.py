"""The contract kit's teams in plain Python: functions that are marked as agents, models and tools."""

from __future__ import annotations

import contextvars
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai

from tracer_hooks.frameworks import Capability
from tracer_hooks.frameworks.plain import PlainTeam, agent, hand_off, instructions, model, tool
from tracer_hooks.testing import ScriptedLLM
from tracer_hooks_testing import PROMPTS, ContractTeams, lookup

Tool = Callable[..., Any]
Reply = dict[str, Any]


class Agent:
    """An agent as a user might write it: asks its model, calls the tools that the reply names, and asks again."""

    def __init__(self, llm, name, *, tools: Sequence[Tool] = (), prompts=None, streaming=False, max_calls=100) -> None:
        self.name = name
        self.told = {**PROMPTS, **(prompts or {})}[name]
        self.max_calls = max_calls
        self.streaming = streaming
        self.client = openai.OpenAI(base_url=llm.base_url, api_key=llm.api_key, max_retries=0)
        self.functions = list(tools)
        self.tools = {one.__name__: tool(one) for one in tools}
        self.turn = agent(name=name, instructions=self.told, tools=[*self.tools])(self._turn)
        self.ask = model(name="scripted")(self._ask)

    def _turn(self, *said: str) -> str:
        messages: list[Reply] = [{"role": "system", "content": instructions(self.name, self.told)}]
        messages += [{"role": "user", "content": text} for text in said]
        for _ in range(self.max_calls):
            reply = self.ask(messages)
            if not reply.get("tool_calls"):
                return str(reply["content"])
            messages.append({key: reply[key] for key in ("role", "content", "tool_calls")})
            messages += [self._call(call) for call in reply["tool_calls"]]
        raise RuntimeError("the model went on calling tools")

    def _ask(self, messages: list[Reply]) -> Reply:
        offered = [_schema(one) for one in self.functions] or openai.NOT_GIVEN
        done: Any
        if self.streaming:
            with self.client.chat.completions.stream(
                model="scripted",
                messages=messages,  # type: ignore[arg-type]
                tools=offered,  # type: ignore[arg-type]
                stream_options={"include_usage": True},
            ) as stream:
                done = stream.get_final_completion()
        else:
            done = self.client.chat.completions.create(model="scripted", messages=messages, tools=offered)  # type: ignore[arg-type]
        message = done.choices[0].message
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function.name, "arguments": call.function.arguments},
            }
            for call in message.tool_calls or ()
        ]
        return {
            "role": "assistant", "content": message.content or "", "tool_calls": calls,
            "usage": done.usage.model_dump(), "finish_reason": done.choices[0].finish_reason, "model": done.model,
        }  # fmt: skip

    def _call(self, call: Reply) -> Reply:
        function = call["function"]
        try:
            result = str(self.tools[function["name"]](**json.loads(function["arguments"])))
        except Exception as error:
            result = f"Error: {error}"
        return {"role": "tool", "tool_call_id": call["id"], "content": result}


class Teams(ContractTeams):
    """Teams of functions."""

    adapter = "plain"
    runs_at_once = True
    tested_elsewhere = frozenset({Capability.ASYNC, Capability.STREAM})  # tests/unit/adapters/test_plain.py
    tools_know_their_call = False  # a function is not told which call of the model it carries out

    def single(self, llm, *, tools=(), prompts=None, streaming=False, max_calls=100) -> PlainTeam:
        solo = Agent(llm, "solo", tools=tools, prompts=prompts, streaming=streaming, max_calls=max_calls)
        return PlainTeam(lambda task: solo.turn(task), "single")

    def pipeline(self, llm: ScriptedLLM, *, tools: Sequence[Tool] = (lookup,), prompts=None) -> PlainTeam:
        researcher = Agent(llm, "researcher", tools=tools, prompts=prompts)
        others = [Agent(llm, name, prompts=prompts) for name in ("writer", "reviewer")]

        def run(task: str) -> str:
            said = [task, researcher.turn(task)]
            for one in others:
                said.append(one.turn(*said))
            return said[-1]

        return PlainTeam(run, "pipeline")

    def handoff(self, llm: ScriptedLLM) -> PlainTeam:
        def transfer_to_billing() -> str:
            """Hand the question over to billing."""
            hand_off("billing")
            return "Transferred to billing."

        billing = Agent(llm, "billing")
        triage = Agent(llm, "triage", tools=[transfer_to_billing])

        def first(task: str) -> str:
            reply = triage.ask([{"role": "system", "content": triage.told}, {"role": "user", "content": task}])
            triage._call(reply["tool_calls"][0])
            return "transferred"

        turn = agent(name="triage", instructions=triage.told)(first)

        def run(task: str) -> str:
            turn(task)
            return billing.turn(task)

        return PlainTeam(run, "handoff")

    def manager(self, llm: ScriptedLLM) -> PlainTeam:
        chief = Agent(llm, "manager")
        workers = {name: Agent(llm, name) for name in ("alpha", "beta")}

        def choose(task: str) -> str:
            reply = chief.ask([{"role": "system", "content": chief.told}, {"role": "user", "content": task}])
            hand_off(reply["content"])
            return str(reply["content"])

        turn = agent(name="manager", instructions=chief.told)(choose)
        return PlainTeam(lambda task: workers[turn(task)].turn(task), "manager")

    def parallel(self, llm: ScriptedLLM) -> PlainTeam:
        agents = [Agent(llm, name) for name in ("left", "right")]

        def run(task: str) -> str:
            with ThreadPoolExecutor(2) as pool:
                turns = [pool.submit(contextvars.copy_context().run, one.turn, task) for one in agents]
                return " ".join(turn.result() for turn in turns)

        return PlainTeam(run, "parallel")

    def nested(self, llm: ScriptedLLM) -> PlainTeam:
        expert, lead = Agent(llm, "expert"), Agent(llm, "lead")

        def inner(task: str) -> str:
            return expert.turn(task)

        return PlainTeam(lambda task: lead.turn(task, inner(task)), "nested")

    def custom_model(self, texts: Sequence[str]) -> PlainTeam:
        left = list(texts)

        @model(name="own")
        def ask(prompt: str) -> str:
            return left.pop(0)

        return PlainTeam(agent(name="solo")(lambda task: ask(task)), "single")

    def run(self, team: Any, task: str) -> Any:
        return team.run(task)

    def plain(self, result: Any) -> Any:
        return result

    def parts(self, team: Any) -> Sequence[Any]:
        return [openai.OpenAI]


def _schema(function: Tool) -> Any:
    import inspect

    names = [*inspect.signature(function).parameters]
    parameters = {"type": "object", "properties": {name: {} for name in names}, "required": names}
    return {"type": "function", "function": {"name": function.__name__, "parameters": parameters}}
