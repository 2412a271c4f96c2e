"""OpenInference's instrumentation of a framework, on and off."""

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider

from ._load import fail_for_missing

_INSTRUMENTORS = {
    "autogen": ("autogen_agentchat", "AutogenAgentChatInstrumentor"),
    "crewai": ("crewai", "CrewAIInstrumentor"),
    "langgraph": ("langchain", "LangChainInstrumentor"),
}
_PATCHED = {
    "autogen": (
        ("autogen_agentchat.agents", "AssistantAgent"),
        ("autogen_agentchat.agents", "BaseChatAgent"),
        ("autogen_agentchat.teams", "BaseGroupChat"),
        ("autogen_ext.models.openai", "BaseOpenAIChatCompletionClient"),
    ),
    "crewai": (
        ("crewai", "Task"),
        ("crewai", "Crew"),
        ("crewai", "Flow"),
        ("crewai", "Agent"),
        ("crewai.tools.base_tool", "BaseTool"),
        ("crewai.tools.base_tool", "Tool"),
    ),
    "langgraph": (("langchain_core.callbacks", "BaseCallbackManager"),),
}


def instrumentor(framework: str) -> Any:
    """OpenInference's instrumentor of a framework; there is one in the process."""
    package, name = _INSTRUMENTORS[framework]
    try:
        return getattr(importlib.import_module(f"openinference.instrumentation.{package}"), name)()
    except ImportError as error:
        fail_for_missing(error)


def patched_classes(framework: str) -> list[type]:
    """The framework's classes that OpenInference changes."""
    return [getattr(importlib.import_module(module), name) for module, name in _PATCHED[framework]]


@contextmanager
def instrumented(framework: str, provider: TracerProvider) -> Iterator[None]:
    """Within the block OpenInference's spans go to ``provider``."""
    other = instrumentor(framework)
    other.instrument(tracer_provider=provider)
    assert other.is_instrumented_by_opentelemetry
    try:
        yield
    finally:
        other.uninstrument()


def theirs(spans: Sequence[ReadableSpan]) -> list[ReadableSpan]:
    """OpenInference's among ``spans``."""
    return [span for span in spans if _scope(span).startswith("openinference.")]


def ours(spans: Sequence[ReadableSpan]) -> list[ReadableSpan]:
    """Ours among ``spans``."""
    return [span for span in spans if _scope(span).startswith("tracer_hooks")]


def _scope(span: ReadableSpan) -> str:
    return span.instrumentation_scope.name if span.instrumentation_scope is not None else ""
