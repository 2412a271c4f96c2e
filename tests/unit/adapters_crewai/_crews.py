"""Crews whose models are written here: no server, and every reply known."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from crewai import Agent, BaseLLM, Crew, Task
from crewai.tools import tool
from pydantic import PrivateAttr

from tracer_hooks.telemetry import current_invocation
from tracer_hooks.testing import RecordingHost
from tracer_hooks.testing._observing import observed
from tracer_hooks_crewai import CrewAIAdapter

ADAPTER = CrewAIAdapter()

Answer = Any
"""A text, a list of tool calls, or an exception to raise."""


class Scripted(BaseLLM):
    """Gives its answers in order, by agent; the last one again and again. It emits none of CrewAI's events."""

    model: str = "fake"
    native: bool = False
    _answers: dict[str, list[Answer]] = PrivateAttr(default_factory=dict)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)
    _seen: list[list[dict[str, Any]]] = PrivateAttr(default_factory=list)

    @classmethod
    def of(cls, *, native: bool = False, **answers: Answer | list[Answer]) -> Scripted:
        llm = cls(model="fake", native=native)
        llm._answers = {role: list(a) if isinstance(a, list) else [a] for role, a in answers.items()}
        return llm

    @property
    def seen(self) -> list[list[dict[str, Any]]]:
        """What the model was shown, call by call."""
        return self._seen

    def call(self, messages: Any, tools: Any = None, *args: Any, from_agent: Any = None, **kwargs: Any) -> Any:
        shown = [{"role": "user", "content": messages}] if isinstance(messages, str) else [dict(m) for m in messages]
        with self._lock:
            self._seen.append(shown)
            answers = self._answers[_asking(shown, self._answers)]
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
        self._track_token_usage_internal({"prompt_tokens": 10, "completion_tokens": 5})
        if isinstance(answer, BaseException):
            raise answer
        return answer(shown) if callable(answer) else answer

    async def acall(self, messages: Any, tools: Any = None, *args: Any, **kwargs: Any) -> Any:
        return Scripted.call(self, messages, tools, **kwargs)

    def supports_function_calling(self) -> bool:
        return self.native


def _asking(shown: Sequence[dict[str, Any]], roles: Iterable[str]) -> str:
    system = str(shown[0].get("content"))
    return next((role for role in roles if f"You are {role}." in system), "any")


def calls(*requested: tuple[str, dict[str, Any]], start: int = 1) -> list[Any]:
    """One answer that calls tools natively, in OpenAI's form; wrapped so that it counts as one answer."""
    return [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for n, (name, arguments) in enumerate(requested, start)
    ]


def react(name: str, arguments: dict[str, Any], thought: str = "I should look.") -> str:
    return f"Thought: {thought}\nAction: {name}\nAction Input: {json.dumps(arguments)}"


def final(text: str) -> str:
    return f"Thought: I now know the answer.\nFinal Answer: {text}"


class Lookup:
    """A tool that remembers its calls, and in which operation each ran."""

    def __init__(self, result: Any = "42", fails: int = 0) -> None:
        self.calls: list[str] = []
        self.inside: list[str] = []
        lookup = self

        @tool("lookup")
        def found(query: str) -> str:
            """Look a number up."""
            lookup.calls.append(query)
            current = current_invocation()
            lookup.inside.append(current.span_name if current is not None else "")
            if len(lookup.calls) <= fails:
                raise ValueError(f"boom {query}")
            return result

        self.tool = found


def agent(role: str, llm: Any, *, tools: Sequence[Any] = (), **options: Any) -> Agent:
    backstory = options.pop("backstory", f"The backstory of {role}.")
    return Agent(role=role, goal="Help.", backstory=backstory, llm=llm, tools=list(tools), verbose=False, **options)


def task(who: Agent | None, description: str = "Answer: {task}", **options: Any) -> Task:
    return Task(description=description, expected_output="A text.", agent=who, **options)


def crew(agents: Sequence[Agent], tasks: Sequence[Task] | None = None, **options: Any) -> Crew:
    options.setdefault("name", "team")
    chosen = tasks if tasks is not None else [task(who) for who in agents]
    return Crew(agents=list(agents), tasks=list(chosen), verbose=False, **options)


def team(llm: Any, *roles: str, tools: Sequence[Any] = (), **options: Any) -> Crew:
    """A sequential crew; the first agent has the tools."""
    return crew([agent(role, llm, tools=tools if n == 0 else ()) for n, role in enumerate(roles)], **options)


def kicked_off(team: Any, **options: Any) -> RecordingHost:
    """Run the team once under an observer."""
    with observed(team, adapter=ADAPTER, **options) as seen:
        team.kickoff(inputs={"task": "x"})
    return seen


def brief(trajectory: Any) -> list[tuple[str, str, str]]:
    """Agent, kind and content of each step."""
    return [(step.agent, str(step.kind), step.content) for step in trajectory.steps]
