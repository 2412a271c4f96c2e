"""Other people's instrumentations of the frameworks that have an adapter here."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

from opentelemetry.sdk.trace import TracerProvider

from tracer_hooks.testing import ScriptedLLM
from tracer_hooks_testing import TASK, ContractTeams

_TEAMS = Path(__file__).parents[2] / "tests" / "contract" / "teams"
Tool = Callable[[str], str]
Player = Callable[[ScriptedLLM, TracerProvider, Tool], None]


def player(framework: str, *instrumentors: str) -> Player:
    """Plays the contract kit's pipeline with instrumentors on, each given as ``module:class``."""

    def play(llm: ScriptedLLM, provider: TracerProvider, lookup: Tool) -> None:
        for one in instrumentors:
            module, _, name = one.partition(":")
            getattr(importlib.import_module(module), name)().instrument(tracer_provider=provider)
        teams = _teams(framework)
        teams.run(teams.pipeline(llm, tools=(lookup,)), TASK)

    return play


def mlflow_langgraph(llm: ScriptedLLM, provider: TracerProvider, lookup: Tool) -> None:
    """MLflow's autolog, told to send its traces to the global tracer provider."""
    import os

    os.environ["MLFLOW_USE_DEFAULT_TRACER_PROVIDER"] = "false"
    import mlflow

    mlflow.langchain.autolog()
    teams = _teams("langgraph")
    teams.run(teams.pipeline(llm, tools=(lookup,)), TASK)


def genai_langgraph(llm: ScriptedLLM, provider: TracerProvider, lookup: Tool) -> None:
    """OpenTelemetry's own instrumentation, with content."""
    import os

    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
    player("langgraph", "opentelemetry.instrumentation.genai.langchain:LangChainInstrumentor")(llm, provider, lookup)


def _teams(framework: str) -> ContractTeams:
    spec = importlib.util.spec_from_file_location(f"teams_{framework}", _TEAMS / f"{framework}_teams.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    teams: ContractTeams = module.Teams()
    return teams


_OPENINFERENCE = "openinference.instrumentation"
OURS: dict[str, Player] = {
    "openinference_langgraph": player("langgraph", f"{_OPENINFERENCE}.langchain:LangChainInstrumentor"),
    "openinference_crewai": player("crewai", f"{_OPENINFERENCE}.crewai:CrewAIInstrumentor"),
    "openinference_autogen": player("autogen", f"{_OPENINFERENCE}.autogen_agentchat:AutogenAgentChatInstrumentor"),
    "openllmetry_langgraph": player("langgraph", "opentelemetry.instrumentation.langchain:LangchainInstrumentor"),
    "openllmetry_crewai": player("crewai", "opentelemetry.instrumentation.crewai:CrewAIInstrumentor"),
    "openinference_crewai_openai": player(
        "crewai", f"{_OPENINFERENCE}.crewai:CrewAIInstrumentor", f"{_OPENINFERENCE}.openai:OpenAIInstrumentor"
    ),
    "openinference_autogen_openai": player(
        "autogen",
        f"{_OPENINFERENCE}.autogen_agentchat:AutogenAgentChatInstrumentor",
        f"{_OPENINFERENCE}.openai:OpenAIInstrumentor",
    ),
    "openllmetry_crewai_openai": player(
        "crewai",
        "opentelemetry.instrumentation.crewai:CrewAIInstrumentor",
        "opentelemetry.instrumentation.openai:OpenAIInstrumentor",
    ),
    "genai_langgraph": genai_langgraph,
    "mlflow_langgraph": mlflow_langgraph,
}
