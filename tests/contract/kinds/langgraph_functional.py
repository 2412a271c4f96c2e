"""LangGraph's functional API: an ``@entrypoint`` that starts two ``@task``s at the same time and joins them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.func import entrypoint, task

from tracer_hooks.testing import Rule, ScriptedLLM, When

from ._kind import said
from ._langgraph import LangGraphKind, asking


class FunctionalKind(LangGraphKind):
    """left | right -> reviewer, each a task."""

    team = "LangGraph"  # an entry point gives its graph no name (langgraph 1.2)
    agents = frozenset({"left", "right", "reviewer"})
    # Tasks run as soon as they are called, whoever waits for their futures; the entry point itself says nothing.
    courses = (([said("left"), said("right")], said("reviewer")),)
    requests = 3

    def rules(self) -> Sequence[Rule]:
        return [
            When(agent="left").then("It is 42 in digits, in <case>."),
            When(agent="right").then("It is forty-two in words, in <case>."),
            When(agent="reviewer").then("Both mean 42 in <case>."),
        ]

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


KIND = FunctionalKind()
