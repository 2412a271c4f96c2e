"""The benchmark's team in CrewAI: six tasks in sequence, done by three agents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from _overhead_script import FOUND, JUDGED, PROMPTS, QUOTES, TASK, TOOL, WRITTEN, quote
from crewai import Agent, BaseLLM, Crew, Task
from crewai.events import crewai_event_bus
from crewai.tools import tool


class ScriptedLLM(BaseLLM):
    """Gives its replies one after the other."""

    replies: tuple[Any, ...] = ()
    asked: int = 0

    def call(self, messages: Any, tools: Any = None, *args: Any, **kwargs: Any) -> Any:
        reply = self.replies[self.asked]
        self.asked += 1
        if isinstance(reply, dict):
            function = {"name": TOOL, "arguments": json.dumps(reply)}
            return [{"id": f"call_{self.asked}", "type": "function", "function": function}]
        return reply

    def supports_function_calling(self) -> bool:
        return True


class BenchTeam:
    """Builds and runs the crew."""

    framework = "crewai"
    distribution = "crewai"

    def __init__(self) -> None:
        self._models: list[ScriptedLLM] = []

    def build(self, prompts: Mapping[str, str] | None = None) -> Any:
        told = {**PROMPTS, **(prompts or {})}
        self._models.clear()
        replies: dict[str, list[Any]] = {
            "researcher": [QUOTES[0], FOUND[0], QUOTES[1], FOUND[1]],
            "analyst": list(JUDGED),
            "writer": list(WRITTEN),
        }
        agents = {
            name: Agent(
                role=name,
                goal=f"Do the {name}'s part.",
                backstory=text,
                llm=self._model(replies[name]),
                tools=[tool(TOOL)(quote)] if name == "researcher" else [],
                verbose=False,
            )
            for name, text in told.items()
        }
        tasks = [
            Task(description=f"{TASK} Part {part} of the {name}.", expected_output="One sentence.", agent=agents[name])
            for part in (1, 2)
            for name in told
        ]
        return Crew(name="purchasing", agents=list(agents.values()), tasks=tasks, verbose=False, tracing=False)

    def run(self, team: Any) -> str:
        result = str(team.kickoff().raw)
        crewai_event_bus.flush()
        return result

    def rewind(self, team: Any) -> None:
        for model in self._models:
            model.asked = 0

    def model_calls(self) -> int:
        return sum(model.asked for model in self._models)

    def _model(self, replies: list[Any]) -> ScriptedLLM:
        model = ScriptedLLM(model="scripted", replies=tuple(replies))
        self._models.append(model)
        return model
